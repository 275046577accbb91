package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"parley/control/sign"
)

type pair struct {
	id       *sign.Identity
	instance Instance
	p        Principal
	ask      Ask
	now      time.Time
	c        *Challenge
	key      *DecapsulationKey
}

func newPair(t testing.TB) *pair {
	t.Helper()
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	x := &pair{id: id, instance: Instance{1, 2, 3}, p: Principal{ID: "agent-1", Generation: 7}, ask: Ask{Nonce: [IDSize]byte{9}}, now: time.UnixMilli(1_800_000_000_000)}
	if x.c, x.key, err = NewChallenge(id, x.instance, x.ask, x.p, x.now); err != nil {
		t.Fatal(err)
	}
	return x
}

// each calls f with every single-bit change of msg; with -short with an even spread of about a hundredth of them.
func each(msg []byte, f func(bit int, changed []byte)) (n int) {
	step := 1
	if testing.Short() {
		step = max(1, len(msg)*8/400) | 1 // odd, so that every position within a byte has its turn
	}
	changed := bytes.Clone(msg)
	for bit := 0; bit < len(msg)*8; bit += step {
		changed[bit/8] ^= 1 << (bit % 8)
		f(bit, changed)
		changed[bit/8] ^= 1 << (bit % 8)
		n++
	}
	return n
}

func TestEveryBitOfAProofCounts(t *testing.T) {
	key := &Capability{1, 2, 3}
	p := Prove(key, Instance{4}, RouteAction, Principal{"a.b_c-9", 1 << 40}, time.UnixMilli(1_800_000_000_123), [NonceSize]byte{5}, []byte("body"))
	raw, err := strict.DecodeString(p.Header())
	if err != nil {
		t.Fatal(err)
	}
	n := each(raw, func(bit int, changed []byte) {
		got, err := ParseProof(strict.EncodeToString(changed))
		if err == nil && got.Verify(key, Instance{4}, RouteAction, []byte("body")) {
			t.Errorf("bit %d: still a proof", bit)
		}
	})
	n += each([]byte("body"), func(bit int, changed []byte) {
		if p.Verify(key, Instance{4}, RouteAction, changed) {
			t.Errorf("bit %d of the body: still a proof", bit)
		}
	})
	n += each(key[:], func(bit int, changed []byte) {
		if p.Verify((*Capability)(changed), Instance{4}, RouteAction, []byte("body")) {
			t.Errorf("bit %d of the key: still a proof", bit)
		}
	})
	n += each(make([]byte, InstanceSize), func(bit int, changed []byte) {
		other := Instance{4}
		for i := range changed {
			other[i] ^= changed[i]
		}
		if p.Verify(key, other, RouteAction, []byte("body")) {
			t.Errorf("bit %d of the instance: still a proof", bit)
		}
	})
	if p.Verify(key, Instance{4}, RouteChallenge, []byte("body")) || !p.Verify(key, Instance{4}, RouteAction, []byte("body")) {
		t.Error("the route does not count, or the true proof fails")
	}
	// The text form is strict: every change of a letter is another proof or none.
	header := []byte(p.Header())
	n += each(header, func(bit int, changed []byte) {
		got, err := ParseProof(string(changed))
		if err == nil && got.Verify(key, Instance{4}, RouteAction, []byte("body")) {
			t.Errorf("bit %d of the header: still a proof", bit)
		}
	})
	for _, h := range []string{p.Header() + "=", " " + p.Header(), p.Header()[:20] + "\r\n" + p.Header()[20:], p.Header() + "A", ""} {
		if _, err := ParseProof(h); err == nil {
			t.Errorf("%q is read", h)
		}
	}
	t.Logf("%d changed messages", n)
}

