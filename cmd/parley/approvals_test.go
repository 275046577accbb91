package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/control/trusted"
	"parley/guard/approve"
)

// screen is a terminal's output that a test can wait on.
type screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newScreen() *screen { return &screen{changed: make(chan struct{}, 1)} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// until waits for a text, and takes everything up to it away.
func (s *screen) until(t *testing.T, want string) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		_, rest, found := strings.Cut(s.text.String(), want)
		if found {
			s.text.Reset()
			s.text.WriteString(rest)
		}
		have := s.text.String()
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-s.changed:
		case <-limit:
			t.Fatalf("it never says %q: %q", want, have)
		}
	}
}

// askingService is a service's side of the questions, on a data folder of its own.
func askingService(t *testing.T) (*approve.Broker, *person) {
	t.Helper()
	tmp, err := os.MkdirTemp("", "pa") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	data := filepath.Join(tmp, "data")
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	t.Setenv("PARLEY_DATA", data)
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	p := newPerson(time.Now)
	p.broker = approve.New(p.Show, nil)
	s, err := trusted.Listen(personDirs(data)+strconv.Itoa(os.Getpid()), p.order)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := services(data); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return p.broker, p
}

func TestAPersonAnswersInATerminal(t *testing.T) {
	broker, p := askingService(t)
	in, keys := io.Pipe()
	out, said := newScreen(), newScreen()
	ended := make(chan int, 1)
	go func() {
		ended <- dispatch(t.Context(), &environment{stdin: in, stdout: out, stderr: said}, []string{"approvals"})
	}()
	said.until(t, "waiting for questions of tenant me")
	for limit := time.Now().Add(30 * time.Second); !p.Reachable("me"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nobody looks")
		}
	}
	if p.Reachable("other") {
		t.Error("somebody looks at another tenant's questions")
	}
	rules := []string{"form-submission"}
	ask := func(ctx context.Context, action, host string) <-chan bool {
		yes := make(chan bool, 1)
		call := approve.Call{Tenant: "me", Action: action, Host: host, Arguments: json.RawMessage(`{"n":"` + action + `"}`)}
		go func() { yes <- broker.Approve(ctx, call, "Submits a form", rules) }()
		return yes
	}
	for _, c := range []struct {
		name, action, host, key, says string
		want                          bool
	}{
		{"yes", "click", "a.test", "y", "allowed, this once", true},
		{"no", "click", "a.test", "n", "refused", false},
		{"a word that is none of the choices", "type", "a.test", "sure", "refused", false},
		{"always where there is no host", "wave", "", "a", "taken as yes, this once", true},
		{"always", "type", "b.test", "a", "allowed there from now on", true},
	} {
		yes := ask(t.Context(), c.action, c.host)
		where := ""
		if c.host != "" {
			where = " on " + c.host
		}
		out.until(t, "May the agent use "+c.action+where+"? Submits a form. (form-submission)")
		if _, err := io.WriteString(keys, c.key+"\n"); err != nil {
			t.Fatal(err)
		}
		out.until(t, c.says)
		if got := <-yes; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if !<-ask(t.Context(), "type", "b.test") {
		t.Error("always is asked again")
	}
	code, list, _ := dispatchCaptured(t, "approvals", "standing")
	if code != exitOK || list != "1  type on b.test  (form-submission)\n" {
		t.Errorf("%d %q", code, list)
	}
	if code, _, errs := dispatchCaptured(t, "approvals", "revoke", "2"); code != exitUsage || !strings.Contains(errs, "standing lists them") {
		t.Errorf("%d %q", code, errs)
	}
	if code, got, errs := dispatchCaptured(t, "approvals", "revoke", "1"); code != exitOK || got != "revoked: type on b.test\n" {
		t.Errorf("%d %q %q", code, got, errs)
	}
	if code, list, _ := dispatchCaptured(t, "approvals", "standing"); code != exitOK || list != "nothing was answered with always\n" {
		t.Errorf("%d %q", code, list)
	}
	// What is typed ahead answers no question that comes later, though it waits already.
	first := ask(t.Context(), "click", "c.test")
	out.until(t, "May the agent use click on c.test?")
	second := ask(t.Context(), "click", "d.test")
	for limit := time.Now().Add(30 * time.Second); len(broker.Open("me")) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the second question is not open")
		}
	}
	if _, err := io.WriteString(keys, "n\ny\n"); err != nil {
		t.Fatal(err)
	}
	out.until(t, "May the agent use click on d.test?")
	if _, err := io.WriteString(keys, "n\n"); err != nil {
		t.Fatal(err)
	}
	if <-first || <-second {
		t.Error("a line that came before the question allowed it")
	}
	// What was revoked is asked again; whoever goes away says no.
	yes := ask(t.Context(), "type", "b.test")
	out.until(t, "May the agent use type on b.test?")
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	if <-yes {
		t.Error("nobody said yes")
	}
	if code := <-ended; code != exitOK {
		t.Errorf("it ended with %d", code)
	}
}

func TestWhoLooks(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newPerson(func() time.Time { return now })
	p.broker = approve.New(p.Show, p.now)
	if p.Reachable("me") {
		t.Error("nobody has looked yet")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if open := p.look(ctx, "me", nil); open != nil {
		t.Errorf("%v", open)
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {lookGap - 1, true}, {lookGap, false}} {
		now = time.Unix(1000, 0).Add(c.after)
		if got := p.Reachable("me"); got != c.want {
			t.Errorf("%v after a look: %v", c.after, got)
		}
	}
	first, err := p.broker.Ask(approve.Call{Tenant: "me", Action: "x"}, "X", nil)
	if err != nil {
		t.Fatal(err)
	}
	if open := p.look(t.Context(), "me", nil); len(open) != 1 || open[0].ID != first.ID {
		t.Errorf("%v", open)
	}
	if open := p.look(ctx, "me", []string{first.ID}); open != nil {
		t.Errorf("what is known is told again: %v", open)
	}
	for word, body := range map[string]string{"frob": `{}`, "look": `[]`, "revoke": `{"tenant":"me","standing":{"Tenant":"other"}}`, "answer": `{"tenant":"other","question":"` + first.ID + `","choice":"once"}`} {
		if _, err := p.order(t.Context(), trusted.Request{Word: word, Body: json.RawMessage(body)}); err == nil {
			t.Errorf("%s %s is taken", word, body)
		}
	}
}

func TestNobodyToAnswer(t *testing.T) {
	data := t.TempDir()
	for _, args := range [][]string{{"approvals"}, {"approvals", "standing"}, {"approvals", "revoke", "1"}} {
		if code, _, errs := cli(t, data, args...); code != exitFailed || !strings.Contains(errs, "parley serve") {
			t.Errorf("%v: %d %q", args, code, errs)
		}
	}
	if code, _, _ := cli(t, data, "approvals", "frob"); code != exitUsage {
		t.Errorf("%d", code)
	}
}

// TestTheFolderOfAKilledServiceGoes with the next start.
func TestTheFolderOfAKilledServiceGoes(t *testing.T) {
	_, _ = askingService(t)
	data := os.Getenv("PARLEY_DATA")
	dead := personDirs(data) + "999999999"
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	v, err := loadSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), v, appOptions{log: quietLogger(&environment{stderr: io.Discard}, v), needToken: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := a.close(t.Context()); err != nil {
		t.Error(err)
	}
}
