package endpoint_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/control/action"
	"parley/control/publish"
	"parley/control/tabs"
	"parley/control/vault"
	"parley/control/wire"
	"parley/store"
)

const (
	loginPage = "https://login.example/start"
	loginForm = "https://login.example/session"
	secret    = "Tr0ub4dor & 3"
)

func approved(change ...func(*publish.Policy)) publish.Policy {
	return open(append([]func(*publish.Policy){func(p *publish.Policy) {
		p.Passwords = publish.Passwords{Enabled: true, Autofill: true, Submission: true, Forms: []publish.Form{{Action: loginForm, User: "user", Pass: "pass"}}}
	}}, change...)...)
}

// logins is a rig with an open vault, one login, and its page in front.
func logins(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t)
	if err := r.desk.Vault.Init(t.Context(), "correct horse"); err != nil {
		t.Fatal(err)
	}
	if err := r.desk.Vault.Add(t.Context(), store.Credential{ID: "c1", Origin: "https://login.example", Action: loginForm, UserField: "user", PassField: "pass"}, vault.Login{User: "ada", Pass: secret}); err != nil {
		t.Fatal(err)
	}
	r.publish(approved())
	r.browser.Answers = acting()
	r.browser.Answers[tabs.Forms] = map[string]any{loginPage: m{"forms": []int{0}}, "": m{"forms": []int{}}}
	r.browser.Answers[tabs.Fill] = does
	return r, r.browser.Open(loginPage, "Login")
}

func (r *rig) ref() string {
	r.t.Helper()
	l := got[action.Logins](r, "vault:list", nil)
	if len(l.Credentials) != 1 {
		r.t.Fatalf("%+v", l)
	}
	return l.Credentials[0].Ref
}

// submission is what the browser would see of the form being sent.
func submission(r *rig, id string) tabs.Request {
	return tabs.Request{Tab: id, Document: document(r, id), Main: true, Kind: tabs.Navigation, Method: "POST", URL: loginForm, Origin: "https://login.example",
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, Body: []byte(url.Values{"user": {"ada"}, "pass": {secret}}.Encode()), BodyWhole: true}
}

func TestReferencesAreForOneUseInTheirTab(t *testing.T) {
	r, id := logins(t)
	l := got[action.Logins](r, "vault:list", nil)
	if !slices.Equal(l.Origins, []string{"https://login.example"}) || l.Credentials[0].Origin != "https://login.example" {
		t.Errorf("%+v", l)
	}
	first := l.Credentials[0].Ref
	second := r.ref()
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": first}) // of an older list
	r.no("", "vault:fill", m{"sessionId": id, "credentialRef": second})
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": second}) // used
	third := r.ref()
	other := r.browser.Open(loginPage, "Login")
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": other, "credentialRef": third}) // another tab
	r.browser.Front(id)
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": third}) // and so used up
	fourth := r.ref()
	r.browser.Again(id)
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": fourth}) // another document
	fifth := r.ref()
	r.browser.Open("about:blank", "")
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": fifth}) // not in front
	r.browser.Enter(id, "https://login.example/other")
	r.browser.Front(id)
	if l := got[action.Logins](r, "vault:list", nil); len(l.Credentials) != 0 {
		t.Errorf("no form is there: %+v", l)
	}
}

