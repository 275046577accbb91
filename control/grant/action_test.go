package grant

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	s1 = "01234567-89ab-cdef-0123-456789abcdef"
	s2 = "11234567-89ab-cdef-0123-456789abcdef"
)

// golden is the table as the source lists it: action, internal scope, arguments (? for those that may be left out; an
// omitted session is the one in the foreground), and ! for what is not offered by default.
const golden = `
sessions sessions:list
sessions:save sessions:save name sessionIds id? expectedRevision? !
sessions:list sessions:list !
sessions:restore sessions:restore id? planId? !
vault:status vault:status sessionId? !
vault:list vault:list sessionId? !
vault:fill vault:fill sessionId credentialRef !
vault:prepare-submit vault:prepare-submit sessionId credentialRef !
screenshot browser:screenshot sessionId? !
navigate browser:navigate sessionId? url
back browser:navigate sessionId? !
forward browser:navigate sessionId? !
reload browser:navigate sessionId? !
read browser:read sessionId?
inspect browser:read sessionId?
scroll browser:interact sessionId? x y
click browser:interact sessionId? selector
type browser:interact sessionId? selector text
select browser:interact sessionId? selector value !
check browser:interact sessionId? selector checked !
ai ai:request sessionId? prompt
application:state application:state !
settings:get settings:get !
settings:update settings:update appearance !
bookmarks:list bookmarks:list !
bookmarks:mutate bookmarks:mutate action bookmark? id? expectedRevision policyVersion !
tabs:create tabs:create group? url? !
tabs:activate tabs:activate sessionId !
tabs:close tabs:close sessionId !
tabs:group tabs:group sessionId group !
`

