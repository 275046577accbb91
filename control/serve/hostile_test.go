package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/control/client"
	"parley/control/gate"
	"parley/control/serve"
	"parley/control/wire"
	"parley/testkit/need"
)

// hostileEnv makes this test binary a hostile process: address and seconds.
const hostileEnv = "PARLEY_TEST_HOSTILE"

// TestHostileProcess is no test: it is the other process of the next one.
func TestHostileProcess(t *testing.T) {
	address, seconds, ok := strings.Cut(os.Getenv(hostileEnv), " ")
	if !ok {
		return
	}
	n, err := strconv.Atoi(seconds)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Duration(n) * time.Second)
	var g sync.WaitGroup
	var mu sync.Mutex
	sent := 0
	for w := range 40 { // 25 ms each at the least: 1 600 a second at the most
		g.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			c := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
			tick := time.NewTicker(40 * time.Millisecond)
			defer tick.Stop()
			for time.Now().Before(end) {
				<-tick.C
				body := make([]byte, []int{0, 33, 3000, 40000, wire.MaxBody + 9}[r.IntN(5)])
				req, err := http.NewRequest(http.MethodPost, "http://"+address+[]string{wire.RouteAction, wire.RouteChallenge, "/"}[r.IntN(3)], bytes.NewReader(body))
				if err != nil {
					return
				}
				proof := make([]byte, 1+1+5+8+8+wire.NonceSize+wire.MACSize)
				copy(proof, "\x01\x05agent")
				req.Header.Set(wire.ProofHeader, base64.RawURLEncoding.EncodeToString(proof))
				resp, err := c.Do(req)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				mu.Lock()
				sent++
				mu.Unlock()
			}
		})
	}
	g.Wait()
	fmt.Println("sent", sent)
}

// TestAHostileProcess: about a thousand malformed requests a second from another process neither hold up an honest client
// nor make memory grow.
func TestAHostileProcess(t *testing.T) {
	need.Real(t)
	const seconds = hostileSeconds
	r := start(t, echo, serve.Options{})
	c := r.client(t, agent)
	for range 20 {
		if _, err := c.Do(t.Context(), wire.Request{Action: "sessions"}); err != nil {
			t.Fatal(err)
		}
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	before := live()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := exec.CommandContext(ctx, self, "-test.run=^TestHostileProcess$", "-test.v")
	other.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", hostileEnv, r.server.Address(), seconds))
	var out bytes.Buffer
	other.Stdout = &out
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- other.Wait() }()
	var took []time.Duration
	peak := int64(0)
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			running = false
		case <-time.After(20 * time.Millisecond):
			begin := time.Now()
			if got, err := c.Do(t.Context(), wire.Request{Action: "sessions"}); err != nil || !got.OK() {
				t.Fatalf("the honest client: %+v, %v", got, err)
			}
			took = append(took, time.Since(begin))
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, int64(m.HeapInuse+m.StackInuse))
		}
	}
	sent := 0
	_, said, _ := strings.Cut(out.String(), "sent ")
	if _, err := fmt.Sscan(said, &sent); err != nil {
		t.Fatalf("what was sent: %v: %s", err, out.String())
	}
	grown := live() - before
	slices.Sort(took)
	_, refused := r.gate.Counts()
	t.Logf("%d a second were answered, %d by the gate; honest: %d calls, p50 %v, p99 %v, worst %v; live memory grew by %d KiB, peak in use %d KiB",
		sent/seconds, refused, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], grown>>10, peak>>10)
	if sent < 100*seconds {
		t.Errorf("%d requests in %d seconds are no load", sent, seconds)
	}
	if took[len(took)-1] > wire.ActionTimeout {
		t.Errorf("an honest call took %v, which is more than its deadline", took[len(took)-1])
	}
	if grown > 8<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	if !need.Overloaded(t) && took[len(took)*99/100] > 100*time.Millisecond {
		t.Errorf("the honest client waits %v", took[len(took)*99/100])
	}
}

