package approve

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func click(host string) Call {
	return Call{Tenant: "me", Action: "click", Arguments: json.RawMessage(`{"ref":"e1","session":"s1"}`), Session: "s1", Document: "7", Host: host}
}

func TestAnApprovalIsForExactlyOneCall(t *testing.T) {
	now := time.Unix(1000, 0)
	b := New(func(Question) error { return nil }, func() time.Time { return now })
	c := click("a.test")
	q, err := b.Ask(c, "Clicks", []string{"captcha-solve"})
	if err != nil {
		t.Fatal(err)
	}
	if b.Take(c, nil) {
		t.Fatal("asked is answered")
	}
	if err := b.Answer("you", q.ID, Once); !errors.Is(err, ErrUnknown) {
		t.Error("another tenant answers", err)
	}
	if err := b.Answer("me", q.ID, Once); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]Call{
		"another argument": {c.Tenant, c.Action, json.RawMessage(`{"ref":"e2","session":"s1"}`), c.Session, c.Document, c.Host},
		"after navigating": {c.Tenant, c.Action, c.Arguments, c.Session, "8", c.Host},
		"another session":  {c.Tenant, c.Action, c.Arguments, "s2", c.Document, c.Host},
		"another action":   {c.Tenant, "type", c.Arguments, c.Session, c.Document, c.Host},
		"another tenant":   {"you", c.Action, c.Arguments, c.Session, c.Document, c.Host},
		"another host":     {c.Tenant, c.Action, c.Arguments, c.Session, c.Document, "b.test"},
	} {
		if b.Take(other, nil) {
			t.Errorf("%s is approved", name)
		}
	}
	same := c
	same.Arguments = json.RawMessage(` { "session":"s1", "ref":"e1" } `)
	if !b.Take(same, nil) {
		t.Error("the same call in another spelling is not approved")
	}
	if b.Take(c, nil) {
		t.Error("a yes once holds twice")
	}
	if err := b.Answer("me", q.ID, Once); !errors.Is(err, ErrUnknown) {
		t.Error("answered twice", err)
	}
}