func TestTheTableOfActions(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n")
	for _, a := range Actions() {
		if string(a.Scope) != a.Name || a.Result == "" {
			t.Errorf("%s: scope %q, result %q", a.Name, a.Scope, a.Result)
		}
		b.WriteString(a.Name + " " + string(a.Internal))
		for _, arg := range a.Args {
			b.WriteString(" " + arg.Name)
			if arg.Optional {
				b.WriteString("?")
			}
		}
		if a.OptIn {
			b.WriteString(" !")
		}
		b.WriteString("\n")
	}
	if b.String() != golden {
		t.Errorf("the table is\n%s", b.String())
	}
	for _, name := range []string{"", "Sessions", "read ", "cdp", "evaluate", "cookies", "files:read", "policy:update", "enrollment", "vault:unlock", "vault:export"} {
		if _, ok := Lookup(name); ok {
			t.Errorf("there is an action %q", name)
		}
	}
	for _, s := range DefaultScopes() {
		for _, prefix := range []string{"application:", "settings:", "bookmarks:", "tabs:", "vault:", "screenshot", "select", "check", "back"} {
			if strings.HasPrefix(string(s), prefix) {
				t.Errorf("%s is offered by default", s)
			}
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		action, args string
		want         bool
	}{
		{"sessions", `{}`, true},
		{"sessions", `{"x":1}`, false},
		{"sessions", `[]`, false},
		{"sessions", `null`, false},
		{"read", `{}`, true},
		{"read", `{"sessionId":"` + s1 + `"}`, true},
		{"read", `{"sessionId":"` + strings.ToUpper(s1) + `"}`, false},
		{"read", `{"sessionId":"` + s1 + ` "}`, false},
		{"read", `{"SessionId":"` + s1 + `"}`, false},
		{"read", `{"sessionId":null}`, false},
		{"vault:fill", `{"credentialRef":"r"}`, false},
		{"vault:fill", `{"sessionId":"` + s1 + `","credentialRef":"r"}`, true},
		{"navigate", `{"url":"https://example.org/"}`, true},
		{"navigate", `{"url":"http://u:p@example.org/"}`, false},
		{"navigate", `{"url":"https://u@example.org/"}`, false},
		{"navigate", `{"url":"file:///etc/passwd"}`, false},
		{"navigate", `{"url":"data:text/html,x"}`, false},
		{"navigate", `{"url":"javascript:alert(1)"}`, false},
		{"navigate", `{"url":"https:example.org"}`, false},
		{"navigate", `{"url":"https:///x"}`, false},
		{"navigate", `{"url":"https://:443/"}`, false},
		{"navigate", `{}`, false},
		{"scroll", `{"x":0,"y":-10}`, true},
		{"scroll", `{"x":0.5,"y":1}`, false},
		{"scroll", `{"x":"0","y":1}`, false},
		{"scroll", `{"x":9007199254740992,"y":0}`, true},
		{"scroll", `{"x":9007199254740993,"y":0}`, false},
		{"type", `{"selector":"#a","text":""}`, true},
		{"type", `{"selector":"","text":"x"}`, false},
		{"type", `{"selector":"` + strings.Repeat("a", 1024) + `","text":"x"}`, true},
		{"type", `{"selector":"` + strings.Repeat("a", 1025) + `","text":"x"}`, false},
		{"check", `{"selector":"#a","checked":true}`, true},
		{"check", `{"selector":"#a","checked":"true"}`, false},
		{"sessions:restore", `{"id":"a"}`, true},
		{"sessions:restore", `{"planId":"a"}`, true},
		{"sessions:restore", `{}`, false},
		{"sessions:restore", `{"id":"a","planId":"b"}`, false},
		{"sessions:save", `{"name":"n","sessionIds":["` + s1 + `","` + s2 + `"]}`, true},
		{"sessions:save", `{"name":"n","sessionIds":["` + s1 + `","` + s1 + `"]}`, false},
		{"sessions:save", `{"name":"n","sessionIds":[]}`, false},
		{"settings:update", `{"appearance":{"mode":"dark"}}`, true},
		{"settings:update", `{"appearance":{"mode":"dark","accent":"teal","tabMode":"compact"}}`, true},
		{"settings:update", `{"appearance":{"mode":"darker"}}`, false},
		{"settings:update", `{"appearance":{"font":"x"}}`, false},
		{"settings:update", `{"appearance":{}}`, false},
		{"settings:update", `{"appearance":{"mode":"dark"},"policy":{}}`, false},
		{"screenshot", `{}`, true},
		{"screenshot", `{"fullPage":true}`, false},
		{"bookmarks:mutate", `{"action":"remove","id":"b","expectedRevision":3,"policyVersion":1}`, true},
		{"bookmarks:mutate", `{"action":"remove","id":"b","policyVersion":1}`, false},
	} {
		a, ok := Lookup(c.action)
		if !ok {
			t.Fatal(c.action)
		}
		err := a.Check(json.RawMessage(c.args))
		if (err == nil) != c.want || err != nil && !errors.Is(err, ErrArguments) {
			t.Errorf("%s %s: %v", c.action, c.args, err)
		}
	}
}

func TestEveryTypeOfTheTableIsKnown(t *testing.T) {
	known := []ArgType{Session, Sessions, Text, AnyText, Integer, Boolean, URL, Object, Appearance}
	for _, a := range Actions() {
		for _, arg := range a.Args {
			if !slices.Contains(known, arg.Type) {
				t.Errorf("%s: %s is a %q", a.Name, arg.Name, arg.Type)
			}
		}
		for _, name := range a.ExactlyOne {
			if !slices.ContainsFunc(a.Args, func(x Arg) bool { return x.Name == name && x.Optional }) {
				t.Errorf("%s: exactly one of %s, which is not optional", a.Name, name)
			}
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("navigate", []byte(`{"url":"https://example.org"}`))
	f.Add("sessions:save", []byte(`{"name":"n","sessionIds":["`+s1+`"]}`))
	f.Add("settings:update", []byte(`{"appearance":{"mode":"dark"}}`))
	f.Fuzz(func(t *testing.T, name string, args []byte) {
		a, ok := Lookup(name)
		if !ok {
			return
		}
		if a.Check(args) == nil {
			var m map[string]any
			if json.Unmarshal(args, &m) != nil || len(m) > len(a.Args) {
				t.Errorf("%s takes %q", name, args)
			}
		}
	})
}
