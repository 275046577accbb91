package gate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"parley/control/client"
	"parley/control/sign"
	"parley/control/wire"
)

var t0 = time.UnixMilli(1_800_000_000_000)

type keyring map[wire.Principal]*wire.Capability

func (k keyring) Capability(_ time.Time, p wire.Principal) (*wire.Capability, bool) {
	c, ok := k[p]
	return c, ok
}

var agent = wire.Principal{ID: "agent", Generation: 2}

func start(t testing.TB, keys keyring, l Limits) (*Gate, client.Endpoint) {
	t.Helper()
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(id.Wipe)
	g, err := New(id, keys, l)
	if err != nil {
		t.Fatal(err)
	}
	return g, client.Endpoint{Pins: g.Pins(), Instance: g.Instance(), Principal: agent, Capability: &wire.Capability{1, 2, 3}}
}

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func begin(t testing.TB, g *Gate, e client.Endpoint, now time.Time) (*client.Call, client.Message) {
	t.Helper()
	call, err := client.New(e)
	if err != nil {
		t.Fatal(err)
	}
	ask, err := call.Ask(now)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.Challenge(now, ask.Proof, ask.Body)
	if err != nil {
		t.Fatal(err)
	}
	act, err := call.Act(now, answer, wire.Request{Action: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	return call, act
}

func TestARoundTrip(t *testing.T) {
	g, e := start(t, keyring{agent: {1, 2, 3}}, Limits{})
	call, act := begin(t, g, e, t0)
	if bytes.Contains(act.Body, []byte("sessions")) || bytes.Contains(act.Body, e.Capability[:]) {
		t.Error("the action or the capability travels in the clear")
	}
	o, err := g.Action(t0, act.Proof, act.Body)
	if err != nil {
		t.Fatal(err)
	}
	if o.Request.Action != "sessions" || string(o.Request.Args) != "{}" || o.Principal != agent || o.Malformed {
		t.Errorf("opened %+v", o)
	}
	reply, err := o.Reply(at(t0), wire.Reply{Result: json.RawMessage(`[{"id":"x"}]`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := call.Read(reply)
	if err != nil || !r.OK() || string(r.Result) != `[{"id":"x"}]` {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := g.Action(t0, act.Proof, act.Body); !errors.Is(err, ErrRefused) {
		t.Errorf("the same action again: %v", err)
	}
	if accepted, refused := g.Counts(); accepted != 2 || refused != 1 {
		t.Errorf("accepted %d, refused %d", accepted, refused)
	}
}

// TestEveryFailureIsTheSameRefusal: whatever is wrong, the error is the same value, and so are the answer and its time
// class.
func TestEveryFailureIsTheSameRefusal(t *testing.T) {
	other := wire.Principal{ID: "other", Generation: 1}
	keys := keyring{agent: {1, 2, 3}, other: {9}}
	for what, f := range map[string]func(t *testing.T) error{
		"no proof": func(t *testing.T) error {
			g, _ := start(t, keys, Limits{})
			_, err := g.Challenge(t0, "", nil)
			return err
		},
		"no base64": func(t *testing.T) error {
			g, _ := start(t, keys, Limits{})
			_, err := g.Challenge(t0, "!!", nil)
			return err
		},
		"unknown principal": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			e.Principal.ID = "nobody"
			return ask(t, g, e, t0, t0)
		},
		"older generation": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			e.Principal.Generation--
			return ask(t, g, e, t0, t0)
		},
		"wrong capability": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			e.Capability = &wire.Capability{}
			return ask(t, g, e, t0, t0)
		},
		"another run": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			e.Instance[0] ^= 1
			return ask(t, g, e, t0, t0)
		},
		"31 s old": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			return ask(t, g, e, t0, t0.Add(31*time.Second))
		},
		"31 s ahead": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			return ask(t, g, e, t0, t0.Add(-31*time.Second))
		},
		"budget spent": func(t *testing.T) error {
			g, e := start(t, keys, Limits{PerMinute: 1})
			if err := ask(t, g, e, t0, t0); err != nil {
				t.Fatal(err)
			}
			return ask(t, g, e, t0, t0)
		},
		"closed": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			g.Close()
			return ask(t, g, e, t0, t0)
		},
		"challenge replayed": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			_, act := begin(t, g, e, t0)
			if _, err := g.Action(t0, act.Proof, act.Body); err != nil {
				t.Fatal(err)
			}
			_, err := g.Action(t0, prove(e, wire.RouteAction, t0, 77, act.Body), act.Body)
			return err
		},
		"challenge expired": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			_, act := begin(t, g, e, t0)
			late := t0.Add(wire.ChallengeLife)
			_, err := g.Action(late, act.Proof, act.Body)
			return err
		},
		"challenge of another principal": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			_, act := begin(t, g, e, t0)
			e.Principal, e.Capability = other, &wire.Capability{9}
			_, err := g.Action(t0, prove(e, wire.RouteAction, t0, 1, act.Body), act.Body)
			return err
		},
		"plaintext action": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			body := []byte(`{"action":"sessions","args":{}}`)
			_, err := g.Action(t0, prove(e, wire.RouteAction, t0, 1, body), body)
			return err
		},
		"seal of another action": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			_, act := begin(t, g, e, t0)
			body := bytes.Clone(act.Body)
			body[len(body)-1] ^= 1
			_, err := g.Action(t0, prove(e, wire.RouteAction, t0, 1, body), body)
			return err
		},
		"too long": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			body := make([]byte, wire.MaxBody+1)
			_, err := g.Action(t0, prove(e, wire.RouteAction, t0, 1, body), body)
			return err
		},
		"proof of the other route": func(t *testing.T) error {
			g, e := start(t, keys, Limits{})
			_, act := begin(t, g, e, t0)
			_, err := g.Action(t0, prove(e, wire.RouteChallenge, t0, 1, act.Body), act.Body)
			return err
		},
		"browser": func(*testing.T) error { return Headers(http.Header{"Origin": {"null"}, wire.ProofHeader: {"x"}}) },
		"fetch": func(*testing.T) error {
			return Headers(http.Header{"Sec-Fetch-Mode": {"cors"}, wire.ProofHeader: {"x"}})
		},
		"doubled": func(*testing.T) error { return Headers(http.Header{wire.ProofHeader: {"x", "x"}}) },
	} {
		t.Run(what, func(t *testing.T) {
			if err := f(t); err != ErrRefused {
				t.Errorf("%v", err)
			}
		})
	}
	if err := Headers(http.Header{wire.ProofHeader: {"x"}, "User-Agent": {"x"}}); err != nil {
		t.Errorf("an ordinary client: %v", err)
	}
}

