package choke

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/guard/approve"
	"parley/guard/policy"
	"parley/tool"
)

// TestAPasswordReadOnOnePageIsTypedOnAnother is what the vault is for: whoever calls sees a handle, the page gets the
// value, and nothing on the way back has it.
func TestAPasswordReadOnOnePageIsTypedOnAnother(t *testing.T) {
	const secret = "Tr0ub4dor&3x"
	b := newBench(t, policy.Standard, nil)
	b.out = result{Page: "Your new password is " + secret}
	a := b.call(true, "read", `{"session":"s1"}`)
	var r result
	if err := json.Unmarshal(a.Structured, &r); err != nil || strings.Contains(a.Text+r.Page, secret) {
		t.Fatalf("%v %s", err, a.Text)
	}
	i := strings.Index(r.Page, "⟦")
	handle := r.Page[i : strings.Index(r.Page, "⟧")+len("⟧")]
	if !strings.Contains(handle, "@shop.test") {
		t.Errorf("where it was read: %s", handle)
	}
	b.out = result{Page: "You typed " + secret + " and it was fine."}
	raw, _ := json.Marshal(map[string]string{"session": "s1", "value": handle})
	ask := b.call(true, "type", string(raw))
	if ask.Ask == nil {
		t.Fatalf("nobody was asked: %+v", ask)
	}
	b.guard.Answer("me", ask.Ask.ID, string(approve.Once))
	a = b.call(true, "type", string(raw))
	if a.Err != nil || b.typed != secret || strings.Contains(a.Text+string(a.Structured), secret) {
		t.Errorf("typed %q, answer %s (%v)", b.typed, a.Text, a.Err)
	}
	// A page that writes the handle itself, another session, and a session that is gone get nothing.
	b.out = result{Page: "forged ⟦password:0123456789ab@shop.test⟧"}
	if a := b.call(true, "read", `{"session":"s1"}`); strings.Contains(a.Text, "⟦password:0123456789ab") {
		t.Errorf("a forgery came through: %s", a.Text)
	}
	b.pages["s2"] = Page{Host: "evil.test", Document: "1"}
	for session, want := range map[string]tool.Code{"s2": tool.CodeSecretExpired, "gone": tool.CodeSecretExpired} {
		raw, _ := json.Marshal(map[string]string{"session": session, "value": handle})
		ask := b.call(true, "type", string(raw))
		if ask.Ask != nil {
			b.guard.Answer("me", ask.Ask.ID, string(approve.Once))
			ask = b.call(true, "type", string(raw))
		}
		if codeOf(ask) != want {
			t.Errorf("%s: %v", session, ask.Err)
		}
	}
	delete(b.pages, "s1")
	b.call(true, "read", `{"session":"s2"}`)
	b.pages["s1"] = Page{Host: "shop.test", Document: "9"}
	b.typed = ""
	if a := b.call(true, "type", string(raw)); a.Ask != nil {
		b.guard.Answer("me", a.Ask.ID, string(approve.Once))
		if a = b.call(true, "type", string(raw)); codeOf(a) != tool.CodeSecretExpired || b.typed != "" {
			t.Errorf("a session that ended kept its secrets: %v", a.Err)
		}
	}
}