func TestEveryBitOfAChallengeCounts(t *testing.T) {
	x := newPair(t)
	wire := x.c.Bytes()
	good, err := ParseChallenge(wire)
	if err != nil || !good.Check(x.id.Pins(), x.instance, x.ask, x.p, x.now) {
		t.Fatal("the true challenge fails")
	}
	n := each(wire, func(bit int, changed []byte) {
		c, err := ParseChallenge(changed)
		if err == nil && c.Check(x.id.Pins(), x.instance, x.ask, x.p, x.now) {
			t.Errorf("bit %d: still believed", bit)
		}
	})
	for what, ok := range map[string]bool{
		"another instance":   good.Check(x.id.Pins(), Instance{}, x.ask, x.p, x.now),
		"another ask":        good.Check(x.id.Pins(), x.instance, Ask{}, x.p, x.now),
		"another principal":  good.Check(x.id.Pins(), x.instance, x.ask, Principal{"agent-2", 7}, x.now),
		"another generation": good.Check(x.id.Pins(), x.instance, x.ask, Principal{"agent-1", 8}, x.now),
		"long expired":       good.Check(x.id.Pins(), x.instance, x.ask, x.p, x.now.Add(ChallengeLife+Window)),
		"from the future":    good.Check(x.id.Pins(), x.instance, x.ask, x.p, x.now.Add(-Window)),
	} {
		if ok {
			t.Errorf("%s: believed", what)
		}
	}
	for cut := range len(wire) {
		if cut%97 != 0 && testing.Short() {
			continue
		}
		if _, err := ParseChallenge(wire[:cut]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%d bytes of it are read", cut)
		}
	}
	t.Logf("%d changed messages", n)
}