func TestAnApprovalExpires(t *testing.T) {
	now := time.Unix(1000, 0)
	b := New(func(Question) error { return nil }, func() time.Time { return now })
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{119 * time.Second, true}, {120 * time.Second, false}} {
		now = time.Unix(1000, 0)
		q, err := b.Ask(click("a.test"), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Answer("me", q.ID, Once); err != nil {
			t.Fatal(err)
		}
		now = now.Add(c.after)
		if got := b.Take(click("a.test"), nil); got != c.want {
			t.Errorf("after %s: %v", c.after, got)
		}
	}
	q, err := b.Ask(click("a.test"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(TTL)
	if err := b.Answer("me", q.ID, Once); !errors.Is(err, ErrUnknown) || len(b.Open("me")) != 0 {
		t.Error("an old question is answered", err)
	}
}

func TestAlwaysIsForOneActionOnOneHost(t *testing.T) {
	b := New(func(Question) error { return nil }, nil)
	q, err := b.Ask(click("a.test"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Answer("me", q.ID, Always); err != nil {
		t.Fatal(err)
	}
	other := click("A.test")
	other.Arguments = nil
	if !b.Take(other, nil) || !b.Take(other, nil) {
		t.Error("always is not always")
	}
	typ := click("a.test")
	typ.Action = "type"
	if b.Take(typ, nil) || b.Take(click("b.test"), nil) {
		t.Error("always spreads")
	}
	if s := b.Standing("me"); len(s) != 1 || len(b.Standing("you")) != 0 || !b.Revoke(s[0]) || b.Revoke(s[0]) || b.Take(other, nil) {
		t.Error("always cannot be revoked")
	}
	q, _ = b.Ask(click(""), "", nil)
	if err := b.Answer("me", q.ID, Always); err == nil {
		t.Error("always without a host")
	}
	if err := b.Answer("me", q.ID, "perhaps"); err == nil {
		t.Error("perhaps is an answer")
	}
}

func TestAYesHoldsWhileTheCallIsMade(t *testing.T) {
	now := time.Unix(1000, 0)
	b := New(func(Question) error { return nil }, func() time.Time { return now })
	rules := []string{"secret-release"}
	q, err := b.Ask(click("a.test"), "", rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Answer("me", q.ID, Once); err != nil {
		t.Fatal(err)
	}
	if b.Holds(click("a.test"), rules) {
		t.Error("it holds before it is used")
	}
	if !b.Take(click("a.test"), rules) || !b.Holds(click("a.test"), rules) || b.Take(click("a.test"), rules) {
		t.Error("a yes that is used does not hold, or serves twice")
	}
	moved := click("a.test")
	moved.Document += "x"
	if b.Holds(moved, rules) || b.Holds(click("b.test"), rules) {
		t.Error("it holds for another page")
	}
	if now = now.Add(TTL); b.Holds(click("a.test"), rules) {
		t.Error("it holds for ever")
	}
}

// TestAlwaysIsForWhatWasAsked: a yes for good to one rule is none to another that fires on the same action and host.
func TestAlwaysIsForWhatWasAsked(t *testing.T) {
	b := New(func(Question) error { return nil }, nil)
	always := func(rules ...string) {
		t.Helper()
		q, err := b.Ask(click("a.test"), "", rules)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Answer("me", q.ID, Always); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want bool, rules ...string) {
		t.Helper()
		if got := b.Take(click("a.test"), rules); got != want {
			t.Errorf("%v: %v", rules, got)
		}
	}
	always("form-submission")
	check(true, "form-submission")
	check(false, "secret-off-scope")
	check(false, "form-submission", "secret-off-scope")
	always("secret-off-scope", "form-submission")
	check(true, "secret-off-scope")
	for _, s := range b.Standing("me") {
		if s.Rules == "form-submission secret-off-scope" && !b.Revoke(s) {
			t.Error("it cannot be revoked")
		}
	}
	check(true, "form-submission")
	check(false, "secret-off-scope")
}

func TestNoAnswerIsANo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := make(chan Question, 1)
		b := New(func(q Question) error { shown <- q; return nil }, nil)
		got := make(chan bool)
		ask := func() { go func() { got <- b.Approve(context.Background(), click("a.test"), "T", nil) }() }

		begin := time.Now()
		ask()
		<-shown
		if <-got || time.Since(begin) != TTL {
			t.Errorf("silence: after %s", time.Since(begin))
		}
		ask()
		if err := b.Answer("me", (<-shown).ID, Once); err != nil || !<-got {
			t.Error("a yes", err)
		}
		ask()
		if err := b.Answer("me", (<-shown).ID, No); err != nil || <-got {
			t.Error("a no", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() { got <- b.Approve(ctx, click("a.test"), "T", nil) }()
		<-shown
		cancel()
		if <-got {
			t.Error("cancelled")
		}
		ask()
		<-shown
		b.Close()
		if <-got {
			t.Error("closed in the middle")
		}
		if b.Approve(context.Background(), click("a.test"), "T", nil) {
			t.Error("closed")
		}
		broken := New(func(Question) error { return errors.New("no screen") }, nil)
		if broken.Approve(context.Background(), click("a.test"), "T", nil) || len(broken.Open("me")) != 0 {
			t.Error("a channel that fails")
		}
	})
}

func TestAPersonIsNotFlooded(t *testing.T) {
	b := New(func(Question) error { return nil }, nil)
	for range maxOpen {
		if _, err := b.Ask(click("a.test"), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Ask(click("a.test"), "", nil); err == nil {
		t.Error("one more")
	}
	other := click("a.test")
	other.Tenant = "you"
	if _, err := b.Ask(other, "", nil); err != nil {
		t.Error("another tenant's person is kept from being asked:", err)
	}
}