// TestTheVaultIsAPersons: it must be permitted, and open, and no action opens it.
func TestTheVaultIsAPersons(t *testing.T) {
	r, id := logins(t)
	if s := got[action.VaultState](r, "vault:status", nil); s != (action.VaultState{Exists: true, Enabled: true, Autofill: true}) {
		t.Errorf("%+v", s)
	}
	ref := r.ref()
	r.desk.Vault.Lock()
	r.no(wire.CodeDenied, "vault:fill", m{"sessionId": id, "credentialRef": ref})
	r.no(wire.CodeDenied, "vault:list", nil)
	if s := got[action.VaultState](r, "vault:status", nil); !s.Locked {
		t.Errorf("%+v", s)
	}
	if err := r.desk.Vault.Unlock(t.Context(), "correct horse"); err != nil {
		t.Fatal(err)
	}
	r.publish(approved(func(p *publish.Policy) { p.Passwords.Enabled = false }))
	r.no(wire.CodeDenied, "vault:list", nil)
	r.publish(approved(func(p *publish.Policy) { p.Passwords.Submission = false }))
	r.no(wire.CodeDenied, "vault:prepare-submit", m{"sessionId": id, "credentialRef": r.ref()})
	r.no("", "vault:fill", m{"sessionId": id, "credentialRef": r.ref()})
	r.publish(approved(func(p *publish.Policy) { p.Passwords.Forms = nil }))
	if l := got[action.Logins](r, "vault:list", nil); len(l.Credentials)+len(l.Origins) != 0 {
		t.Errorf("%+v", l)
	}
	// A form of another origin than the page's is not filled, whatever the script says.
	r.publish(approved())
	r.browser.Answers[tabs.Forms][""] = m{"forms": []int{0, 7, -1}}
	r.browser.Enter(id, "https://phish.example/")
	if l := got[action.Logins](r, "vault:list", nil); len(l.Credentials) != 0 {
		t.Errorf("%+v", l)
	}
}

