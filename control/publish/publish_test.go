package publish

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/control/grant"
)

func TestPublications(t *testing.T) {
	good := `{"version":3,"enabled":true,"identityMode":"individual","scopes":["read"],"allowedHosts":["a.example","*.b.example"],
		"groups":{"g":{"enabled":true,"scopes":["read"]}},
		"grants":[{"id":"x","name":"X","enabled":true,"group":"g","scopes":["read"],"hosts":["a.example"],"expires":"2030-01-01T00:00:00Z","generation":1}],
		"settings":{"hiddenSections":["appearance.mode"]},"bookmarks":[{"id":"b","title":"B","url":"https://b.example/"}],
		"passwordManager":{"enabled":true,"controlledSubmission":true,"forms":[{"action":"https://a.example/login","userField":"u","passwordField":"p"}]}}`
	p, err := Parse([]byte(good), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Authority(&p.Grants[0]); !a.Permits(lookup(t, "read")) || !a.PermitsHost("a.example") || a.PermitsHost("x.b.example") {
		t.Errorf("%+v", a)
	}
	if a := p.Authority(nil); len(a.Scopes) != 0 {
		t.Errorf("nobody's authority: %+v", a)
	}
	for what, change := range map[string][2]string{
		"version 0":         {`"version":3`, `"version":0`},
		"another mode":      {`"individual"`, `"both"`},
		"shared and grants": {`"individual"`, `"legacy"`},
		"unknown scope":     {`"scopes":["read"],"allowedHosts"`, `"scopes":["cookies"],"allowedHosts"`},
		"unknown group":     {`"group":"g"`, `"group":"h"`},
		"unknown member":    {`"version":3`, `"version":3,"admin":true`},
		"a host with port":  {`"a.example","*.b`, `"a.example:80","*.b`},
		"everything":        {`"a.example","*.b`, `"*","*.b`},
		"upper case":        {`"a.example","*.b`, `"A.example","*.b`},
		"generation 0":      {`"generation":1`, `"generation":0`},
		"no expiry":         {`"expires":"2030-01-01T00:00:00Z",`, ``},
		"the shared id":     {`"id":"x"`, `"id":"local"`},
		"a section":         {`"appearance.mode"`, `"policy"`},
		"a bookmark":        {`"https://b.example/"`, `"javascript:x"`},
		"a form":            {`"https://a.example/login"`, `"http://a.example/login"`},
		"two values":        {`}]}}`, `}]}} {}`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s changes nothing", what)
		}
		if _, err := Parse([]byte(bad), nil); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Parse([]byte(strings.Replace(good, `"scopes":["read"],"allowedHosts"`, `"scopes":["meeting_list"],"allowedHosts"`, 1)), func(n string) bool { return n == "meeting_list" }); err != nil {
		t.Errorf("a tool's name: %v", err)
	}
	if err := Default().Check(nil); err != nil {
		t.Error(err)
	}
}

func lookup(t *testing.T, name string) grant.Action {
	t.Helper()
	a, ok := grant.Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	return a
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"version":1,"enabled":true,"identityMode":"legacy","scopes":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse(raw, nil)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(again, nil); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}
