package server

import (
	"fmt"
	"strings"
	"testing"

	"parley/speech/segment"
)

func TestQueue(t *testing.T) {
	P, D, F := segment.Partial, segment.Draft, segment.Final
	j := func(owner string, kind segment.Kind, id int64) *job { return &job{owner: owner, kind: kind, id: id} }
	for _, c := range []struct {
		name string
		add  []*job
		want string
	}{
		{"streams take turns", []*job{j("a", F, 1), j("a", F, 2), j("a", F, 3), j("b", F, 4), j("c", F, 5)}, "a1 b4 c5 a2 a3"},
		{"finals, drafts, partials", []*job{j("a", P, 1), j("b", D, 2), j("c", F, 3), j("a", F, 4)}, "a4 c3 b2 a1"},
		{"only the newest partial", []*job{j("a", P, 1), j("a", P, 2), j("b", P, 3), j("a", P, 4)}, "a4 b3"},
		{"finals of one stream keep their order", []*job{j("a", F, 1), j("a", F, 2)}, "a1 a2"},
	} {
		var q queue
		for _, x := range c.add {
			q.add(x)
		}
		var got []string
		for x := q.take(); x != nil; x = q.take() {
			got = append(got, fmt.Sprint(x.owner, x.id))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
		if len(q.streams) != 0 {
			t.Errorf("%s: %d slots left", c.name, len(q.streams))
		}
	}
}

// One stream that never pauses must not keep another waiting: turns go on while jobs come and go.
func TestQueueTurnsSurviveComingAndGoing(t *testing.T) {
	var q queue
	count := map[any]int{}
	for i := range int64(300) {
		for _, owner := range []string{"a", "b", "c"} {
			if q.waitingFor(owner) < 2 {
				q.add(&job{owner: owner, kind: segment.Final, id: i})
			}
		}
		count[q.take().owner]++
	}
	for owner, n := range count {
		if n != 100 {
			t.Errorf("%v had %d of 300 turns", owner, n)
		}
	}
}

func (q *queue) waitingFor(owner any) (n int) {
	for _, s := range q.streams {
		if s.owner == owner {
			for _, l := range s.jobs {
				n += len(l)
			}
		}
	}
	return n
}

func TestQueueRemoves(t *testing.T) {
	var q queue
	q.add(&job{owner: "a", kind: segment.Draft, id: 1})
	q.add(&job{owner: "a", kind: segment.Partial, id: 2})
	q.add(&job{owner: "b", kind: segment.Draft, id: 1})
	if got := q.remove("a", 1); got == nil || got.owner != "a" {
		t.Errorf("removed %v", got)
	}
	if got := q.remove("a", 1); got != nil {
		t.Error("removed twice")
	}
	if got := q.removeAll("a"); len(got) != 1 || got[0].id != 2 {
		t.Errorf("%v", got)
	}
	if got := q.take(); got == nil || got.owner != "b" || q.take() != nil {
		t.Errorf("left: %v", got)
	}
}