// TestEveryBitOfAnActionCounts is for the seal alone: as if whoever changes the message could also prove it.
func TestEveryBitOfAnActionCounts(t *testing.T) {
	x := newPair(t)
	plain := []byte(`{"action":"sessions","args":{}}`)
	a, opener, err := SealAction(x.id.Pins(), x.c, RequestID{1}, plain)
	if err != nil {
		t.Fatal(err)
	}
	wire := a.Bytes()
	n := each(wire, func(bit int, changed []byte) {
		b, err := ParseAction(changed)
		if err != nil {
			return
		}
		if b.Challenge != x.c.ID { // the gate finds no such challenge
			return
		}
		if got, _, err := OpenAction(x.id.Pins(), x.key, x.c.Bytes(), x.p, b); err == nil {
			t.Errorf("bit %d: opens to %q", bit, got)
		}
	})
	b, err := ParseAction(wire)
	if err != nil {
		t.Fatal(err)
	}
	other := newPair(t)
	for what, f := range map[string]func() error{
		"another principal": func() error {
			_, _, err := OpenAction(x.id.Pins(), x.key, x.c.Bytes(), Principal{"agent-2", 7}, b)
			return err
		},
		"another generation": func() error {
			_, _, err := OpenAction(x.id.Pins(), x.key, x.c.Bytes(), Principal{"agent-1", 6}, b)
			return err
		},
		"another challenge": func() error {
			_, _, err := OpenAction(x.id.Pins(), x.key, other.c.Bytes(), x.p, b)
			return err
		},
		"another key": func() error {
			_, _, err := OpenAction(x.id.Pins(), other.key, x.c.Bytes(), x.p, b)
			return err
		},
		"other pins": func() error {
			_, _, err := OpenAction(other.id.Pins(), x.key, x.c.Bytes(), x.p, b)
			return err
		},
	} {
		if err := f(); !errors.Is(err, ErrSeal) {
			t.Errorf("%s: %v", what, err)
		}
	}
	got, sealer, err := OpenAction(x.id.Pins(), x.key, x.c.Bytes(), x.p, b)
	if err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("the true action: %q, %v", got, err)
	}

	reply, err := sealer.Seal([]byte("reply"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealer.Seal([]byte("again")); !errors.Is(err, ErrUsed) {
		t.Errorf("a second reply: %v", err)
	}
	keys := *opener.keys
	n += each(reply, func(bit int, changed []byte) {
		k := keys
		if got, err := (&Opener{keys: &k, request: RequestID{1}}).Open(changed); err == nil {
			t.Errorf("bit %d of the reply: opens to %q", bit, got)
		}
	})
	// The action, sent back as a reply, does not pass for one.
	k := keys
	back := append(append([]byte{version}, a.Request[:]...), wire[actionFixed-4:]...)
	if _, err := (&Opener{keys: &k, request: RequestID{1}}).Open(back); !errors.Is(err, ErrSeal) {
		t.Errorf("the action as its own reply: %v", err)
	}
	if got, err := opener.Open(reply); err != nil || string(got) != "reply" {
		t.Errorf("the true reply: %q, %v", got, err)
	}
	if _, err := opener.Open(reply); !errors.Is(err, ErrUsed) {
		t.Errorf("the reply a second time: %v", err)
	}
	t.Logf("%d changed messages", n)
}

func TestLimitsOfTheWire(t *testing.T) {
	x := newPair(t)
	if _, _, err := SealAction(x.id.Pins(), x.c, RequestID{}, make([]byte, MaxRequest+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("an action of 32 KiB + 1: %v", err)
	}
	a, opener, err := SealAction(x.id.Pins(), x.c, RequestID{}, make([]byte, MaxRequest))
	if err != nil {
		t.Fatal(err)
	}
	_, sealer, err := OpenAction(x.id.Pins(), x.key, x.c.Bytes(), x.p, a)
	if err != nil {
		t.Fatalf("an action of 32 KiB: %v", err)
	}
	if _, err := sealer.Seal(make([]byte, MaxReply+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("a reply one byte too long: %v", err)
	}
	reply, err := sealer.Seal(make([]byte, MaxReply))
	if err != nil || len(reply) != MaxAnswer {
		t.Fatalf("the longest reply: %d bytes, %v", len(reply), err)
	}
	if plain, err := opener.Open(reply); err != nil || len(plain) != MaxReply {
		t.Errorf("the longest reply opens to %d bytes, %v", len(plain), err)
	}
}

func TestCanonicalFormsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range [][][]byte{{}, {nil}, {nil, nil}, {[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte("a"), []byte("b"), nil}, {nil, []byte("ab")}, {{0, 0, 0, 0}}} {
		for _, label := range []string{"proof", "challenge"} {
			s := string(canon(label, f...))
			if seen[s] {
				t.Errorf("%q twice", s)
			}
			seen[s] = true
		}
	}
}

// TestTheScheduleIsFixed holds the key schedule to values that were computed once by another implementation of the
// page docs/control.md (testdata/schedule.py), so that nobody changes the wire unawares.
func TestTheScheduleIsFixed(t *testing.T) {
	var f struct{ Proof, ActionKey, ActionNonce, ReplyKey, ReplyNonce, Sealed string }
	load(t, "schedule.json", &f)
	pins := sign.Pins{Ed: bytes.Repeat([]byte{1}, 32), PQ: bytes.Repeat([]byte{2}, 2592)}
	p := Principal{"agent", 3}
	challenge := bytes.Repeat([]byte{4}, 100)
	kem := bytes.Repeat([]byte{5}, kemSize)
	s, err := derive(bytes.Repeat([]byte{6}, 32), transcript(pins, challenge, p, kem))
	if err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]struct {
		got  []byte
		want string
	}{
		"action key": {s.actionKey[:], f.ActionKey}, "action nonce": {s.actionNonce[:], f.ActionNonce},
		"reply key": {s.replyKey[:], f.ReplyKey}, "reply nonce": {s.replyNonce[:], f.ReplyNonce},
	} {
		if !bytes.Equal(v.got, unhex(t, v.want)) {
			t.Errorf("%s: %x", what, v.got)
		}
	}
	proof := Prove(&Capability{7}, Instance{8}, RouteAction, p, time.UnixMilli(1_800_000_000_000), [NonceSize]byte{9}, []byte("body"))
	if proof.Header() != f.Proof {
		t.Errorf("proof: %s", proof.Header())
	}
	id := RequestID{10}
	sealed, err := seal(&s.actionKey, &s.actionNonce, nil, []byte("plain"), bound(kindAction, id))
	if err != nil || !bytes.Equal(sealed, unhex(t, f.Sealed)) {
		t.Errorf("sealed: %x, %v", sealed, err)
	}
}