// TestTenThousandMutations: every bit of proof, challenge request and action, one at a time, against the running gate:
// each is refused with the same value, and a sample over the network with the same answer in the same class of time.
func TestTenThousandMutations(t *testing.T) {
	r := start(t, echo, serve.Options{Refused: 1 << 30})
	key, _ := r.keys.Capability(time.Time{}, agent)
	end := client.Endpoint{Pins: r.gate.Pins(), Instance: r.gate.Instance(), Principal: agent, Capability: key}
	var sample []sent
	n := 0
	stepAction := 1
	if testing.Short() {
		stepAction = 9
	}
	keep := func(route, proof string, body []byte) {
		if n++; n%97 == 0 && len(sample) < 400 {
			sample = append(sample, sent{route, proof, bytes.Clone(body)})
		}
	}
	// Proofs, of both routes: field by field, bit by bit.
	ask := func() (*client.Call, client.Message) {
		call, err := client.New(end)
		if err != nil {
			t.Fatal(err)
		}
		m, err := call.Ask(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return call, m
	}
	_, m := ask()
	raw, err := base64.RawURLEncoding.DecodeString(m.Proof)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(raw) * 8 {
		raw[bit/8] ^= 1 << (bit % 8)
		proof := base64.RawURLEncoding.EncodeToString(raw)
		if _, err := r.gate.Challenge(time.Now(), proof, m.Body); !errors.Is(err, gate.ErrRefused) {
			t.Fatalf("bit %d of a proof: %v", bit, err)
		}
		keep(m.Route, proof, m.Body)
		raw[bit/8] ^= 1 << (bit % 8)
	}
	for bit := range len(m.Body) * 8 {
		m.Body[bit/8] ^= 1 << (bit % 8)
		if _, err := r.gate.Challenge(time.Now(), m.Proof, m.Body); !errors.Is(err, gate.ErrRefused) {
			t.Fatalf("bit %d of an ask: %v", bit, err)
		}
		keep(m.Route, m.Proof, m.Body)
		m.Body[bit/8] ^= 1 << (bit % 8)
	}
	// An action under the right proof for its changed body, so that what is inside is what refuses: each needs a challenge
	// of its own, since it is used up. And under the proof of the unchanged one, for every bit.
	now := time.Now() // stands still for the endpoint, however long this takes
	call, m := ask()
	challenge, err := r.gate.Challenge(now, m.Proof, m.Body)
	if err != nil {
		t.Fatal(err)
	}
	act, err := call.Act(now, challenge, wire.Request{Action: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	for bit := 0; bit < len(act.Body)*8; bit += stepAction {
		act.Body[bit/8] ^= 1 << (bit % 8)
		if o, err := r.gate.Action(now, act.Proof, act.Body); !errors.Is(err, gate.ErrRefused) || o != nil {
			t.Fatalf("bit %d of an action: %v", bit, err)
		}
		keep(act.Route, act.Proof, act.Body)
		act.Body[bit/8] ^= 1 << (bit % 8)
	}
	// Every bit of a challenge, before the client's eyes.
	for bit := 0; bit < len(challenge)*8; bit += stepAction * 7 {
		challenge[bit/8] ^= 1 << (bit % 8)
		call, err := client.New(end)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Act(now, challenge, wire.Request{Action: "sessions"}); !errors.Is(err, client.ErrUntrusted) {
			t.Fatalf("bit %d of a challenge: %v", bit, err)
		}
		n++
		challenge[bit/8] ^= 1 << (bit % 8)
	}
	if o, err := r.gate.Action(now, act.Proof, act.Body); err != nil || o == nil {
		t.Errorf("the unchanged one: %v", err)
	}
	// With a fresh proof over the changed body, the seal is what refuses.
	for bit := 8; bit < len(act.Body)*8; bit += len(act.Body)*8/60 | 1 {
		call, m := ask()
		challenge, err := r.gate.Challenge(time.Now(), m.Proof, m.Body)
		if err != nil {
			t.Fatal(err)
		}
		act, err := call.Act(time.Now(), challenge, wire.Request{Action: "sessions"})
		if err != nil {
			t.Fatal(err)
		}
		act.Body[bit/8] ^= 1 << (bit % 8)
		proof := wire.Prove(key, end.Instance, wire.RouteAction, agent, time.Now(), [wire.NonceSize]byte{byte(bit), byte(bit >> 8), 9}, act.Body)
		if o, err := r.gate.Action(time.Now(), proof.Header(), act.Body); !errors.Is(err, gate.ErrRefused) || o != nil {
			t.Fatalf("bit %d under a right proof: %v", bit, err)
		}
		keep(wire.RouteAction, proof.Header(), act.Body)
	}
	if !testing.Short() && n < 10_000 {
		t.Errorf("only %d messages", n)
	}
	same(t, r, sample)
	t.Logf("%d changed messages, %d of them over the network", n, len(sample))
}

type sent struct {
	route, proof string
	body         []byte
}

// same sends changed messages over the network: one answer, one class of time.
func same(t *testing.T, r *rig, sample []sent) {
	t.Helper()
	var slow int
	for _, m := range sample {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.server.Address()+m.route, bytes.NewReader(m.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(wire.ProofHeader, m.proof)
		begin := time.Now()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		took := time.Since(begin)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != gate.RefusalStatus || string(body) != gate.Refusal || took < gate.Quantum {
			t.Errorf("%d %q after %v", resp.StatusCode, body, took)
		}
		if took > 2*gate.Quantum {
			slow++
		}
	}
	if !need.Overloaded(t) && slow > len(sample)/10 {
		t.Errorf("%d of %d took longer than one class of time", slow, len(sample))
	}
}
