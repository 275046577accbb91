package local

import (
	"testing"

	"parley/speech/wire"
)

func TestFinalsComeOnce(t *testing.T) {
	var s seen
	for i, c := range []struct {
		f     wire.Final
		ok    bool
		start int64
	}{
		{wire.Final{Start: 100, End: 900, Upto: 1000, Text: "a"}, true, 100},
		{wire.Final{Start: 100, End: 900, Upto: 1000, Text: "a"}, false, 0},
		{wire.Final{Start: 120, End: 905, Upto: 1001, Text: "a"}, false, 0}, // the same, heard again a little differently
		{wire.Final{Start: 950, End: 1500, Upto: 1600, Text: "b"}, true, 1001},
		{wire.Final{Start: 1700, End: 1800, Upto: 1900}, true, 1700}, // takes partials back
	} {
		got, ok := s.final(c.f)
		if ok != c.ok || ok && got.Start != c.start {
			t.Errorf("%d: %+v %v", i, got, ok)
		}
	}
	if _, ok := s.partial(wire.Partial{Start: 1800, End: 1900}); ok {
		t.Error("a partial of an answered segment")
	}
	if _, ok := s.partial(wire.Partial{Start: 1800, End: 1901}); !ok {
		t.Error("a partial of the next segment")
	}
}

func TestActivityIsAChangeAndLater(t *testing.T) {
	var s seen
	for i, c := range []struct {
		a  wire.Activity
		ok bool
	}{
		{wire.Activity{On: false, At: 10}, false}, // nobody had begun
		{wire.Activity{On: true, At: 100}, true},
		{wire.Activity{On: true, At: 120}, false},
		{wire.Activity{On: false, At: 500}, true},
		// The process died; the new one hears the same speech.
		{wire.Activity{On: true, At: 96}, false},
		{wire.Activity{On: false, At: 510}, false},
		{wire.Activity{On: true, At: 800}, true},
	} {
		if _, ok := s.activity(c.a); ok != c.ok {
			t.Errorf("%d: %+v gave %v", i, c.a, ok)
		}
	}
}

func TestTurnEndsMoveForward(t *testing.T) {
	var s seen
	for i, c := range []struct {
		at int64
		ok bool
	}{{100, true}, {100, false}, {90, false}, {101, true}} {
		if _, ok := s.turnEnd(wire.TurnEnd{At: c.at}); ok != c.ok {
			t.Errorf("%d: %v", i, ok)
		}
	}
}
