package inspect

import (
	"slices"
	"strings"
	"testing"
)

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Class
	}{
		{"", nil},
		{"The meeting is at ten, room 4711, order 2026-11-30.", nil},
		{"password: hunter2-horse", []Class{Credential}},
		{"pass\u200bword: hunter2-horse", []Class{Credential}},
		{"ghp_" + strings.Repeat("a1B2", 9), []Class{Credential}},
		{"card 4111 1111 1111 1111", []Class{Card}},
		{"card 4111 1111 1111 1112", nil},
		{"to DE89 3704 0044 0532 0130 00 please", []Class{Account}},
		{"to DE89 3704 0044 0532 0130 01 please", nil},
		{"Strictly  Confidential", []Class{Marked}},
		{"streng vertraulich und password: hunter2-horse", []Class{Credential, Marked}},
		{malware, []Class{Malware}},
		{strings.Repeat("QUJD", 128), []Class{Unknown}},
		{"broken \xff", []Class{Incomplete}},
		{"nul \x00", []Class{Incomplete}},
		{strings.Repeat("a ", MaxText/2), nil},
		{strings.Repeat("a ", MaxText/2) + "a", []Class{Incomplete}},
	} {
		if got := Text(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%.40q: %v, want %v", c.text, got, c.want)
		}
	}
}

// TestWhatAPolicyMayPermit: known forms alone, whatever else is set.
func TestWhatAPolicyMayPermit(t *testing.T) {
	for _, c := range []Class{Credential, Malware, Unknown, Incomplete} {
		if !Refuses([]Class{c}, true) || !Refuses([]Class{Card, c}, true) || !Refuses([]Class{c}, false) {
			t.Errorf("%s leaves", c)
		}
	}
	for _, c := range Sensitive() {
		if Refuses([]Class{c}, true) || !Refuses([]Class{c}, false) {
			t.Errorf("%s: permitted %v, unasked %v", c, !Refuses([]Class{c}, true), !Refuses([]Class{c}, false))
		}
	}
	if Refuses(nil, false) {
		t.Error("nothing found, and it stays")
	}
}

func FuzzText(f *testing.F) {
	f.Add("password: x")
	f.Add("DE89 3704 0044 0532 0130 00")
	f.Fuzz(func(t *testing.T, s string) {
		a, b := Text(s), Text(s)
		if !slices.Equal(a, b) || !slices.IsSorted(a) {
			t.Errorf("%v and %v", a, b)
		}
	})
}
