package mapping

import (
	"errors"
	"fmt"
	"testing"

	"parley/guard/policy"
)

func run(t *testing.T, l Limits) *Run {
	t.Helper()
	r, err := New("https://shop.test/start", "t1", l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestAClosedSetOfReadingActions(t *testing.T) {
	r := run(t, Limits{})
	if len(actions) != 13 {
		t.Errorf("%d actions", len(actions))
	}
	for _, a := range actions {
		if err := r.Gate(Call{Action: a, URL: "https://shop.test/x"}); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	for _, a := range []string{"click", "type", "press", "fill_form", "select", "drag", "upload", "dialog", "back", "forward", "macro_run", "meeting_join", "meeting_speak", "secret_create", "keepalive_set", "internal.x", "", "nonsense"} {
		if got := code(r.Gate(Call{Action: a})); got != ReadOnly {
			t.Errorf("%s: %q", a, got)
		}
	}
	if r := run(t, Limits{Clicks: true}); r.Gate(Call{Action: "click"}) != nil || r.Gate(Call{Action: "type"}) == nil {
		t.Error("clicks")
	}
	if got := code(r.Gate(Call{Action: "tabs", Op: "new"})); got != ReadOnly {
		t.Error(got)
	}
}

func TestAddressesOnTheMappedOriginAlone(t *testing.T) {
	r := run(t, Limits{})
	for u, want := range map[string]string{
		"https://shop.test/": "", "https://SHOP.test/a?b=c": "", "https://shop.test:443/": "", "http://shop.test/": OffSite, "https://shop.test:8443/": OffSite, "https://www.shop.test/": OffSite,
		"https://evil.test/": OffSite, "/relative": OffSite, "": OffSite, "https://shop.test@evil.test/": OffSite, "https://u:p@shop.test/": OffSite, "javascript:x": OffSite, "https://shop.test.evil.test/": OffSite,
	} {
		if got := code(r.Gate(Call{Action: "navigate", URL: u})); got != want {
			t.Errorf("%s: %q", u, got)
		}
	}
	for _, a := range []string{"back", "forward"} { // they walk off the site
		if code(r.Gate(Call{Action: a})) == "" {
			t.Errorf("%s is allowed", a)
		}
	}
	if _, err := New("ftp://shop.test", "t1", Limits{}); err == nil {
		t.Error("a run on ftp")
	}
}

func TestBudgets(t *testing.T) {
	r := run(t, Limits{Pages: 3, Shots: 2})
	for i := range 3 {
		u := fmt.Sprintf("https://shop.test/%d", i)
		if err := r.Gate(Call{Action: "navigate", URL: u}); err != nil {
			t.Fatal(err)
		}
		if err := r.Note("navigate", u, "t1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := code(r.Gate(Call{Action: "navigate", URL: "https://shop.test/3"})); got != Budget {
		t.Error(got)
	}
	if err := r.Gate(Call{Action: "navigate", URL: "https://shop.test/1?again"}); err != nil {
		t.Errorf("a page that was visited counts again: %v", err)
	}
	for range 2 {
		if err := r.Gate(Call{Action: "screenshot"}); err != nil {
			t.Fatal(err)
		}
		_ = r.Note("screenshot", "", "t1")
	}
	if got := code(r.Gate(Call{Action: "screenshot"})); got != Budget {
		t.Error(got)
	}
}

func TestOneTab(t *testing.T) {
	r := run(t, Limits{})
	if got := code(r.Gate(Call{Action: "read", Tab: "t2"})); got != TabChanged {
		t.Error(got)
	}
	if err := r.Gate(Call{Action: "read", Tab: "t1"}); err != nil {
		t.Error(err)
	}
	if got := code(r.Note("read", "https://shop.test/", "t2")); got != TabChanged {
		t.Error(got)
	}
}

func TestDriftingOffTheSite(t *testing.T) {
	r := run(t, Limits{Clicks: true})
	_ = r.Note("click", "https://evil.test/x", "t1")
	for _, a := range []string{"read", "screenshot", "find", "click", "scroll", "reload"} {
		if got := code(r.Gate(Call{Action: a})); got != OffSite {
			t.Errorf("%s: %q", a, got)
		}
	}
	if err := r.Gate(Call{Action: "navigate", URL: "https://shop.test/"}); err != nil {
		t.Fatal(err)
	}
	_ = r.Note("navigate", "https://shop.test/", "t1")
	if err := r.Gate(Call{Action: "read"}); err != nil {
		t.Error(err)
	}
}

func TestLimitsAreNeverWidened(t *testing.T) {
	l, cut := Limits{Pages: 1000, Shots: 1000, Minutes: 1000}.Clamp()
	if l.Pages != MaxPages || l.Shots != MaxShots || l.Minutes != MaxMinutes || len(cut) != 3 {
		t.Errorf("%+v %v", l, cut)
	}
	if l, cut := (Limits{Pages: 5}).Clamp(); l.Pages != 5 || l.Shots == 0 || cut != nil {
		t.Errorf("%+v %v", l, cut)
	}
	if r := run(t, Limits{Pages: 1 << 30}); r.limits.Pages != MaxPages {
		t.Error(r.limits)
	}
}

func TestSearchingTheWeb(t *testing.T) {
	if got := code(run(t, Limits{}).Gate(Call{Action: "web_search"})); got != ReadOnly {
		t.Error(got)
	}
	if err := run(t, Limits{Research: true}).Gate(Call{Action: "web_search"}); err != nil {
		t.Error(err)
	}
}

func TestAStoredTaskActsForWhoeverStoredIt(t *testing.T) {
	p, _, err := policy.New(policy.Source{Table: policy.Guarded}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, attended := range []bool{true, false} { // an attended caller stored it, and an attended one sets it off: nobody is asked
		d := p.Decide(&policy.Request{Action: "type", Args: policy.Args{Submit: true}, Scope: policy.Anywhere, Caller: Stored{Tenant: "me", Attended: attended}.Caller()})
		if d.Effect != policy.Deny || !d.NobodyToAsk {
			t.Errorf("%+v", d)
		}
	}
}
