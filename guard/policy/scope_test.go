package policy

import (
	"reflect"
	"slices"
	"testing"
)

func TestWhatAScopeIsMadeOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		start Start
		want  []string
	}{
		{"the start tab", Start{URL: "https://www.Example.com:8443/a?b=c.test"}, []string{"example.com"}},
		{"the user's words", Start{Words: "read notes.md on example.com, then https://docs.other.test/x."}, []string{"docs.other.test", "example.com"}},
		{"with the standing list", Start{URL: "https://a.test/", Standing: []string{"*.b.test"}}, []string{"a.test", "b.test"}},
		{"anywhere by the list", Start{URL: "https://a.test/", Standing: []string{"*"}}, []string{"*"}},
		{"userinfo is no host", Start{URL: "https://a.test@b.test/"}, []string{"b.test"}},
		{"a blank tab", Start{}, nil},
		{"a blank tab may go anywhere", Start{Blank: BlankAnywhere}, []string{"*"}},
		{"a blank tab of a confined tenant", Start{Blank: BlankAnywhere, Confined: true}, nil},
		{"a blank tab, some hosts standing", Start{Standing: []string{"b.test"}}, []string{"b.test"}},
		{"a file is no starting point", Start{URL: "file:///home/x.test/"}, nil},
	} {
		s, err := NewScope(c.start)
		if err != nil || !slices.Equal(s.Hosts(), c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, s.Hosts(), err, c.want)
		}
	}
	if _, err := NewScope(Start{Standing: []string{"co.uk"}}); err == nil {
		t.Error("co.uk is a scope")
	}
}

func TestTheFirstHostOfABlankTabIsItsScope(t *testing.T) {
	s, err := NewScope(Start{})
	if err != nil || s.Covers("a.test") {
		t.Fatal("a blank tab goes where it likes", err)
	}
	begun := s.Begin("a.test")
	if !begun.Covers("www.a.test") || begun.Covers("b.test") {
		t.Error("the first host is not the scope")
	}
	if again := begun.Begin("b.test"); again.Covers("b.test") {
		t.Error("a scope grew a second time")
	}
	if s.Covers("a.test") {
		t.Error("the first scope changed")
	}
	if s.Begin("co.uk").Covers("x.co.uk") || s.Begin("not a host").Covers("x.test") {
		t.Error("begun with what is no site")
	}
}

// Nothing outside the package can change a scope, so nothing a page says can widen one.
func TestAScopeHasNoWayToGrow(t *testing.T) {
	typ := reflect.TypeFor[Scope]()
	for i := range typ.NumField() {
		if typ.Field(i).IsExported() {
			t.Errorf("field %s can be set from outside", typ.Field(i).Name)
		}
	}
	if n := reflect.TypeFor[*Scope]().NumMethod(); n != typ.NumMethod() {
		t.Errorf("%d methods can change a scope", n-typ.NumMethod())
	}
	s, _ := NewScope(Start{URL: "https://a.test/"})
	s.Hosts()[0] = "evil.test"
	if s.Covers("evil.test") {
		t.Error("the list that Hosts gives is the scope itself")
	}
}

func TestWhichHostsAScopeCovers(t *testing.T) {
	s, err := NewScope(Start{URL: "https://example.com/", Standing: []string{"xn--bcher-kva.example", "[2001:db8::1]", "192.0.2.7", "localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"example.com": true, "EXAMPLE.com": true, "example.com.": true, "www.example.com": true, "app.example.com": true, "a.b.example.com": true,
		"notexample.com": false, "example.com.evil.test": false, "example.com..": false, "": false, ".": false, ".example.com": false, "com": false,
		"exаmple.com": false /* a Cyrillic letter */, "xn--bcher-kva.example": true, "bücher.example": false, "[2001:db8::1]": true, "[2001:DB8:0::1]": true,
		"[2001:db8::2]": false, "2001:db8::1": false, "192.0.2.7": true, "1.192.0.2.7": false, "localhost": true, "x.localhost": true,
		"example.com@evil.test": false, "example.com/": false, "example.com%2eevil.test": false,
	} {
		if got := s.Covers(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestHostsInWords(t *testing.T) {
	for text, want := range map[string][]string{
		"read notes.md on example.com":               {"example.com"},
		"open https://Shop.example/cart?x=evil.test": {"shop.example"},
		"see (foo.test), 'bar.test'; and baz.test.":  {"foo.test", "bar.test", "baz.test"},
		"report.pdf photo.jpeg run.sh app.ts x.py":   nil,
		"write to ann@mail.test":                     nil,
		"e.g. version 1.2.3 at 3.30":                 nil,
		"http://localhost:8080/x":                    {"localhost"},
		"file:///etc/x.test":                         nil,
		"日本語 example.co.jp を開く":                      {"example.co.jp"},
		"":                                           nil,
	} {
		if got := HostsIn(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
