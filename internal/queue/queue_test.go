package queue

import (
	"sync"
	"testing"
)

func TestTheOldestGoesFirst(t *testing.T) {
	q := New[int](3)
	for i := range 5 {
		q.Put(i)
	}
	q.Close()
	q.Close()
	q.Put(9)
	var got []int
	for v := range q.C() {
		got = append(got, v)
	}
	if len(got) != 3 || got[0] != 2 || got[2] != 4 || q.Dropped() != 2 {
		t.Errorf("%v, dropped %d", got, q.Dropped())
	}
}

func TestManyWritersAndAnEnd(t *testing.T) {
	q := New[int](4)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				q.Put(i)
			}
		})
	}
	done := make(chan int)
	go func() {
		n := 0
		for range q.C() {
			n++
		}
		done <- n
	}()
	wg.Wait()
	q.Close()
	if n := <-done; int64(n)+q.Dropped() != 8000 {
		t.Errorf("%d read, %d dropped", n, q.Dropped())
	}
}
