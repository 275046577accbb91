package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/store"
	"parley/tenant"
	"parley/tool"
	"parley/tool/schema"
	"parley/tool/toolfake"
)

var (
	me    = tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}, Token: "t1"}, Transport: "test"}
	you   = tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "you", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}, Token: "t2"}, Transport: "test"}
	swarm = tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "swarm", Policy: tenant.Ephemeral}, Token: "t3"}, Transport: "test"}
)

const room = `{"url":"http://127.0.0.1:9000/room/a"}`

func service(t testing.TB, o tool.Options) *tool.Service {
	t.Helper()
	s, err := tool.NewService(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func call(s *tool.Service, who tool.Caller, name, args string) tool.Answer {
	return s.Invoke(context.Background(), tool.Call{Tool: name, Args: json.RawMessage(args), Caller: who})
}

func join(t testing.TB, s *tool.Service, who tool.Caller) string {
	t.Helper()
	a := call(s, who, "meeting_join", room)
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	var st tool.Status
	if err := json.Unmarshal(a.Structured, &st); err != nil {
		t.Fatal(err)
	}
	return st.Meeting
}

func code(a tool.Answer) tool.Code {
	if a.Err == nil {
		return ""
	}
	return a.Err.Code
}

func TestEveryStageComesInItsPlace(t *testing.T) {
	var stages []string
	note := func(format string, v ...any) { stages = append(stages, fmt.Sprintf(format, v...)) }
	type args struct {
		Text string `json:"text" arg:"required"`
	}
	type result struct {
		Heard string `json:"heard" arg:"untrusted"`
	}
	fail := errors.New("boom")
	probe := tool.New(tool.Spec[args, result]{
		Tool: tool.Tool{Name: "probe", Doc: "d"},
		Run: func(_ context.Context, _ tool.Caller, a args) (result, error) {
			note("handler")
			if a.Text == "fail" {
				return result{}, fail
			}
			return result{Heard: "x"}, nil
		},
	})
	effect := tool.Allow
	s := service(t, tool.Options{
		Tools: []tool.Tool{probe},
		Alive: func(tenant.Principal) error { note("authenticate"); return nil },
		Decide: func(context.Context, tool.Request) tool.Decision {
			note("decide")
			return tool.Decision{Effect: effect, Rules: []string{"r"}}
		},
		Audit: func(_ context.Context, r tool.Record) error { note("audit %s %s", r.Stage, r.Code); return nil },
		Seal:  func(_ tenant.ID, s string) string { note("seal"); return s },
		Fence: fence{note},
	})
	for _, c := range []struct {
		args   string
		effect tool.Effect
		want   string
	}{
		{`{"text":"a"}`, tool.Allow, "authenticate, decide, audit authorized , handler, seal, clean, clean, fence, audit completed "},
		{`{"text":"fail"}`, tool.Allow, "authenticate, decide, audit authorized , handler, seal, seal, audit failed internal"},
		{`{}`, tool.Allow, "authenticate, audit refused bad_argument, seal, seal"},
		{`{"text":"a"}`, tool.Deny, "authenticate, decide, audit refused denied_by_policy, seal, seal"},
		{`{"text":"a"}`, tool.Confirm, "authenticate, decide, audit refused nobody_to_ask, seal, seal"},
	} {
		stages, effect = nil, c.effect
		call(s, me, "probe", c.args)
		if got := strings.Join(stages, ", "); got != c.want {
			t.Errorf("%s, %v:\ngot  %s\nwant %s", c.args, c.effect, got, c.want)
		}
	}
}

type fence struct{ note func(string, ...any) }

func (f fence) Clean(s string) string     { f.note("clean"); return s }
func (f fence) Wrap(tag, s string) string { f.note("fence"); return "<" + s + ">" }

func TestWhatATokenMayCall(t *testing.T) {
	f := &toolfake.Meetings{}
	s := service(t, tool.Options{Tools: tool.Table(f, nil)})
	nobody := tool.Caller{}
	poor := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "poor", Policy: tenant.Full}, Token: "t4"}}
	for _, c := range []struct {
		who        tool.Caller
		name, args string
		want       tool.Code
	}{
		{nobody, "meeting_list", `{}`, tool.CodeUnauthenticated},
		{me, "meeting_list", `{}`, ""},
		{me, "no_such_tool", `{}`, tool.CodeUnknownTool},
		{poor, "meeting_list", `{}`, tool.CodeGrantMissing},
		{swarm, "meeting_join", room, tool.CodeNotAllowed},
		{swarm, "meeting_join", `{"nonsense":1}`, tool.CodeNotAllowed},
		{swarm, "meeting_recording_delete", `{}`, tool.CodeNotAllowed},
		{swarm, "recording_get", `{"meeting_id":"m1"}`, tool.CodeMeetingNotFound},
		{me, "meeting_join", `{"url":"http://127.0.0.1/room/a","announce":"none"}`, tool.CodeGrantMissing},
	} {
		if got := code(call(s, c.who, c.name, c.args)); got != c.want {
			t.Errorf("%s calls %s %s: %q, want %q", c.who.Tenant.ID, c.name, c.args, got, c.want)
		}
	}
	var names []string
	for _, tl := range s.Tools(swarm.Tenant) {
		names = append(names, tl.Name)
	}
	if !slices.Equal(names, []string{"recording_get", "speech_settings_get"}) {
		t.Errorf("an ephemeral token sees %v", names)
	}
	if l, _ := f.List(t.Context(), "swarm", tool.ListArgs{Limit: 10}); len(l.Meetings) != 0 {
		t.Error("a refused join had an effect")
	}
}