func prove(e client.Endpoint, route string, now time.Time, nonce byte, body []byte) string {
	return wire.Prove(e.Capability, e.Instance, route, e.Principal, now, [wire.NonceSize]byte{nonce}, body).Header()
}

func ask(t *testing.T, g *Gate, e client.Endpoint, said, now time.Time) error {
	t.Helper()
	call, err := client.New(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := call.Ask(said)
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Challenge(now, m.Proof, m.Body)
	return err
}

// TestEveryBitOnTheWireIsRefused changes every bit of both requests as they travel, one at a time, then shows that the
// unchanged ones still pass.
func TestEveryBitOnTheWireIsRefused(t *testing.T) {
	g, e := start(t, keyring{agent: {1, 2, 3}}, Limits{})
	call, err := client.New(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := call.Ask(t0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	try := func(m client.Message, send func(proof string, body []byte) error) {
		t.Helper()
		step := 1
		if testing.Short() {
			step = 13
		}
		raw, err := base64.RawURLEncoding.DecodeString(m.Proof)
		if err != nil {
			t.Fatal(err)
		}
		for bit := 0; bit < len(raw)*8; bit += step {
			raw[bit/8] ^= 1 << (bit % 8)
			if err := send(base64.RawURLEncoding.EncodeToString(raw), m.Body); err != ErrRefused {
				t.Errorf("bit %d of the proof: %v", bit, err)
			}
			raw[bit/8] ^= 1 << (bit % 8)
			n++
		}
		body := bytes.Clone(m.Body)
		for bit := 0; bit < len(body)*8; bit += step {
			body[bit/8] ^= 1 << (bit % 8)
			if err := send(m.Proof, body); err != ErrRefused {
				t.Errorf("bit %d of the body: %v", bit, err)
			}
			body[bit/8] ^= 1 << (bit % 8)
			n++
		}
	}
	challenge := func(proof string, body []byte) error { _, err := g.Challenge(t0, proof, body); return err }
	action := func(proof string, body []byte) error { _, err := g.Action(t0, proof, body); return err }
	try(m, challenge)
	answer, err := g.Challenge(t0, m.Proof, m.Body)
	if err != nil {
		t.Fatalf("the true ask, after all that: %v", err)
	}
	act, err := call.Act(t0, answer, wire.Request{Action: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	try(act, action)
	if err := action(act.Proof, act.Body); err != nil {
		t.Errorf("the true action, after all that: %v", err)
	}
	t.Logf("%d changed messages", n)
	if !testing.Short() && n < 10_000 {
		t.Errorf("only %d changed messages", n)
	}
}

func TestRevokedBetweenWorkAndReply(t *testing.T) {
	keys := keyring{agent: {1, 2, 3}}
	g, e := start(t, keys, Limits{})
	open := func() *Opened {
		_, act := begin(t, g, e, t0)
		o, err := g.Action(t0, act.Proof, act.Body)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	before, during := open(), open()
	calls := 0
	// The second question about the time comes when the seal is made.
	reply, err := during.Reply(func() time.Time {
		if calls++; calls == 2 {
			delete(keys, agent)
		}
		return t0
	}, wire.Reply{}, nil)
	if err != ErrRefused || reply != nil {
		t.Errorf("revoked while sealing: %d bytes, %v", len(reply), err)
	}
	if reply, err := before.Reply(at(t0), wire.Reply{}, nil); err != ErrRefused || reply != nil {
		t.Errorf("revoked before sealing: %d bytes, %v", len(reply), err)
	}
	g.Reconcile(t0)
	if g.out.Len() != 0 {
		t.Error("a revoked principal's challenge is still out")
	}
}

func TestAnOldConnectionFileMeetsANewRun(t *testing.T) {
	keys := keyring{agent: {1, 2, 3}}
	_, old := start(t, keys, Limits{})
	g, e := start(t, keys, Limits{})
	if err := ask(t, g, old, t0, t0); err != ErrRefused {
		t.Errorf("the new run takes the old proof: %v", err)
	}
	// And a client with the old file believes nothing the new run (or anybody else on that port) says.
	call, err := client.New(old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Ask(t0); err != nil {
		t.Fatal(err)
	}
	other, err := client.New(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := other.Ask(t0)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.Challenge(t0, m.Proof, m.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range [][]byte{answer, nil, []byte("{}"), []byte(Refusal)} {
		if _, err := call.Act(t0, a, wire.Request{Action: "read"}); !errors.Is(err, client.ErrUntrusted) {
			t.Errorf("%d bytes: %v", len(a), err)
		}
	}
	if _, err := call.Read([]byte(`{"kind":"agent-response","status":200,"result":null}`)); err == nil {
		t.Error("a plaintext reply is believed")
	}
}

func TestTheTimeClassOfARefusal(t *testing.T) {
	for _, c := range []struct{ took, want time.Duration }{
		{-time.Second, Quantum}, {0, Quantum}, {1, Quantum}, {Quantum - 1, Quantum}, {Quantum, 2 * Quantum}, {5*Quantum + 1, 6 * Quantum},
	} {
		if got := RefuseAt(t0, t0.Add(c.took)).Sub(t0); got != c.want {
			t.Errorf("took %v: sent after %v, want %v", c.took, got, c.want)
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	g, e := start(b, keyring{agent: {1, 2, 3}}, Limits{PerMinute: 1 << 30, Seen: 1 << 30})
	for b.Loop() {
		call, act := begin(b, g, e, t0)
		o, err := g.Action(t0, act.Proof, act.Body)
		if err != nil {
			b.Fatal(err)
		}
		reply, err := o.Reply(at(t0), wire.Reply{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := call.Read(reply); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAGuardedAnswer: what must not leave any more does not, before and after the seal is made.
func TestAGuardedAnswer(t *testing.T) {
	g, e := start(t, keyring{agent: {1, 2, 3}}, Limits{})
	result := wire.Reply{Result: json.RawMessage(`"secret"`)}
	for _, c := range []struct {
		name string
		says []bool
		code wire.Code
		err  error
	}{
		{"may go", []bool{true, true}, "", nil},
		{"changed before the seal", []bool{false}, wire.CodeConflict, nil},
		{"changed while it was made", []bool{true, false}, "", ErrRefused},
	} {
		call, act := begin(t, g, e, t0)
		o, err := g.Action(t0, act.Proof, act.Body)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		b, err := o.Reply(at(t0), result, func() bool { asked++; return c.says[asked-1] })
		if !errors.Is(err, c.err) || asked != len(c.says) {
			t.Fatalf("%s: %v, asked %d times", c.name, err, asked)
		}
		if err != nil {
			if b != nil {
				t.Errorf("%s: %d bytes", c.name, len(b))
			}
			continue
		}
		r, err := call.Read(b)
		if err != nil || r.Code != c.code || c.code != "" && r.Result != nil {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}
