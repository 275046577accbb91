package challenge

import (
	"testing"
	"time"

	"parley/control/wire"
)

var t0 = time.UnixMilli(1_800_000_000_000)

func held(id byte, who string, at time.Time) *Held {
	return &Held{ID: [wire.IDSize]byte{id}, Principal: wire.Principal{ID: who, Generation: 1}, Issued: at, Expires: at.Add(wire.ChallengeLife), Key: &wire.DecapsulationKey{1}}
}

func id(b byte) [wire.IDSize]byte { return [wire.IDSize]byte{b} }

func TestAChallengeServesOnce(t *testing.T) {
	a, b := wire.Principal{ID: "a", Generation: 1}, wire.Principal{ID: "b", Generation: 1}
	for _, c := range []struct {
		what string
		at   time.Duration
		who  wire.Principal
		id   byte
		want bool
	}{
		{"at once", 0, a, 1, true},
		{"in its last millisecond", wire.ChallengeLife - time.Millisecond, a, 1, true},
		{"when it expires", wire.ChallengeLife, a, 1, false},
		{"by a request that came a moment earlier", -skew, a, 1, true},
		{"after the clock was put back", -skew - time.Millisecond, a, 1, false},
		{"by another principal", 0, b, 1, false},
		{"by an older generation", 0, wire.Principal{ID: "a"}, 1, false},
		{"under another id", 0, a, 2, false},
	} {
		s := New(Limits{})
		h := held(1, "a", t0)
		if err := s.Put(t0, h); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Take(t0.Add(c.at), id(c.id), c.who); ok != c.want {
			t.Errorf("%s: %v", c.what, ok)
		}
		if _, again := s.Take(t0.Add(c.at), id(c.id), c.who); again {
			t.Errorf("%s: a second time", c.what)
		}
	}
	// Somebody else's try uses nothing up, and a restart forgets everything.
	s := New(Limits{})
	if err := s.Put(t0, held(1, "a", t0)); err != nil {
		t.Fatal(err)
	}
	s.Take(t0, id(1), b)
	if _, ok := s.Take(t0, id(1), a); !ok {
		t.Error("another principal used the challenge up")
	}
	if _, ok := New(Limits{}).Take(t0, id(1), a); ok {
		t.Error("a new store knows an old challenge")
	}
}

func TestTheStoreIsBounded(t *testing.T) {
	s := New(Limits{Total: 3, Each: 2})
	first := held(1, "a", t0)
	for _, h := range []*Held{first, held(2, "a", t0), held(3, "a", t0)} {
		if err := s.Put(t0, h); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := s.Take(t0, first.ID, first.Principal); ok || first.Key[0] != 0 {
		t.Error("the third challenge does not push out and wipe the first")
	}
	if err := s.Put(t0, held(4, "b", t0)); err != nil {
		t.Fatal(err)
	}
	last := held(5, "c", t0)
	if err := s.Put(t0, last); err != ErrFull || last.Key[0] != 0 {
		t.Errorf("one too many: %v", err)
	}
	if got := s.Next(); !got.Equal(t0.Add(wire.ChallengeLife)) {
		t.Errorf("next deadline %v", got)
	}
	if err := s.Put(t0.Add(wire.ChallengeLife), held(6, "c", t0.Add(wire.ChallengeLife))); err != nil || s.Len() != 1 {
		t.Errorf("after expiry: %v, %d out", err, s.Len())
	}
	s.Revoke(func(p wire.Principal) bool { return p.ID != "c" })
	if got := s.Counts(); s.Len() != 0 || got != (Counts{Expired: 3, Evicted: 1, Full: 1}) || !s.Next().IsZero() {
		t.Errorf("%d out, %+v", s.Len(), got)
	}
}

func proof(nonce byte, at time.Time) wire.Proof {
	return wire.Proof{Principal: wire.Principal{ID: "a", Generation: 1}, At: at, Nonce: [wire.NonceSize]byte{nonce}}
}

func TestTheWindowOfAProof(t *testing.T) {
	for _, c := range []struct {
		off  time.Duration
		want bool
	}{
		{-wire.Window - time.Millisecond, false}, {-wire.Window, true}, {0, true}, {wire.Window, true}, {wire.Window + time.Millisecond, false},
	} {
		s := NewSeen(0)
		if got := s.Fresh(t0, proof(1, t0.Add(c.off))); got != c.want {
			t.Errorf("%v: %v", c.off, got)
		}
	}
}

func TestAProofServesOnceWhateverTheClockDoes(t *testing.T) {
	s := NewSeen(2)
	for n := byte(1); n <= 2; n++ {
		p := proof(n, t0.Add(time.Duration(n)))
		if !s.Fresh(t0, p) || !s.Remember(t0, p) {
			t.Fatalf("proof %d", n)
		}
		if s.Fresh(t0, p) {
			t.Errorf("proof %d a second time", n)
		}
	}
	if s.Remember(t0, proof(3, t0)) || s.Full() != 1 {
		t.Error("a full memory takes another")
	}
	// Ahead by an hour: the old ones are forgotten. Back again: they stay refused, and so is everything as old.
	hour := t0.Add(time.Hour)
	if p := proof(4, hour); !s.Fresh(hour, p) || !s.Remember(hour, p) || s.Len() != 1 {
		t.Errorf("an hour later there is no room: %d", s.Len())
	}
	for n := byte(1); n <= 3; n++ {
		if s.Fresh(t0, proof(n, t0.Add(time.Duration(n%3)))) {
			t.Errorf("proof %d is fresh again after the clock was put back", n)
		}
	}
	if !s.Fresh(t0, proof(5, t0.Add(time.Second))) {
		t.Error("a younger proof is refused")
	}
}

func TestTheBudget(t *testing.T) {
	a, b := wire.Principal{ID: "a"}, wire.Principal{ID: "b"}
	r := NewRate(0)
	for i := range 60 {
		if !r.Allow(t0.Add(time.Duration(i)*time.Second), a) {
			t.Fatalf("request %d", i+1)
		}
	}
	for _, c := range []struct {
		at   time.Duration
		who  wire.Principal
		want bool
	}{
		{59 * time.Second, a, false},
		{59 * time.Second, b, true},
		{60*time.Second - 1, a, false},
		{60 * time.Second, a, true},
		{60 * time.Second, a, false},
		{-time.Hour, a, false},              // the clock was put back
		{-time.Hour + time.Minute, a, true}, // a minute of that clock later
	} {
		if got := r.Allow(t0.Add(c.at), c.who); got != c.want {
			t.Errorf("%s at %v: %v", c.who.ID, c.at, got)
		}
	}
}
