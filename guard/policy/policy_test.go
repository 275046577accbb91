package policy

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func mustNew(t testing.TB, table string, c Config) *Policy {
	t.Helper()
	p, warn, err := New(Source{Table: table}, c)
	if err != nil || warn != nil {
		t.Fatal(err, warn)
	}
	return p
}

func scopeOf(t testing.TB, hosts ...string) Scope {
	t.Helper()
	s, err := NewScope(Start{URL: "https://" + hosts[0] + "/", Standing: hosts[1:]})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// on is an attended call with every grant on a page of the scope.
func on(t testing.TB, action string, a Args) *Request {
	return &Request{Action: action, Caller: Attended, Args: a, Scope: scopeOf(t, "example.com"), PageHost: "example.com", CanMeet: true, CanHide: true}
}

func TestWhatEachRuleFiresOn(t *testing.T) {
	no, yes := false, true
	long := func(n int) string { return "https://example.com/?" + strings.Repeat("x", n-1) }
	for _, c := range []struct {
		name   string
		action string
		args   Args
		edit   func(*Request)
		want   string // decisive rules under guarded
		effect Effect
	}{
		{"internal prefix", "internal.reset", Args{}, nil, "reserved-action", Deny},
		{"internal without the dot", "internal", Args{}, nil, "unknown-action", Deny},
		{"a name nobody classified", "teleport", Args{}, nil, "unknown-action", Deny},
		{"https", "navigate", Args{URL: "https://example.com/a"}, nil, "", Allow},
		{"http", "navigate", Args{URL: "HTTP://example.com/a"}, nil, "", Allow},
		{"javascript", "navigate", Args{URL: "javascript:alert(1)"}, nil, "non-http-navigation", Deny},
		{"javascript behind a space and a tab", "navigate", Args{URL: " java\tscript:alert(1)"}, nil, "non-http-navigation", Deny},
		{"data", "navigate", Args{URL: "data:text/html,x"}, nil, "non-http-navigation", Deny},
		{"file", "navigate", Args{URL: "file:///etc/passwd"}, nil, "non-http-navigation", Deny},
		{"view-source", "navigate", Args{URL: "view-source:https://example.com"}, nil, "non-http-navigation", Deny},
		{"keepalive of a file", "keepalive_set", Args{URL: "file:///x"}, nil, "non-http-navigation", Deny},
		{"off scope", "navigate", Args{URL: "https://evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"subdomain", "navigate", Args{URL: "https://app.example.com/"}, nil, "", Allow},
		{"name that ends alike", "navigate", Args{URL: "https://notexample.com/"}, nil, "off-scope-navigation", Confirm},
		{"name that begins alike", "navigate", Args{URL: "https://example.com.evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"userinfo", "navigate", Args{URL: "http://example.com@evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"backslash before at", "navigate", Args{URL: `https://evil.test\@example.com/`}, nil, "off-scope-navigation", Confirm},
		{"one slash", "navigate", Args{URL: "https:/evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"no slash", "navigate", Args{URL: "https:evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"other host without a scheme", "navigate", Args{URL: "//evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"the same with backslashes", "navigate", Args{URL: `\\evil.test/`}, nil, "off-scope-navigation", Confirm},
		{"the same behind a line end", "navigate", Args{URL: "/\n/evil.test/"}, nil, "off-scope-navigation", Confirm},
		{"percent in the host", "navigate", Args{URL: "https://ex%61mple.com/"}, nil, "off-scope-navigation", Confirm},
		{"relative", "navigate", Args{URL: "/path"}, nil, "", Allow},
		{"unparsable", "navigate", Args{URL: "http://"}, nil, "", Allow},
		{"512 bytes of query", "navigate", Args{URL: long(512)}, nil, "", Allow},
		{"513 bytes of query", "navigate", Args{URL: long(513)}, nil, "url-payload", Confirm},
		{"bytes, not runes", "navigate", Args{URL: "https://example.com/#" + strings.Repeat("ü", 256)}, nil, "url-payload", Confirm},
		{"query and fragment together", "navigate", Args{URL: "https://example.com/?" + strings.Repeat("a", 255) + "#" + strings.Repeat("b", 255)}, nil, "", Allow},
		{"and one more", "navigate", Args{URL: "https://example.com/?" + strings.Repeat("a", 256) + "#" + strings.Repeat("b", 255)}, nil, "url-payload", Confirm},
		{"text", "read", Args{Format: "text"}, nil, "", Allow},
		{"html", "read", Args{Format: "html"}, nil, "raw-html-read", Deny},
		{"HTML", "read", Args{Format: "HTML"}, nil, "raw-html-read", Deny},
		{"html as a switch", "read", Args{HTML: true}, nil, "raw-html-read", Deny},
		{"metadata of the network", "network", Args{}, nil, "", Allow},
		{"a body", "network", Args{Body: true}, nil, "network-body-read", Deny},
		{"submit form", "page.submitForm", Args{}, nil, "form-submission", Confirm},
		{"type", "type", Args{}, nil, "", Allow},
		{"type and submit", "type", Args{Submit: true}, nil, "form-submission", Confirm},
		{"fill and Enter", "page.fillInput", Args{Enter: true}, nil, "form-submission", Confirm},
		{"type, no Enter", "page.typeText", Args{Enter: false}, nil, "", Allow},
		{"Enter", "press", Args{Key: "Enter"}, nil, "form-submission", Confirm},
		{"enter", "press", Args{Key: "enter"}, nil, "form-submission", Confirm},
		{"chord", "press", Args{Key: "Control+Enter"}, nil, "form-submission", Confirm},
		{"Enter in a text area", "press", Args{Key: "Enter"}, func(r *Request) { r.Multiline = true }, "", Allow},
		{"Escape", "press", Args{Key: "Escape"}, nil, "", Allow},
		{"form with a submitting field", "fill_form", Args{Fields: []Field{{}, {Submit: true}}}, nil, "form-submission", Confirm},
		{"upload", "upload", Args{}, nil, "file-upload", Confirm},
		{"click a challenge", "click", Args{}, func(r *Request) { r.HumanCheck = true }, "captcha-solve", Confirm},
		{"look at a challenge", "screenshot", Args{}, func(r *Request) { r.HumanCheck = true }, "", Allow},
		{"sealed secret, same site", "type", Args{}, func(r *Request) { r.Secrets = []string{"example.com"} }, "secret-release", Confirm},
		{"sealed secret, subdomain", "type", Args{}, func(r *Request) { r.Secrets, r.PageHost = []string{"example.com"}, "app.example.com" }, "secret-release", Confirm},
		{"sealed secret, another site", "type", Args{}, func(r *Request) { r.Secrets = []string{"mail.test"} }, "secret-off-scope secret-release", Confirm},
		{"sealed secret, page unknown", "type", Args{}, func(r *Request) { r.Secrets, r.PageHost = []string{"example.com"}, "" }, "secret-off-scope secret-release", Confirm},
		{"own secret", "type", Args{SecretID: "s1"}, nil, "own-secret", Confirm},
		{"own secret in a form", "fill_form", Args{Fields: []Field{{SecretID: "s1"}}}, nil, "own-secret", Confirm},
		{"act after being sent off", "click", Args{}, func(r *Request) { r.PageHost = "evil.test" }, "off-scope-write", Confirm},
		{"look after being sent off", "read", Args{}, func(r *Request) { r.PageHost = "evil.test" }, "", Allow},
		{"go back after being sent off", "navigate", Args{URL: "https://example.com/"}, func(r *Request) { r.PageHost = "evil.test" }, "", Allow},
		{"join", "meeting_join", Args{URL: "https://meet.test/x"}, nil, "joins-meeting records-meeting", Allow},
		{"join, do not record", "meeting_join", Args{Record: &no}, nil, "joins-meeting", Allow},
		{"join without the grant", "meeting_join", Args{}, func(r *Request) { r.CanMeet = false }, "meeting-without-grant", Deny},
		{"speak without the grant", "meeting_speak", Args{}, func(r *Request) { r.CanMeet = false }, "meeting-without-grant", Deny},
		{"unannounced with the grant", "meeting_join", Args{Announce: "none"}, nil, "joins-meeting records-meeting", Allow},
		{"unannounced", "meeting_join", Args{Announce: "none"}, func(r *Request) { r.CanHide = false }, "records-without-announcement", Deny},
		{"record though the announcement failed", "meeting_join", Args{Failure: "record"}, func(r *Request) { r.CanHide = false }, "records-without-announcement", Deny},
		{"unannounced, not recording", "meeting_join", Args{Announce: "none", Record: &no}, func(r *Request) { r.CanHide = false }, "joins-meeting", Allow},
		{"signed-in join", "meeting_join", Args{Profile: "google", Record: &no}, nil, "opens-persistent-profile", Confirm},
		{"signed-in session", "session_open", Args{Profile: "shop"}, nil, "opens-persistent-profile", Confirm},
		{"session", "session_open", Args{}, nil, "", Allow},
		{"speak", "meeting_speak", Args{}, nil, "speaks-in-meeting", Allow},
		{"chat", "meeting_chat_send", Args{}, nil, "sends-meeting-chat", Allow},
		{"recording", "recording_get", Args{}, nil, "reads-recording", Allow},
		{"delete", "meeting_recording_delete", Args{}, nil, "deletes-recording", Confirm},
		{"download", "download_get", Args{}, nil, "uses-download", Allow},
		{"bring a file", "upload_create", Args{}, nil, "creates-upload", Allow},
		{"keepalive", "keepalive_set", Args{URL: "https://example.com/"}, nil, "changes-settings", Confirm},
		{"mute", "meeting_mute", Args{On: &yes}, nil, "", Allow},
		{"opening the microphone is no safety act", "meeting_mute", Args{On: &no}, func(r *Request) { r.CanMeet = false }, "meeting-without-grant", Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := on(t, c.action, c.args)
			if c.edit != nil {
				c.edit(r)
			}
			d := mustNew(t, Guarded, Config{}).Decide(r)
			if got := strings.Join(d.Rules, " "); got != c.want || d.Effect != c.effect {
				t.Errorf("decided %s by %q, want %s by %q", d.Effect, got, c.effect, c.want)
			}
			if d.Effect != Allow && (d.Title == "" || d.Reason == "") {
				t.Error("no words for the person or the agent")
			}
		})
	}
}

func TestAUrlThatNobodyCanOpenIsLeftToTheHandler(t *testing.T) {
	if u := parseAddress("http://"); !u.bad {
		t.Error("http:// has no host and is not called bad")
	}
}

func TestMovingBetweenTabs(t *testing.T) {
	p := mustNew(t, Guarded, Config{})
	for _, c := range []struct {
		name string
		args Args
		want Effect
	}{
		{"listing is no move", Args{}, Allow},
		{"the pinned tab", Args{Tab: "1"}, Allow},
		{"a tab the run opened", Args{Tab: "2"}, Allow},
		{"another tab", Args{Tab: "3"}, Confirm},
		{"by what it shows", Args{Match: "Inbox"}, Confirm},
	} {
		r := on(t, "tabs", c.args)
		r.Tabs = Tabs{Pinned: "1", Owned: []string{"2"}}
		if d := p.Decide(r); d.Effect != c.want {
			t.Errorf("%s: %s", c.name, d.Effect)
		}
	}
	if d := p.Decide(on(t, "tabs", Args{Tab: "3"})); d.Effect != Allow {
		t.Error("a run that is not pinned is held to tabs")
	}
}

func TestSafetyActsWaitForNoRule(t *testing.T) {
	c := Config{Guardrails: Guardrails{Rules: map[string]Effect{}}}
	for _, r := range mustNew(t, Guarded, Config{}).Rules() {
		if !r.Locked {
			c.Guardrails.Rules[r.ID] = Deny
		}
	}
	p := mustNew(t, Guarded, c)
	for _, name := range []string{"meeting_stop_recording", "meeting_mute", "meeting_leave", "meeting_stop_speaking"} {
		r := &Request{Action: name, PageHost: "evil.test", HumanCheck: true, Secrets: []string{"x.test"}}
		if d := p.Decide(r); d.Effect != Allow {
			t.Errorf("%s is held up by %v", name, d.Rules)
		}
	}
	if d := p.Decide(&Request{Action: "meeting_speak"}); d.Effect != Deny {
		t.Error("with every rule at deny, speaking is allowed: the table was not applied")
	}
}

func TestStandardLetsAnAgentDoItsOwnThings(t *testing.T) {
	p := mustNew(t, Standard, Config{})
	for _, c := range []struct {
		action string
		args   Args
		edit   func(*Request)
		want   Effect
	}{
		{"type", Args{Submit: true}, nil, Allow},
		{"type", Args{SecretID: "s"}, nil, Allow},
		{"upload", Args{}, nil, Allow},
		{"session_open", Args{Profile: "shop"}, nil, Allow},
		{"meeting_join", Args{Profile: "google"}, nil, Allow},
		{"macro_save", Args{}, nil, Allow},
		{"navigate", Args{URL: "https://elsewhere.test/?" + strings.Repeat("x", 2000)}, func(r *Request) { r.Scope = Anywhere }, Allow},
		{"navigate", Args{URL: "file:///x"}, nil, Deny},
		{"read", Args{Format: "html"}, nil, Deny},
		{"network", Args{Body: true}, nil, Deny},
		{"meeting_join", Args{Announce: "none"}, func(r *Request) { r.CanHide = false }, Deny},
		{"click", Args{}, func(r *Request) { r.HumanCheck = true }, Confirm},
		{"type", Args{}, func(r *Request) { r.Secrets = []string{"example.com"} }, Confirm},
		{"type", Args{}, func(r *Request) { r.Secrets = []string{"other.test"} }, Confirm},
	} {
		r := on(t, c.action, c.args)
		if c.edit != nil {
			c.edit(r)
		}
		if d := p.Decide(r); d.Effect != c.want {
			t.Errorf("%s %+v: %s by %v, want %s", c.action, c.args, d.Effect, d.Rules, c.want)
		}
	}
}

func TestEveryConfirmIsADenialWhereNobodyCanBeAsked(t *testing.T) {
	for _, waive := range []bool{false, true} {
		c := Config{}
		if waive {
			c.Guardrails.Unattended = "allow"
		}
		p := mustNew(t, Guarded, c)
		confirms := 0
		for _, rule := range p.Rules() {
			d := p.judge(rule.bit, Unattended)
			switch {
			case rule.Effect == Deny && d.Effect != Deny:
				t.Errorf("%s is waived", rule.ID)
			case rule.Effect == Confirm:
				confirms++
				if waive && (d.Effect != Allow || !slices.Equal(d.Waived, []string{rule.ID})) {
					t.Errorf("%s: %s, waived %v", rule.ID, d.Effect, d.Waived)
				}
				if !waive && (d.Effect != Deny || !d.NobodyToAsk || !strings.HasPrefix(d.Refusal(Blocked), "BLOCKED: ")) {
					t.Errorf("%s: %s", rule.ID, d.Effect)
				}
				if a := p.judge(rule.bit, Attended); a.Effect != Confirm {
					t.Errorf("%s attended: %s", rule.ID, a.Effect)
				}
			}
		}
		if confirms < 10 {
			t.Fatalf("only %d confirm rules", confirms)
		}
	}
}

func TestAnUnknownUnattendedValueDenies(t *testing.T) {
	for _, v := range []string{"yes", "Allow", " allow", "true"} {
		p, warn, err := New(Source{Table: Guarded, Unattended: v}, Config{Guardrails: Guardrails{Unattended: "allow"}})
		if err != nil || p.Unattended() != Deny || len(warn) != 1 {
			t.Errorf("%q: %v %v %v", v, p.Unattended(), warn, err)
		}
	}
	p, _, _ := New(Source{Table: Guarded, Unattended: "allow"}, Config{})
	if p.Unattended() != Allow {
		t.Error("allow does not allow")
	}
}

func TestTheMostSevereRuleWinsInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	base := mustNew(t, Guarded, Config{})
	for range 2000 {
		fired := set(rng.Uint64()) & set(rng.Uint64()) & (1<<len(vocabulary) - 1)
		want := base.judge(fired, Attended)
		shuffled := *base
		shuffled.rules = slices.Clone(base.rules)
		rng.Shuffle(len(shuffled.rules), func(i, j int) {
			shuffled.rules[i], shuffled.rules[j] = shuffled.rules[j], shuffled.rules[i]
		})
		again, err := ParsePrinted(must(json.Marshal(shuffled.Print())))
		if err != nil {
			t.Fatal(err)
		}
		got := again.judge(fired, Attended)
		if got.Effect != want.Effect || !slices.Equal(got.Rules, want.Rules) || got.Reason != want.Reason {
			t.Fatalf("order matters: %+v and %+v", got, want)
		}
		worst := Allow
		for _, r := range base.rules {
			if fired&r.bit != 0 {
				worst = max(worst, r.Effect)
			}
		}
		if want.Effect != worst {
			t.Fatalf("decided %s, the most severe is %s", want.Effect, worst)
		}
		if !slices.IsSorted(want.Rules) {
			t.Fatalf("decisive rules out of order: %v", want.Rules)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTwoDenialsAreBothNamed(t *testing.T) {
	r := on(t, "meeting_join", Args{URL: "file:///x"})
	r.CanMeet = false
	d := mustNew(t, Guarded, Config{}).Decide(r)
	if !slices.Equal(d.Rules, []string{"meeting-without-grant", "non-http-navigation"}) {
		t.Errorf("decisive %v", d.Rules)
	}
}

func TestAWaivedRuleIsNamed(t *testing.T) {
	p := mustNew(t, Guarded, Config{Guardrails: Guardrails{Rules: map[string]Effect{"form-submission": Allow}}})
	d := p.Decide(on(t, "type", Args{Submit: true}))
	if d.Effect != Allow || !slices.Equal(d.Waived, []string{"form-submission"}) {
		t.Errorf("%+v", d)
	}
	if d := p.Decide(on(t, "meeting_speak", Args{})); len(d.Waived) != 0 {
		t.Errorf("a rule that never gated is called waived: %v", d.Waived)
	}
}

func TestTheWordsOfARefusal(t *testing.T) {
	d := Decision{Title: "Submits a form", Reason: "sending a form commits to something"}
	if got := d.Refusal(Blocked); got != "BLOCKED: sending a form commits to something." {
		t.Error(got)
	}
	got := d.Refusal(Declined)
	for _, part := range []string{"DECLINED", "Do not try it again", "another way to the same effect"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}

func TestARuleThatSaysSomethingElseIsRefused(t *testing.T) {
	good := `{"id":"a","when":"submitsForm","effect":"deny","title":"T","reason":"r"}`
	var r Rule
	if err := json.Unmarshal([]byte(good), &r); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		strings.Replace(good, "submitsForm", "host == 'x'", 1),
		strings.Replace(good, "deny", "block", 1),
		strings.Replace(good, `"title":"T"`, `"title":"T","script":"x"`, 1),
		strings.Replace(good, `"reason":"r"`, `"reason":""`, 1),
		strings.Replace(good, `"id":"a",`, ``, 1),
	} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("accepted %s", bad)
		} else if strings.Contains(bad, `"id"`) && !strings.Contains(err.Error(), "a") {
			t.Errorf("%v does not name the rule", err)
		}
	}
}

func TestTheShippedTables(t *testing.T) {
	for _, table := range []string{Guarded, Standard} {
		got := mustNew(t, table, Config{}).Print().String()
		file := filepath.Join("testdata", table+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got != string(want) {
			t.Errorf("%s (UPDATE=1 rewrites it): %v\n%s", file, err, got)
		}
	}
	for id := range standard {
		if mustNew(t, Guarded, Config{}).index(id) < 0 {
			t.Errorf("standard.json names %s, which is no rule", id)
		}
	}
	// Every condition has a rule, or it could never matter.
	for _, c := range vocabulary {
		if !slices.ContainsFunc(shipped, func(r Rule) bool { return r.When == c }) {
			t.Errorf("no rule for %s", c)
		}
	}
	if changesSettings != 1<<(len(vocabulary)-1) {
		t.Error("the bits and the vocabulary have come apart")
	}
}

func TestAPrintedPolicyReadsBack(t *testing.T) {
	p := mustNew(t, Standard, Config{RequireApproval: []string{"click"}, Guardrails: Guardrails{Hosts: []string{"example.com"}, URLPayloadBytes: float64(9)}})
	text := must(json.Marshal(p.Print()))
	q, err := ParsePrinted(text)
	if err != nil {
		t.Fatal(err)
	}
	if again := must(json.Marshal(q.Print())); string(again) != string(text) {
		t.Errorf("%s\n%s", text, again)
	}
	if d := Diff(p, q); len(d) != 0 {
		t.Errorf("differs from itself: %v", d)
	}
	diff := fmt.Sprint(Diff(mustNew(t, Guarded, Config{}), mustNew(t, Guarded, Config{Guardrails: Guardrails{Rules: map[string]Effect{"file-upload": Deny}}})))
	if diff != "[file-upload: confirm when uploadsFile -> deny when uploadsFile]" {
		t.Error(diff)
	}
	if _, err := ParsePrinted([]byte(strings.Replace(string(text), "submitsForm", "x>1", 1))); err == nil {
		t.Error("a printed policy with an expression reads")
	}
}

func TestExplainNamesTheConditions(t *testing.T) {
	e := mustNew(t, Guarded, Config{}).Explain(&Request{Action: "navigate", Args: Args{URL: "https://evil.test/"}})
	if e.Effect != Deny || !slices.Equal(e.Conditions, []Condition{"offScopeNavigation"}) || e.Caller != "unattended" || !e.Known {
		t.Errorf("%+v", e)
	}
}

func TestTheOlderListOwnsFormSubmission(t *testing.T) {
	override := map[string]Effect{"form-submission": Deny}
	for _, c := range []struct {
		name     string
		approval []string
		rules    map[string]Effect
		effect   Effect
		fallback Effect
	}{
		{"no key", nil, nil, Confirm, Confirm},
		{"empty key", []string{}, nil, Allow, Allow},
		{"key with submit", []string{"page.submitForm"}, nil, Confirm, Confirm},
		{"empty key, override", []string{}, override, Deny, Allow},
		{"key with submit, override", []string{"page.submitForm"}, override, Deny, Confirm},
	} {
		p := mustNew(t, Guarded, Config{RequireApproval: c.approval, Guardrails: Guardrails{Rules: c.rules}})
		d := p.Decide(on(t, "page.submitForm", Args{}))
		if d.Effect != c.effect || !slices.Equal(d.Matched, []string{"form-submission"}) {
			t.Errorf("%s: %s, matched %v", c.name, d.Effect, d.Matched)
		}
		for _, row := range p.Settings() {
			if row.ID == "form-submission" && (row.Fallback != c.fallback || row.Effect != c.effect) {
				t.Errorf("%s: row %+v", c.name, row)
			}
		}
	}
	p := mustNew(t, Guarded, Config{RequireApproval: []string{"click"}})
	if d := p.Decide(on(t, "click", Args{})); !slices.Equal(d.Rules, []string{"config-require-approval"}) || d.Effect != Confirm {
		t.Errorf("%+v", d)
	}
	var c Config
	if err := json.Unmarshal([]byte(`{"requireApproval":[]}`), &c); err != nil || c.RequireApproval == nil {
		t.Error("an empty key reads as none", err)
	}
}

func TestEveryRuleHasARow(t *testing.T) {
	p := mustNew(t, Guarded, Config{Guardrails: Guardrails{Rules: map[string]Effect{"file-upload": Allow}}})
	rows := p.Settings()
	if len(rows) != len(shipped) {
		t.Fatalf("%d rows for %d rules", len(rows), len(shipped))
	}
	for i, r := range rows {
		if r.ID != shipped[i].ID || r.Title != shipped[i].Title || r.Reason != shipped[i].Reason || r.When != shipped[i].When {
			t.Errorf("row %+v is not rule %+v", r, shipped[i])
		}
		if (r.Override != nil) != (r.ID == "file-upload") {
			t.Errorf("override of %s: %v", r.ID, r.Override)
		}
	}
}

func TestOneGateForEveryWrite(t *testing.T) {
	p := mustNew(t, Guarded, Config{})
	before := Config{Guardrails: Guardrails{Rules: map[string]Effect{"file-upload": Deny}}}
	for _, bad := range []Change{
		{"no-such-rule", "allow"}, {"reserved-action", "allow"}, {"non-http-navigation", ""}, {"file-upload", "maybe"}, {"file-upload", `{"effect":"allow"}`},
	} {
		if _, err := p.Write(&Writer{}, before, bad); err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
	if !reflect.DeepEqual(before.Guardrails.Rules, map[string]Effect{"file-upload": Deny}) {
		t.Error("a refused write changed the configuration")
	}
	set, err := p.Write(&Writer{}, before, Change{"file-upload", "confirm"})
	if err != nil || set.Guardrails.Rules["file-upload"] != Confirm || before.Guardrails.Rules["file-upload"] != Deny {
		t.Fatal(err, set, before)
	}
	cleared, err := p.Write(&Writer{}, set, Change{"file-upload", ""})
	if err != nil || strings.Contains(string(must(json.Marshal(cleared))), "file-upload") {
		t.Error("a cleared override leaves its key", err)
	}
}

func TestARunCannotLoosenItsOwnRules(t *testing.T) {
	p := mustNew(t, Guarded, Config{})
	var w Writer
	w.Saw("")
	if _, err := p.Write(&w, Config{}, Change{"file-upload", "allow"}); err != nil {
		t.Fatal(err)
	}
	w.Saw("run-7")
	w.Saw("") // it drops the id and tries again
	if _, err := p.Write(&w, Config{}, Change{"file-upload", "allow"}); err == nil || !strings.HasPrefix(err.Error(), "BLOCKED") {
		t.Error(err)
	}
	if _, err := p.Write(nil, Config{}, Change{"file-upload", "allow"}); err == nil {
		t.Error("a write without a connection")
	}
}

func TestABadConfigurationIsNamed(t *testing.T) {
	for _, c := range []struct{ text, names string }{
		{`{"guardrails":{"rules":{"no-such-rule":"deny"}}}`, "no-such-rule"},
		{`{"guardrails":{"rules":{"file-upload":"sometimes"}}}`, "sometimes"},
		{`{"guardrails":{"rules":{"reserved-action":"allow"}}}`, "reserved-action"},
		{`{"guardrails":{"rules":{"records-without-announcement":"allow"},"lock":["records-without-announcement"]}}`, "records-without-announcement"},
		{`{"guardrails":{"lock":["nonsense"]}}`, "nonsense"},
		{`{"guardrails":{"hosts":["co.uk"]}}`, "co.uk"},
		{`{"guardrails":{"hosts":["github.io"]}}`, "github.io"},
		{`{"guardrails":{"hosts":["https://example.com/"]}}`, "https://example.com/"},
		{`{"guardrails":{"fence":false}}`, "fence"},
		{`{"guardrails":{"blankScope":"nowhere"}}`, "blankScope"},
		{`{"requireApproval":["page.dance"]}`, "page.dance"},
		{`{"guardrail":{}}`, "guardrail"},
		{`{} {}`, "follows"},
	} {
		conf, err := ParseConfig([]byte(c.text))
		if err == nil {
			_, _, err = New(Source{Table: Guarded}, conf)
		}
		if err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	if _, _, err := New(Source{Table: "lax"}, Config{}); err == nil {
		t.Error("a table of another name")
	}
	off := false
	if p, _, err := New(Source{Table: Guarded, Admin: true}, Config{Guardrails: Guardrails{Fence: &off}}); err != nil || p.Fence() {
		t.Error("an administering tenant cannot switch the fence off", err)
	}
	if !mustNew(t, Guarded, Config{}).Fence() {
		t.Error("the fence is off by default")
	}
	for _, v := range []any{float64(-1), "many", 1.5} {
		p, warn, err := New(Source{Table: Guarded}, Config{Guardrails: Guardrails{URLPayloadBytes: v}})
		if err != nil || p.payload != DefaultPayload || len(warn) != 1 {
			t.Errorf("%v: %d %v %v", v, p.payload, warn, err)
		}
	}
	if p, _, err := New(Source{Table: Guarded}, Config{Guardrails: Guardrails{URLPayloadBytes: float64(0)}}); err != nil || p.payload != 0 {
		t.Error("0 is a limit")
	}
}

func TestArgumentsOfTools(t *testing.T) {
	a, err := ArgsOf(json.RawMessage(`{"url":"https://x.test","tab":3,"fields":{"a":1},"record":false,"other":[1]}`))
	if err != nil || a.URL != "https://x.test" || a.Tab != "3" || a.Record == nil || *a.Record {
		t.Errorf("%+v %v", a, err)
	}
	a, err = ArgsOf(struct {
		Submit bool   `json:"submit"`
		Secret string `json:"secret_id"`
	}{true, "s1"})
	if err != nil || !a.Submit || a.SecretID != "s1" {
		t.Errorf("%+v %v", a, err)
	}
	for _, bad := range []string{`{"submit":"true"}`, `[]`, `{"url":7}`, `null x`} {
		if _, err := ArgsOf(json.RawMessage(bad)); err == nil {
			t.Errorf("%s reads", bad)
		}
	}
}

func TestActionsAreClassified(t *testing.T) {
	if err := CheckActions([]string{"read", "meeting_join"}); err != nil {
		t.Error(err)
	}
	if err := CheckActions([]string{"read", "zap", "aim"}); err == nil || !strings.Contains(err.Error(), "aim, zap") {
		t.Error(err)
	}
}

// TestDecideReachesNothing keeps Decide pure: nothing in the package can look at a clock, a disk or a network.
func TestDecideReachesNothing(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		seen++
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range tree.Imports {
			switch strings.Trim(i.Path.Value, `"`) {
			case "os", "net", "net/http", "time", "math/rand", "math/rand/v2", "crypto/rand", "sync", "context", "log/slog", "os/exec", "syscall":
				t.Errorf("%s imports %s", f, i.Path.Value)
			}
		}
	}
	if seen < 8 {
		t.Fatalf("looked at %d files", seen)
	}
}

func randomRequest(rng *rand.Rand) *Request {
	names := []string{"internal.x", "zap"}
	for n := range actions {
		names = append(names, n)
	}
	slices.Sort(names)
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	flip := func() bool { return rng.IntN(2) == 0 }
	rec := flip()
	return &Request{
		Action: pick(names...), Caller: Caller(rng.IntN(2)), PageHost: pick("", "example.com", "evil.test"), HumanCheck: flip(), Multiline: flip(),
		Args: Args{URL: pick("", "/x", "https://example.com/?a=b", "https://evil.test/", "javascript:1"), Format: pick("", "html"), Body: flip(), Key: pick("", "Enter"),
			Submit: flip(), Tab: pick("", "1", "2"), SecretID: pick("", "s"), Profile: pick("", "p"), Announce: pick("", "none"), Record: &rec},
		Scope: Scope{hosts: []string{"example.com"}}, Tabs: Tabs{Pinned: "1"}, CanMeet: flip(), CanHide: flip(),
		Secrets: [][]string{nil, {"example.com"}, {"mail.test"}}[rng.IntN(3)],
	}
}

func TestEqualRequestsGetEqualDecisions(t *testing.T) {
	p := mustNew(t, Guarded, Config{})
	run := func() []Decision {
		rng := rand.New(rand.NewPCG(7, 7))
		out := make([]Decision, 10_000)
		for i := range out {
			out[i] = p.Decide(randomRequest(rng))
		}
		return out
	}
	other := make(chan []Decision)
	go func() { other <- run() }()
	if a, b := run(), <-other; !reflect.DeepEqual(a, b) {
		t.Error("two goroutines, two answers")
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("navigate", `{"url":"https://example.com"}`, "example.com", true)
	f.Add("internal.x", `{"submit":true}`, "", false)
	f.Fuzz(func(t *testing.T, action, args, host string, attended bool) {
		a, err := ArgsOf(json.RawMessage(args))
		if err != nil {
			return
		}
		p, _, err := New(Source{Table: Guarded}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &Request{Action: action, Args: a, PageHost: host, Scope: Scope{hosts: []string{"example.com"}}, CanMeet: true}
		if attended {
			r.Caller = Attended
		}
		d := p.Decide(r)
		if !Known(action) && d.Effect != Deny {
			t.Fatalf("%q is %s", action, d.Effect)
		}
		if r.Caller == Unattended && d.Effect == Confirm {
			t.Fatal("a confirmation nobody can give")
		}
		if a := parseAddress(a.URL); action == "navigate" && d.Effect == Allow && !a.relative && !a.bad && !r.Scope.Covers(a.host) {
			t.Fatalf("left the scope: %q", a.host)
		}
		if !reflect.DeepEqual(d, p.Decide(r)) {
			t.Fatal("the second answer is another")
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p := mustNew(b, Guarded, Config{})
	for _, c := range []struct {
		name string
		r    *Request
	}{
		{"allowed", on(b, "click", Args{})},
		{"navigate", on(b, "navigate", Args{URL: "https://app.example.com/path?q=1"})},
		{"three-rules", func() *Request {
			r := on(b, "type", Args{Submit: true})
			r.Secrets = []string{"mail.test"}
			return r
		}()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(c.r)
			}
		})
	}
}
