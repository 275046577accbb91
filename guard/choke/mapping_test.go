package choke

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/guard/mapping"
	"parley/guard/policy"
	"parley/tenant"
	"parley/tool"
)

// shown is what a session of the tests shows.
type shown struct{ page *Page }

func (s shown) Page(t tenant.ID, session, _ string) (Page, bool) {
	if t != "me" || session != "s1" || s.page == nil {
		return Page{}, false
	}
	return *s.page, true
}

type surveyArgs struct {
	Session string `json:"session,omitempty"`
	URL     string `json:"url,omitempty"`
	Tab     string `json:"tab,omitempty"`
	Op      string `json:"action,omitempty"`
	Profile string `json:"profile,omitempty"`
}

// surveyor is a tenant that may only map a.test, with the browser's tools by their names.
func surveyor(t *testing.T, limits mapping.Limits, page *Page, now func() time.Time) func(name, args string) string {
	t.Helper()
	limits, _ = limits.Clamp()
	p, _, err := policy.New(policy.Source{Table: policy.Standard}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{Policies: one{p}, Pages: shown{page}, Mapping: map[tenant.ID]mapping.Task{"me": {Start: "https://a.test/", Limits: limits}}, Now: now})
	t.Cleanup(g.Close)
	var list []tool.Tool
	for _, name := range []string{"session_open", "session_close", "navigate", "back", "read", "screenshot", "tabs", "click", "type", "meeting_join", "meeting_leave"} {
		list = append(list, tool.New(tool.Spec[surveyArgs, struct{}]{Tool: tool.Tool{Name: name, Doc: "x", Safety: policy.Safety(name)},
			Run: func(context.Context, tool.Caller, surveyArgs) (struct{}, error) { return struct{}{}, nil }}))
	}
	o := tool.Options{Tools: list, Limits: tool.Limits{PerMinute: 1e6, Burst: 1e6, Running: 100}}
	g.Install(&o)
	s, err := tool.NewService(o)
	if err != nil {
		t.Fatal(err)
	}
	return func(name, args string) string {
		transport := "stdio"
		if rest, ok := strings.CutPrefix(name, "control "); ok {
			name, transport = rest, "control"
		}
		a := s.Invoke(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(args), Caller: tool.Caller{Transport: transport, Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}}})
		if a.Err == nil {
			return ""
		}
		for _, code := range []string{mapping.ReadOnly, mapping.OffSite, mapping.Budget, mapping.TabChanged} {
			if strings.Contains(a.Err.Text, code) {
				return code
			}
		}
		return string(a.Err.Code)
	}
}

// TestATenantThatOnlyMaps: what its sessions may do goes through the gate, whatever the policy would say.
func TestATenantThatOnlyMaps(t *testing.T) {
	page := &Page{Host: "", Document: "0", URL: "about:blank", Tab: "t1"}
	now := time.Unix(1000, 0)
	do := surveyor(t, mapping.Limits{Pages: 2, Shots: 1, Minutes: 10}, page, func() time.Time { return now })
	at := func(address string) { page.URL = address }
	for _, step := range []struct {
		what   string
		before func()
		name   string
		args   string
		want   string
	}{
		{"opens", nil, "session_open", `{}`, ""},
		{"with a profile", nil, "session_open", `{"profile":"work"}`, mapping.ReadOnly},
		{"acts without a session", nil, "click", `{}`, mapping.ReadOnly},
		{"goes elsewhere without a session", nil, "navigate", `{"url":"https://b.test/"}`, mapping.OffSite},
		{"goes elsewhere in a session that is none", nil, "navigate", `{"session":"s9","url":"https://b.test/"}`, mapping.OffSite},
		{"reads without a session", nil, "read", `{}`, ""},
		{"joins a meeting", nil, "meeting_join", `{"url":"https://a.test/room/x"}`, mapping.ReadOnly},
		{"leaves one: an act that protects people", nil, "meeting_leave", `{}`, ""},
		{"reads before it is there", nil, "read", `{"session":"s1"}`, mapping.OffSite},
		{"goes to another site", nil, "navigate", `{"session":"s1","url":"https://b.test/"}`, mapping.OffSite},
		{"to another port", nil, "navigate", `{"session":"s1","url":"https://a.test:8443/"}`, mapping.OffSite},
		{"to a relative address", nil, "navigate", `{"session":"s1","url":"/x"}`, mapping.OffSite},
		{"to the site", nil, "navigate", `{"session":"s1","url":"https://a.test/"}`, ""},
		{"reads", func() { at("https://a.test/") }, "read", `{"session":"s1"}`, ""},
		{"types", nil, "type", `{"session":"s1"}`, mapping.ReadOnly},
		{"clicks", nil, "click", `{"session":"s1"}`, mapping.ReadOnly},
		{"goes back", nil, "back", `{"session":"s1"}`, mapping.ReadOnly},
		{"lists the tabs", nil, "tabs", `{"session":"s1","action":"list"}`, ""},
		{"opens a tab", nil, "tabs", `{"session":"s1","action":"new"}`, mapping.ReadOnly},
		{"takes a picture", nil, "screenshot", `{"session":"s1"}`, ""},
		{"and a second", nil, "screenshot", `{"session":"s1"}`, mapping.Budget},
		{"a second page", nil, "navigate", `{"session":"s1","url":"https://a.test/2"}`, ""},
		{"a third", func() { at("https://a.test/2") }, "navigate", `{"session":"s1","url":"https://a.test/3"}`, mapping.Budget},
		{"the first again", nil, "navigate", `{"session":"s1","url":"https://a.test/"}`, ""},
		{"is led off the site", func() { at("https://evil.test/") }, "read", `{"session":"s1"}`, mapping.OffSite},
		{"goes back to it", nil, "navigate", `{"session":"s1","url":"https://a.test/"}`, ""},
		{"reads again", func() { at("https://a.test/") }, "read", `{"session":"s1"}`, ""},
		{"somebody shows another tab", func() { page.Tab = "t2" }, "read", `{"session":"s1"}`, mapping.TabChanged},
		{"and this one again", func() { page.Tab = "t1" }, "read", `{"session":"s1"}`, ""},
		{"the last moment", func() { now = now.Add(10*time.Minute - time.Second) }, "read", `{"session":"s1"}`, ""},
		{"ten minutes", func() { now = now.Add(time.Second) }, "read", `{"session":"s1"}`, mapping.Budget},
		{"closes", nil, "session_close", `{"session":"s1"}`, ""},
	} {
		if step.before != nil {
			step.before()
		}
		if got := do(step.name, step.args); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
	if got := do("control read", `{}`); got != mapping.ReadOnly {
		t.Errorf("by the control endpoint: %q", got)
	}
	clicks := surveyor(t, mapping.Limits{Clicks: true}, &Page{URL: "https://a.test/", Host: "a.test", Tab: "t1"}, nil)
	if got := clicks("click", `{"session":"s1"}`); got != "" {
		t.Errorf("with clicks: %q", got)
	}
}