// TestApprovedFormsAreExact.
func TestApprovedFormsAreExact(t *testing.T) {
	for _, f := range []publish.Form{{Action: "https://a.example/login", User: "u", Pass: "p"}, {Action: "https://a.example:8443/login?x=1", User: "u", Pass: "p"}, {Action: "https://a.example/", User: "u", Pass: "p"}} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []publish.Form{
		{Action: "http://a.example/login", User: "u", Pass: "p"}, {Action: "https://a.example", User: "u", Pass: "p"}, {Action: "https://a.example:443/login", User: "u", Pass: "p"},
		{Action: "https://A.example/login", User: "u", Pass: "p"}, {Action: "https://a.example./login", User: "u", Pass: "p"}, {Action: "https://a.example/x/../login", User: "u", Pass: "p"},
		{Action: "https://a.example//login", User: "u", Pass: "p"}, {Action: "https://u:p@a.example/login", User: "u", Pass: "p"}, {Action: "https://a.example/login#x", User: "u", Pass: "p"},
		{Action: "https://a.example/login#", User: "u", Pass: "p"}, {Action: "/login", User: "u", Pass: "p"}, {Action: "https://a.example/login", User: "u", Pass: "u"},
		{Action: "https://a.example/login", User: "", Pass: "p"}, {Action: "https://a.example/lo gin", User: "u", Pass: "p"},
	} {
		if err := f.Check(); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

// TestFillFills: the values go to the form alone, nothing is sent, and nothing is told.
func TestFillFills(t *testing.T) {
	for _, name := range []string{"vault:fill", "vault:prepare-submit"} {
		r, id := logins(t)
		var filled map[string]string
		r.browser.Answers[tabs.Fill] = map[string]any{"": func(arg json.RawMessage) any {
			if err := json.Unmarshal(arg, &filled); err != nil {
				t.Error(err)
			}
			return m{"done": true}
		}}
		reply := r.do(name, m{"sessionId": id, "credentialRef": r.ref()})
		want := `{"completed":true}`
		if name == "vault:prepare-submit" {
			want = `{"completed":true,"prepared":true}`
		}
		if string(reply.Result) != want {
			t.Errorf("%s: %s", name, reply.Result)
		}
		if filled["userValue"] != "ada" || filled["passValue"] != secret || filled["action"] != loginForm {
			t.Errorf("%s filled in something else", name)
		}
		calls := r.browser.Calls()
		if w, f := slices.Index(calls, "Watch"), slices.Index(calls, "Run fill"); w < 0 || f < w {
			t.Errorf("%s: the password is in the page before anybody watches: %v", name, calls)
		}
		if slices.ContainsFunc(calls, func(c string) bool { return c == "Go" || c == "Run click" }) {
			t.Errorf("%s sends the form: %v", name, calls)
		}
		v := r.browser.Judge(id).Judge(submission(r, id))
		if (v == tabs.Allow) != (name == "vault:prepare-submit") {
			t.Errorf("%s: a submission afterwards: %v", name, v)
		}
		r.mu.Lock()
		raw, err := json.Marshal(r.records)
		r.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		for _, canary := range []string{secret, "ada", "login.example", "credentialRef", "correct horse"} {
			if strings.Contains(string(raw), canary) {
				t.Errorf("%s: the audit holds %q", name, canary)
			}
		}
	}
}

// TestAPreparedSubmissionIsCheckedAgain: whatever changed since the preparation, it does not go.
func TestAPreparedSubmissionIsCheckedAgain(t *testing.T) {
	for what, change := range map[string]func(r *rig, id string){
		"nothing":         func(*rig, string) {},
		"the policy":      func(r *rig, _ string) { r.publish(approved()) },
		"the vault":       func(r *rig, _ string) { r.desk.Vault.Lock() },
		"away and back":   func(r *rig, id string) { r.browser.Open("about:blank", ""); r.browser.Front(id) },
		"the document":    func(r *rig, id string) { r.browser.Again(id) },
		"covered":         func(r *rig, id string) { r.browser.Change(id, func(t *tabs.Tab) { t.Covered = true }) },
		"the tab's end":   func(r *rig, id string) { r.browser.Drop(id) },
		"the endpoint":    func(r *rig, _ string) { r.e.Revoke() },
		"the vault again": func(r *rig, _ string) { r.desk.Vault.Lock(); _ = r.desk.Vault.Unlock(r.t.Context(), "correct horse") },
		"16 s":            func(*rig, string) {},
	} {
		r, id := logins(t)
		now := time.Now
		r.desk.Now = func() time.Time { return now() }
		r.no("", "vault:prepare-submit", m{"sessionId": id, "credentialRef": r.ref()})
		q, judge := submission(r, id), r.browser.Judge(id)
		if what == "16 s" {
			now = func() time.Time { return time.Now().Add(16 * time.Second) }
		} else {
			change(r, id)
		}
		want := tabs.Refuse
		outcomes := []string{"completed/credential-prepared", "completed/credential-denied"}
		if what == "nothing" {
			want = tabs.Allow
			outcomes[1] = "completed/credential-authorized"
		}
		if v := judge.Judge(q); v != want {
			t.Errorf("%s changed: %v", what, v)
		}
		tale := r.tale("vault:prepare-submit")
		for _, o := range outcomes {
			if !slices.Contains(tale, o) {
				t.Errorf("%s: %v, want %s", what, tale, o)
			}
		}
	}
}

// TestEndsOfASubmission are told apart in the audit, each with the agent and without any content.
func TestEndsOfASubmission(t *testing.T) {
	for _, c := range []struct {
		end  func(j tabs.Judge)
		want string
	}{
		{func(j tabs.Judge) { j.Done(500) }, "completed/credential-http-completed"},
		{func(j tabs.Judge) { j.Done(0) }, "completed/credential-transaction-failed"},
		{func(j tabs.Judge) { j.Redirect(307, "POST", loginForm) }, "completed/credential-transaction-failed"},
	} {
		r, id := logins(t)
		r.no("", "vault:prepare-submit", m{"sessionId": id, "credentialRef": r.ref()})
		j := r.browser.Judge(id)
		if v := j.Judge(submission(r, id)); v != tabs.Allow {
			t.Fatalf("%v", v)
		}
		c.end(j)
		if tale := r.tale("vault:prepare-submit"); tale[len(tale)-1] != c.want {
			t.Errorf("%v, want %s", tale, c.want)
		}
	}
}

// TestNavigationEndsAPreparation: the agent goes elsewhere, and the password goes with nobody.
func TestNavigationEndsAPreparation(t *testing.T) {
	r, id := logins(t)
	r.no("", "vault:prepare-submit", m{"sessionId": id, "credentialRef": r.ref()})
	q, j := submission(r, id), r.browser.Judge(id)
	r.no("", "navigate", m{"url": "https://login.example/next"})
	if v := j.Judge(q); v == tabs.Allow {
		t.Errorf("%v", v)
	}
	if r.browser.Judge(id) != nil {
		t.Error("the watch stays when the document is gone")
	}
}