func TestAnotherTenantsMeetingNeverExisted(t *testing.T) {
	f := &toolfake.Meetings{Dir: t.TempDir()}
	s := service(t, tool.Options{Tools: tool.Table(f, nil)})
	id := join(t, s, me)
	for _, tl := range s.Tools(you.Tenant) {
		if !slices.ContainsFunc(tl.Input.Fields, func(f schema.Field) bool { return f.Name == "meeting_id" }) {
			continue
		}
		args := map[string]any{"meeting_id": id}
		for _, field := range tl.Input.Fields {
			if field.Required && field.Name != "meeting_id" {
				args[field.Name] = map[string]any{"string": "x", "boolean": true}[string(field.Type)]
			}
		}
		if tl.Name == "meeting_speak" {
			args["text"] = "hello"
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		theirs := call(s, you, tl.Name, string(raw))
		never := call(s, you, tl.Name, strings.ReplaceAll(string(raw), id, "m00000000ffff"))
		if code(theirs) != tool.CodeMeetingNotFound || strings.ReplaceAll(theirs.Text, id, "m00000000ffff") != never.Text {
			t.Errorf("%s: %q and %q", tl.Name, theirs.Text, never.Text)
		}
	}
}

func TestSafetyActsAreNeverHeldUp(t *testing.T) {
	f := &toolfake.Meetings{}
	s := service(t, tool.Options{
		Tools:  tool.Table(f, nil),
		Limits: tool.Limits{PerMinute: 1, Burst: 1, Running: 1},
	})
	id := join(t, s, me)
	if got := code(call(s, me, "meeting_list", `{}`)); got != tool.CodeRateLimited {
		t.Fatalf("the limit does not work: %q", got)
	}
	deny := service(t, tool.Options{
		Tools: tool.Table(f, nil),
		Decide: func(context.Context, tool.Request) tool.Decision {
			return tool.Decision{Effect: tool.Deny, Reason: "test"}
		},
		Audit: func(context.Context, tool.Record) error { return errors.New("disk full") },
	})
	for _, svc := range []*tool.Service{s, deny} {
		for name, args := range map[string]string{
			"meeting_mute": `{"meeting_id":"` + id + `","on":true}`, "meeting_stop_speaking": `{"meeting_id":"` + id + `"}`,
			"meeting_stop_recording": `{"meeting_id":"` + id + `"}`,
		} {
			if a := call(svc, me, name, args); a.Err != nil {
				t.Errorf("%s: %v", name, a.Err)
			}
		}
	}
	if a := call(deny, me, "meeting_leave", `{"meeting_id":"`+id+`"}`); a.Err != nil {
		t.Error(a.Err)
	}
	if got := code(call(deny, me, "meeting_join", room)); got != tool.CodeDenied {
		t.Error(got)
	}
}

func TestACallThatCannotBeAuditedIsNotMade(t *testing.T) {
	f := &toolfake.Meetings{}
	s := service(t, tool.Options{Tools: tool.Table(f, nil), Audit: func(context.Context, tool.Record) error { return errors.New("disk full") }})
	if got := code(call(s, me, "meeting_join", room)); got != tool.CodeAuditFailed {
		t.Error(got)
	}
	if l, _ := f.List(t.Context(), "me", tool.ListArgs{Limit: 10}); len(l.Meetings) != 0 {
		t.Error("it was made all the same")
	}
}

type slowArgs struct {
	tool.IdempotencyKey
}
type slowResult struct {
	N int `json:"n"`
}

// slow is a tool that ends when told to, whatever its context says.
func slow(release <-chan struct{}, started chan<- struct{}, obey bool) tool.Tool {
	n := 0
	var mu sync.Mutex
	return tool.New(tool.Spec[slowArgs, slowResult]{
		Tool: tool.Tool{Name: "slow", Doc: "d", Deadline: time.Second},
		Run: func(ctx context.Context, _ tool.Caller, _ slowArgs) (slowResult, error) {
			mu.Lock()
			n++
			got := n
			mu.Unlock()
			if started != nil {
				started <- struct{}{}
			}
			if obey {
				select {
				case <-release:
				case <-ctx.Done():
					return slowResult{}, ctx.Err()
				}
			} else {
				<-release
			}
			return slowResult{N: got}, nil
		},
	})
}

func TestACallIsAnsweredAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, false)}})
		began := time.Now()
		a := call(s, me, "slow", `{}`)
		if took := time.Since(began); code(a) != tool.CodeDeadline || took < time.Second || took > 2*time.Second {
			t.Errorf("%v after %v", a.Err, took)
		}
		if !strings.Contains(a.Text, "cut off after 1 s") {
			t.Error(a.Text)
		}
		close(release)
	})
}

func TestACancelledCallIsAnsweredSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, obey := range []bool{true, false} {
			release := make(chan struct{})
			s := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, obey)}})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			a := s.Invoke(ctx, tool.Call{Tool: "slow", Caller: me})
			if took := time.Since(began); code(a) != tool.CodeCancelled || took > 500*time.Millisecond {
				t.Errorf("obey %v: %v after %v", obey, a.Err, took)
			}
			close(release)
		}
	})
}

func TestCloseWaitsForHandlersAndRefusesMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s, err := tool.NewService(tool.Options{Tools: []tool.Tool{slow(release, nil, false)}})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan tool.Answer, 1)
		go func() { done <- call(s, me, "slow", `{}`) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); err == nil {
			t.Error("it did not wait")
		}
		if a := <-done; code(a) != tool.CodeShuttingDown {
			t.Error(a.Err)
		}
		if a := call(s, me, "slow", `{}`); code(a) != tool.CodeShuttingDown {
			t.Error(a.Err)
		}
		close(release)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAPanicEndsTheCallOnly(t *testing.T) {
	p := tool.New(tool.Spec[struct{}, slowResult]{Tool: tool.Tool{Name: "p", Doc: "d"},
		Run: func(context.Context, tool.Caller, struct{}) (slowResult, error) { panic("secret words") }})
	s := service(t, tool.Options{Tools: []tool.Tool{p}})
	for range 2 {
		if a := call(s, me, "p", ""); code(a) != tool.CodeInternal || strings.Contains(a.Text, "secret") {
			t.Error(a.Text)
		}
	}
}

