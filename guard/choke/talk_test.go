package choke

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"parley/channel"
	"parley/guard/audit"
	"parley/guard/policy"
	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
	"parley/transcript"
)

type tenants map[tenant.ID]tenant.Tenant

func (t tenants) Get(id tenant.ID) (tenant.Tenant, bool) { x, ok := t[id]; return x, ok }

var full = tenants{"me": {ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}

// attended is a simulated meeting of me.
func attended(t *testing.T) (*toolfake.Meetings, string) {
	t.Helper()
	m := &toolfake.Meetings{}
	st, err := m.Join(t.Context(), tool.Caller{Principal: tenant.Principal{Tenant: full["me"]}}, tool.JoinArgs{URL: "http://127.0.0.1/room/i"})
	if err != nil {
		t.Fatal(err)
	}
	return m, st.Meeting
}

func TestPublishingIsJudgedAsSpeaking(t *testing.T) {
	for _, c := range []struct {
		name   string
		effect policy.Effect
		tenant string
		text   string
		want   string
	}{
		{"allowed", policy.Allow, "me", "Hello.", ""},
		{"denied", policy.Deny, "me", "Hello.", ReasonDenied},
		{"a person would have to confirm it", policy.Confirm, "me", "Hello.", ReasonDenied},
		{"a tenant that there is not", policy.Allow, "you", "Hello.", ReasonDenied},
		{"a sealed secret", policy.Allow, "me", "", ReasonDenied},
	} {
		dir := filepath.Join(t.TempDir(), "audit")
		log, err := audit.Open(dir, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := policy.New(policy.Source{Table: policy.Standard}, policy.Config{Guardrails: policy.Guardrails{Rules: map[string]policy.Effect{"speaks-in-meeting": c.effect}}})
		if err != nil {
			t.Fatal(err)
		}
		g := New(Options{Policies: one{p}, Audit: log})
		m, id := attended(t)
		talk := g.Talk(m, full)
		if c.text == "" {
			c.text = g.Seal("me", "my key is ghp_"+strings.Repeat("aB3dE6gH9", 4))
		}
		r, err := talk.Publish(t.Context(), c.tenant, id, channel.Publication{Text: c.text})
		if err != nil || r.Reason != c.want || r.Delivered == (c.want != "") {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if err := talk.Chunk(t.Context(), c.tenant, id, channel.Chunk{Stream: "a", Delta: c.text}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if said := m.Talked(id); len(said) == 0 == (c.want == "") {
			t.Errorf("%s: said %q", c.name, said)
		}
		g.Close()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		var lines []string
		if _, err := audit.Verify(dir, func(e audit.Entry) error { l, err := e.Line(); lines = append(lines, l); return err }); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines, "\n")
		if strings.Contains(got, "Hello") || c.want == "" && (len(lines) != 2 || !strings.Contains(lines[1], `"stage":"completed"`)) ||
			c.want != "" && (len(lines) != 1 || !strings.Contains(got, `"stage":"refused"`)) || !strings.Contains(got, `"tool":"meeting_speak"`) {
			t.Errorf("%s: the record is\n%s", c.name, got)
		}
	}
}

func TestWhatAChannelTellsIsSealed(t *testing.T) {
	p, _, err := policy.New(policy.Source{Table: policy.Standard}, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := New(Options{Policies: one{p}})
	defer g.Close()
	key := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	who := &transcript.Speaker{Name: key}
	m := channel.Message{ID: "m1:7", Text: []string{"it is " + key, key}, Author: channel.Author{ID: "a", Name: key},
		Metadata: channel.Metadata{Meeting: "m1", Speaker: who, Speakers: []transcript.Speaker{*who}, InterruptedBy: who,
			DraftText: key, TurnText: key, SoFar: key, Said: key, Unsaid: key, ByText: key}}
	out, err := json.Marshal(g.SealMessage("me", m))
	if err != nil || strings.Contains(string(out), key) || !strings.Contains(string(out), `"messageId":"m1:7"`) {
		t.Errorf("%s %v", out, err)
	}
	if m.Text[0] != "it is "+key || who.Name != key {
		t.Error("the message itself was changed")
	}
	meetings, id := attended(t)
	updates := g.Talk(meetings, full).Converse(t.Context())
	if u := <-updates; u.Opened == nil || u.Meeting != id {
		t.Errorf("%+v", u)
	}
	meetings.Say(id, "Ada", "My key is "+key)
	if u := <-updates; u.Message == nil || strings.Contains(u.Message.Text[0], key) || !strings.Contains(u.Message.Text[0], "My key is") {
		t.Errorf("%+v", u.Message)
	}
}
