package prefs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/guard/policy"
	"parley/tenant"
)

func open(t *testing.T, file string, o Options) (*Prefs, error) {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), FileName)
	if file != "" {
		if err := os.WriteFile(o.Path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(o)
}

func effect(p *Prefs, t tenant.ID, rule string) policy.Effect {
	for _, r := range p.Of(t).Rules() {
		if r.ID == rule {
			return r.Effect
		}
	}
	return policy.Deny
}

func TestEachTenantHasItsTable(t *testing.T) {
	all, each, err := ParseTables("guarded, swarm=standard")
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(t, "", Options{Table: all, Tables: each})
	if err != nil {
		t.Fatal(err)
	}
	if effect(p, "me", "form-submission") != policy.Confirm || effect(p, "swarm", "form-submission") != policy.Allow {
		t.Error("the tables are mixed up")
	}
	for in, want := range map[string]string{"loose": "none of", "standard,guarded": "two tables", "Me=guarded": "lower case", "me=guarded,me=standard": "twice"} {
		if _, _, err := ParseTables(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestABadFileStopsTheStart(t *testing.T) {
	for file, want := range map[string]string{
		`{"guardrails":{"rules":{"form-submision":"deny"}}}`: "form-submision", `{"guardrails":{"rules":{"form-submission":"never"}}}`: "never",
		`{"guardrals":{}}`: "guardrals", `{"guardrails":{"rules":{"reserved-action":"allow"}}}`: "locked", `{"guardrails":{"hosts":["co.uk"]}}`: "co.uk",
		`{"guardrails":{"fence":false}}`: "grant policy", `{`: "configuration",
	} {
		if _, err := open(t, file, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheFenceIsOffForThoseWhoAdminister(t *testing.T) {
	p, err := open(t, `{"guardrails":{"fence":false}}`, Options{Admins: map[tenant.ID]bool{"me": true}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Of("me").Fence() || !p.Of("you").Fence() {
		t.Error("the fence is off for the wrong one")
	}
}

func TestAnEditorsChangeIsToldAndKept(t *testing.T) {
	p, err := open(t, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes, stop := p.Changes()
	defer stop()
	if err := p.Write(&policy.Writer{}, "me", policy.Change{Rule: "form-submission", Value: "deny"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changes:
	default:
		t.Error("nobody is told")
	}
	if effect(p, "me", "form-submission") != policy.Deny {
		t.Error("it does not hold")
	}
	again, err := Open(p.o)
	if err != nil || effect(again, "me", "form-submission") != policy.Deny {
		t.Error("it was not kept", err)
	}
	before, _ := os.ReadFile(p.o.Path)
	run := &policy.Writer{}
	run.Saw("run-1")
	for _, c := range []struct {
		w  *policy.Writer
		ch policy.Change
	}{
		{run, policy.Change{Rule: "form-submission", Value: "allow"}}, {&policy.Writer{}, policy.Change{Rule: "reserved-action", Value: "allow"}},
		{&policy.Writer{}, policy.Change{Rule: "none", Value: "allow"}}, {&policy.Writer{}, policy.Change{Rule: "form-submission", Value: "perhaps"}}, {nil, policy.Change{Rule: "form-submission"}},
	} {
		if err := p.Write(c.w, "me", c.ch); err == nil {
			t.Errorf("%+v was written", c.ch)
		}
	}
	if after, _ := os.ReadFile(p.o.Path); string(after) != string(before) {
		t.Error("a refused change touched the file")
	}
	if err := p.Write(&policy.Writer{}, "me", policy.Change{Rule: "form-submission"}); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(p.o.Path); strings.Contains(string(after), "form-submission") {
		t.Errorf("a cleared row stays: %s", after)
	}
}

func TestAChangeByHandHoldsSoon(t *testing.T) {
	p, err := open(t, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Watch(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	changes, stop := p.Changes()
	defer stop()
	hand := func(s string) {
		if err := os.WriteFile(p.o.Path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hand(`{"guardrails":{"rules":{"form-submission":"deny"}}}`)
	select {
	case <-changes:
	case <-time.After(20 * time.Second): // Every is a second; the machine may be busy
		t.Fatal("nobody was told")
	}
	if effect(p, "me", "form-submission") != policy.Deny {
		t.Error("it does not hold")
	}
	hand(`{"guardrails":{"rules":{"form-submission":"nonsense"}}}`)
	if err := p.Write(&policy.Writer{}, "me", policy.Change{Rule: "form-submission"}); err == nil || !strings.Contains(err.Error(), "put right") {
		t.Errorf("an editor wrote over a bad file: %v", err)
	}
	if effect(p, "me", "form-submission") != policy.Deny {
		t.Error("a bad file took the old rules away")
	}
}

// TestTheRulesDoNotFallForAMoment: a file that is written anew is empty or gone for a moment, and what was put in its place may
// be no file at all. The rules hold until it is there again, or stays away.
func TestTheRulesDoNotFallForAMoment(t *testing.T) {
	const strict = `{"guardrails":{"rules":{"form-submission":"deny"}}}`
	denied := func(p *Prefs) bool { return effect(p, "me", "form-submission") == policy.Deny }
	place := map[string]func(path string) error{
		"empty": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"gone":  os.Remove,
	}
	for name, put := range place {
		p, err := open(t, strict, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var w watch
		if err := put(p.o.Path); err != nil {
			t.Fatal(err)
		}
		if p.look(&w); !denied(p) {
			t.Errorf("%s: the rules fell at the first look", name)
		}
		if err := os.WriteFile(p.o.Path, []byte(strict), 0o600); err != nil {
			t.Fatal(err)
		}
		p.look(&w)
		if err := put(p.o.Path); err != nil {
			t.Fatal(err)
		}
		if p.look(&w); !denied(p) {
			t.Errorf("%s: the rules fell at the first look after it had come back", name)
		}
		if p.look(&w); denied(p) {
			t.Errorf("%s: for good, and the rules hold", name)
		}
	}
	for name, put := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"too long": func(path string) error { return os.WriteFile(path, make([]byte, maxFile+1), 0o600) },
		"half":     func(path string) error { return os.WriteFile(path, []byte(strict[:20]), 0o600) },
	} {
		var log bytes.Buffer
		p, err := open(t, strict, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(p.o.Path), put(p.o.Path)); err != nil {
			t.Fatal(err)
		}
		var w watch
		for range 3 {
			if p.look(&w); !denied(p) {
				t.Errorf("%s: the rules fell", name)
			}
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
			t.Errorf("%s: told %d times", name, n)
		}
		if err := p.Write(&policy.Writer{}, "me", policy.Change{Rule: "form-submission"}); err == nil || !denied(p) {
			t.Errorf("%s: an editor wrote over it", name)
		}
		if _, err := Open(p.o); err == nil {
			t.Errorf("%s: the service starts with it", name)
		}
	}
}