func TestIdempotency(t *testing.T) {
	st, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	f := &toolfake.Meetings{}
	now := time.Now()
	s := service(t, tool.Options{Tools: tool.Table(f, nil), Idempotency: st.Idempotency, Owner: "p1", Now: func() time.Time { return now }})
	with := func(extra string) string {
		return `{"url":"http://127.0.0.1:9000/room/a","allow_duplicate":true,"idempotency_key":"k"` + extra + `}`
	}
	first := call(s, me, "meeting_join", with(""))
	again := call(s, me, "meeting_join", with(`, "wait": true`)) // the default, spelled out
	if first.Err != nil || again.Err != nil || !again.Replayed || first.Replayed || string(first.Structured) != string(again.Structured) {
		t.Errorf("%+v\n%+v", first, again)
	}
	if l, _ := f.List(t.Context(), "me", tool.ListArgs{Limit: 10}); len(l.Meetings) != 1 {
		t.Errorf("%d meetings", len(l.Meetings))
	}
	if got := code(call(s, me, "meeting_join", with(`,"name":"Other AI"`))); got != tool.CodeIdempotencyConflict {
		t.Error(got)
	}
	if a := call(s, you, "meeting_join", with("")); a.Err != nil || a.Replayed {
		t.Errorf("another tenant: %+v", a)
	}
	// A call that had no effect gives its key back.
	bad := `{"url":"nonsense","idempotency_key":"k2"}`
	if got := code(call(s, me, "meeting_join", bad)); got != tool.CodeBadLink {
		t.Error(got)
	}
	if a := call(s, me, "meeting_join", `{"url":"http://127.0.0.1:9000/room/b","idempotency_key":"k2"}`); a.Err != nil || a.Replayed {
		t.Errorf("%+v", a)
	}
	// Another process began a call under a key and ended before it was done.
	key := store.Key{Tenant: "me", Tool: "meeting_join", Key: "k3"}
	taken := `{"url":"http://127.0.0.1:9000/room/c","idempotency_key":"k3"}`
	call(s, me, "meeting_join", taken)
	if err := st.Idempotency.Finish(t.Context(), key, "p1", "", nil); err != nil {
		t.Fatal(err)
	}
	if got := code(call(s, me, "meeting_join", taken)); got != tool.CodeOutcomeErased {
		t.Error(got)
	}
	now = now.Add(store.KeyLife)
	if a := call(s, me, "meeting_join", taken); a.Err != nil || a.Replayed {
		t.Errorf("a day later: %+v", a)
	}
}

// memory is tool.Memory in a map, for bubbles of synctest.
type memory struct {
	mu   sync.Mutex
	rows map[store.Key]store.Claim
	args map[store.Key]string
}

func (m *memory) Claim(_ context.Context, k store.Key, args, owner string, now time.Time, lease time.Duration) (store.Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.rows[k]; ok {
		c.Mine, c.Same = false, m.args[k] == args
		return c, nil
	}
	if m.rows == nil {
		m.rows, m.args = map[store.Key]store.Claim{}, map[store.Key]string{}
	}
	c := store.Claim{Mine: true, Same: true, Owner: owner, Lease: now.Add(lease)}
	m.rows[k], m.args[k] = c, args
	return c, nil
}

func (m *memory) Finish(_ context.Context, k store.Key, _, _ string, result []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.rows[k]
	c.Done, c.Result = true, result
	m.rows[k] = c
	return nil
}

func (m *memory) Release(_ context.Context, k store.Key, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, k)
	return nil
}

func TestALateResultLandsUnderItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, false)}, Idempotency: &memory{}, Owner: "p1"})
		const args = `{"idempotency_key":"k"}`
		if a := call(s, me, "slow", args); code(a) != tool.CodeDeadline {
			t.Error(a.Err)
		}
		if a := call(s, me, "slow", args); code(a) != tool.CodeStillRunning || a.Err.RetryAfter == 0 {
			t.Error(a.Err)
		}
		close(release)
		synctest.Wait()
		a := call(s, me, "slow", args)
		if a.Err != nil || string(a.Structured) != `{"n":1}` || !a.Replayed {
			t.Errorf("%+v", a)
		}
	})
}

func TestACallWhoseProcessEndedIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &memory{}
		dead := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, false)}, Idempotency: m, Owner: "dead"})
		go call(dead, me, "slow", `{"idempotency_key":"k"}`)
		synctest.Wait()
		s := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, false)}, Idempotency: m, Owner: "p2"})
		if a := call(s, me, "slow", `{"idempotency_key":"k"}`); code(a) != tool.CodeStillRunning {
			t.Error(a.Err)
		}
		time.Sleep(10 * time.Minute)
		if a := call(s, me, "slow", `{"idempotency_key":"k"}`); code(a) != tool.CodeOutcomeUnknown {
			t.Error(a.Err)
		}
		close(release)
	})
}

func TestRateLimitRefills(t *testing.T) {
	now := time.Now()
	s := service(t, tool.Options{Tools: tool.Table(&toolfake.Meetings{}, nil), Now: func() time.Time { return now }, Limits: tool.Limits{PerMinute: 60, Burst: 2}})
	for i, want := range []tool.Code{"", "", tool.CodeRateLimited} {
		a := call(s, me, "meeting_list", "")
		if code(a) != want {
			t.Errorf("%d: %q", i, code(a))
		}
		if want != "" && a.Err.RetryAfter != time.Second {
			t.Error(a.Err.RetryAfter)
		}
	}
	if a := call(s, you, "meeting_list", ""); a.Err != nil {
		t.Error("one token's calls count for another", a.Err)
	}
	now = now.Add(999 * time.Millisecond)
	if a := call(s, me, "meeting_list", ""); code(a) != tool.CodeRateLimited {
		t.Error(a.Err)
	}
	now = now.Add(2 * time.Millisecond)
	if a := call(s, me, "meeting_list", ""); a.Err != nil {
		t.Error(a.Err)
	}
}

func TestOnlySoManyCallsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := service(t, tool.Options{Tools: []tool.Tool{slow(release, nil, true)}, Limits: tool.Limits{Running: 2}})
		for range 2 {
			go call(s, me, "slow", "")
		}
		synctest.Wait()
		if a := call(s, me, "slow", ""); code(a) != tool.CodeTooManyCalls {
			t.Error(a.Err)
		}
		close(release)
		synctest.Wait()
		if a := call(s, me, "slow", ""); a.Err != nil {
			t.Error(a.Err)
		}
	})
}

func TestProgressReachesTheCaller(t *testing.T) {
	s := service(t, tool.Options{Tools: tool.Table(&toolfake.Meetings{}, nil)})
	var got []string
	a := s.Invoke(t.Context(), tool.Call{Tool: "meeting_join", Args: json.RawMessage(room), Caller: me, Progress: func(p tool.Progress) { got = append(got, p.Text) }})
	if a.Err != nil || !slices.Equal(got, []string{"starting", "lobby", "waiting"}) {
		t.Error(got, a.Err)
	}
}

func TestADeletionReachesEverythingThatRemembers(t *testing.T) {
	f := &toolfake.Meetings{Dir: t.TempDir()}
	var forgot []string
	remember := func(name string) tool.Forget {
		return func(_ context.Context, who tenant.ID, meeting string) error {
			forgot = append(forgot, name+" "+string(who)+" "+meeting)
			if name == "broken" {
				return errors.New("disk full")
			}
			return nil
		}
	}
	s := service(t, tool.Options{Tools: tool.Table(f, nil, remember("broken"), remember("events"))})
	id := join(t, s, me)
	if a := call(s, me, "meeting_stop_recording", `{"meeting_id":"`+id+`"}`); a.Err != nil || len(forgot) != 0 {
		t.Error(a.Err, forgot)
	}
	a := call(s, me, "meeting_recording_delete", `{"meeting_id":"`+id+`"}`)
	if code(a) != tool.CodeInternal || !slices.Equal(forgot, []string{"broken me " + id, "events me " + id}) {
		t.Error(a.Err, forgot)
	}
}
