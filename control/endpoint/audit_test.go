package endpoint_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/control/connection"
	"parley/control/dial"
	"parley/control/endpoint"
	"parley/control/grant"
	"parley/control/keys"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/tabs/fake"
	"parley/control/wire"
	"parley/guard/audit"
	"parley/tool"
)

// TestTheAuditTellsOutcomesApart, and holds nothing that was said.
func TestTheAuditTellsOutcomesApart(t *testing.T) {
	r, id := pages(t)
	const canary = "canary-7f3a19c2"
	r.browser.Answers[tabs.Read] = says(canary)
	r.no("", "read", m{"sessionId": id})
	r.browser.Answers[tabs.Read] = map[string]any{"": errors.New(canary)}
	r.no(wire.CodeFailed, "read", m{"sessionId": id}) // untyped: a failure, no denial
	r.no(wire.CodeDenied, "read", m{"sessionId": fake.UUID(99)})
	r.browser.Answers[tabs.Type] = map[string]any{"": m{"no": "sensitive"}}
	r.no(wire.CodeDenied, "type", m{"selector": "#" + canary, "text": canary})
	r.no(wire.CodeInvalid, canary, m{})
	r.browser.Answers[tabs.Read] = says(canary)
	r.no("", "ai", m{"prompt": canary})
	if want := []string{"authorized/authorized", "completed/completed", "authorized/authorized", "failed/failed", "authorized/authorized", "failed/denied"}; !slices.Equal(r.tale("read"), want) {
		t.Errorf("%v, want %v", r.tale("read"), want)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, err := json.Marshal(r.records)
	if err != nil || strings.Contains(string(raw), canary) {
		t.Errorf("the audit holds what was said: %v", err)
	}
	for _, a := range r.records {
		if a.Agent == nil {
			continue
		}
		if a.Agent.Principal != "local" || a.Agent.Generation != 1 || a.Transport != "control" || a.Tenant != "me" || len(a.Agent.Trace) != 32 {
			t.Errorf("%+v, %+v", a, a.Agent)
		}
		if a.Tool == "read" && a.Agent.Session != id && a.Agent.Session != fake.UUID(99) {
			t.Errorf("%+v", a.Agent)
		}
		if act, ok := grant.Lookup(a.Agent.Action); ok && a.Agent.Scope != string(act.Scope) {
			t.Errorf("%+v", a.Agent)
		}
	}
}

// TestNoAuditNoAction: what cannot be recorded is not done.
func TestNoAuditNoAction(t *testing.T) {
	r, id := pages(t)
	r.mu.Lock()
	r.fail = errors.New("no space left on the device")
	r.mu.Unlock()
	calls := len(r.browser.Calls())
	r.no(wire.CodeDenied, "click", m{"selector": "a"})
	r.no(wire.CodeDenied, "bookmarks:mutate", add("x", "https://a.example/", 0, 1))
	r.no(wire.CodeDenied, "tabs:close", m{"sessionId": id})
	if n := r.browser.Calls()[calls:]; len(n) != 0 {
		t.Errorf("%v", n)
	}
	if _, rev, err := r.store.Bookmarks.List(t.Context(), "me"); err != nil || rev != 0 {
		t.Errorf("revision %d, %v", rev, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reasons) == 0 || slices.ContainsFunc(r.reasons, func(x endpoint.Reason) bool { return !slices.Contains(endpoint.Reasons(), x) }) {
		t.Errorf("%v", r.reasons)
	}
}

// TestAFullDiskStopsActions, with the real log.
func TestAFullDiskStopsActions(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	r := newRig(t, func(r *rig) {
		r.opt.Audit = func(audit.Record) error { _, err := full.Write([]byte("record\n")); return err }
	})
	r.no(wire.CodeDenied, "sessions", nil)
	if len(r.browser.Calls()) != 0 {
		t.Errorf("%v", r.browser.Calls())
	}
}

// TestStrangersAreNobody: that requests were refused is recorded, whose they said they were is not.
func TestStrangersAreNobody(t *testing.T) {
	r := newRig(t)
	address, end, err := connection.Read(keys.At(r.dir), connection.Name)
	if err != nil {
		t.Fatal(err)
	}
	end.Principal.ID = "admin-forged"
	forged, err := dial.New(address, end)
	if err != nil {
		t.Fatal(err)
	}
	defer forged.Close()
	if reply, err := r.try(forged, "sessions", nil); !errors.Is(err, dial.ErrRefused) {
		t.Errorf("%+v, %v", reply, err)
	}
	r.stop(r.e) // its end tells what was not told yet
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, err := json.Marshal(r.records)
	if err != nil || strings.Contains(string(raw), "forged") {
		t.Errorf("%s", raw)
	}
	if !slices.ContainsFunc(r.records, func(a audit.Record) bool {
		return a.Code == "unauthenticated" && a.Agent == nil && a.Stage == "refused"
	}) {
		t.Errorf("%s", raw)
	}
}

// TestTheRealLog holds the agent's records in its chain, and telling one line differently is found.
func TestTheRealLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Write(audit.Record{At: time.Now(), Stage: "completed", Tool: "read", Token: "tok", Transport: "http"}); err != nil { // from before there were agents
		t.Fatal(err)
	}
	r := newRig(t, func(r *rig) { r.opt.Audit = l.Write })
	for range 3 {
		r.no("", "sessions", nil)
	}
	r.stop(r.e)
	n := 0
	report, err := audit.Verify(dir, func(e audit.Entry) error {
		ecs, err := e.ECS()
		if err != nil {
			return err
		}
		cef, err := e.CEF("1")
		if strings.Contains(string(ecs), `"principal_id":"local"`) && strings.Contains(cef, "suid=local") && strings.Contains(cef, "flexNumber1=1") {
			n++
		}
		return err
	})
	if err != nil || report.Records != 7 || n != 6 {
		t.Errorf("%+v, %d of agents, %v", report, n, err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(raw), `"outcome":"completed"`)
	lines := strings.SplitAfter(string(raw), "\n")
	for what, bad := range map[string]string{
		"a byte":        string(raw[:at]) + `"outcome":"complete-"` + string(raw[at+len(`"outcome":"completed"`):]),
		"a line gone":   strings.Join(slices.Delete(slices.Clone(lines), 2, 3), ""),
		"the last gone": strings.Join(lines[:len(lines)-2], ""),
	} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *audit.Broken
		if _, err := audit.Verify(dir, nil); !errors.As(err, &broken) || broken.Seq == 0 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAStubbornActionIsAnsweredAtItsDeadline, and what it brings later is dropped.
func TestAStubbornActionIsAnsweredAtItsDeadline(t *testing.T) {
	r := newRig(t, func(r *rig) { r.opt.Timeout = 300 * time.Millisecond })
	release, once := make(chan struct{}), false
	r.browser.Hook = func(string, string) {
		if !once {
			once = true
			<-release
		}
	}
	begin := time.Now()
	r.no(wire.CodeTimeout, "sessions", nil)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	close(release)
	r.no("", "sessions", nil)
}

// TestThePhasesOfARequest: one parent, and its children, of one trace.
func TestThePhasesOfARequest(t *testing.T) {
	spans := new(span.Recorder)
	var got []span.Span
	spans.To(func(s span.Span) { got = append(got, s) })
	spans.Switch(true)
	r := newRig(t, func(r *rig) { r.opt.Spans = spans })
	r.no("", "sessions", nil)
	parents, children := 0, map[span.Name]int{}
	for _, s := range got {
		if s.Trace != got[0].Trace {
			t.Errorf("%+v is of another trace", s)
		}
		if s.Parent == "" {
			parents++
		} else {
			children[s.Name]++
		}
	}
	for n, want := range map[span.Name]int{span.Challenge: 1, span.Decrypt: 1, span.Authorise: 1, span.Audit: 2, span.Dispatch: 1, span.Projection: 1, span.Encryption: 1} {
		if children[n] != want {
			t.Errorf("%s: %d, want %d", n, children[n], want)
		}
	}
	if parents != 1 || r.records[0].Agent.Trace != got[0].Trace {
		t.Errorf("%d parents", parents)
	}
}

// TestTheServicesOwnToolsCanBePublished, under their own names and schemas, and nothing else.
func TestTheServicesOwnToolsCanBePublished(t *testing.T) {
	type args struct {
		Word string `json:"word" arg:"required,maxlen=10"`
	}
	type result struct {
		Said string `json:"said"`
	}
	ran := 0
	echo := toolOf(func(a args) result { ran++; return result{a.Word} })
	r := newRig(t, func(r *rig) {
		s, err := tool.NewService(tool.Options{Tools: []tool.Tool{echo}})
		if err != nil {
			t.Fatal(err)
		}
		r.opt.Tools = s
	})
	r.no(wire.CodeDenied, "meeting_echo", m{"word": "hi"}) // not published
	p := open()
	p.Scopes = append(p.Scopes, "meeting_echo")
	r.publish(p)
	if reply := r.do("meeting_echo", m{"word": "hi"}); !reply.OK() || !strings.Contains(string(reply.Result), `"said":"hi"`) || ran != 1 {
		t.Errorf("%+v", reply)
	}
	r.no(wire.CodeInvalid, "meeting_echo", m{"word": strings.Repeat("x", 11)})
	r.no(wire.CodeInvalid, "meeting_other", m{})
	p.Scopes = append(p.Scopes, "meeting_other")
	if err := r.tryPublish(p); err == nil {
		t.Error("a scope that names nothing is published")
	}
	if want := []string{"refused/denied", "authorized/authorized", "completed/completed", "authorized/authorized", "failed/denied"}; !slices.Equal(r.tale("meeting_echo"), want) {
		t.Errorf("%v", r.tale("meeting_echo"))
	}
}
