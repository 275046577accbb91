package outbox

import (
	"context"
	"testing"
	"testing/synctest"

	"parley/speech"
)

func TestASlowReaderLosesPartialsFirstAndNeverAFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pushed := make(chan struct{})
		go func() {
			defer close(pushed)
			for i := range int64(1000) {
				o.Push(ctx, speech.Activity{On: i%2 == 0, At: i})
				o.Push(ctx, speech.Partial{End: i})
				o.Push(ctx, speech.Final{End: i})
			}
		}()
		synctest.Wait() // the pusher waits: the box is full of finals
		select {
		case <-pushed:
			t.Fatal("3000 events went into a box that nobody reads")
		default:
		}
		if n := len(o.queue); n > Limit {
			t.Errorf("%d events wait", n)
		}
		last := make(chan struct{})
		go o.Deliver(ctx, last)
		go func() { <-pushed; close(last) }()
		finals := int64(0)
		for ev := range o.ch {
			if f, ok := ev.(speech.Final); ok {
				if f.End != finals {
					t.Fatalf("final %d after %d", f.End, finals-1)
				}
				finals++
			}
		}
		if finals != 1000 {
			t.Errorf("%d finals", finals)
		}
	})
}

func TestAMarkComesAfterWhatWasPushedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New()
		ctx, cancel := context.WithCancel(t.Context())
		go o.Deliver(ctx, nil)
		for i := range int64(20) { // more than the channel holds
			o.Push(ctx, speech.Final{End: i})
		}
		done := make(chan struct{})
		o.Mark(done)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("marked before the reader had room for everything")
		default:
		}
		for range 20 {
			<-o.ch
		}
		<-done
		cancel()
		synctest.Wait()
		if _, open := <-o.ch; open {
			t.Error("the channel is open after the end")
		}
	})
}
