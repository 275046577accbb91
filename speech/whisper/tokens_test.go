package whisper

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// vocabulary makes tokens of these texts, with ids in their order.
func vocabulary(texts ...string) *Tokens {
	var b strings.Builder
	for i, s := range texts {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(s)), i)
	}
	t, err := ParseTokens([]byte(b.String()))
	if err != nil {
		panic(err)
	}
	return t
}

// ids gives the tokens of these texts.
func (t *Tokens) ids(texts ...string) []int {
	var ids []int
	for _, s := range texts {
		i := slices.IndexFunc(t.text, func(b []byte) bool { return string(b) == s })
		if i < 0 {
			panic("no token " + s)
		}
		ids = append(ids, i)
	}
	return ids
}

func TestParseTokens(t *testing.T) {
	if v, err := ParseTokens([]byte("IGE= 0\n 1\nYg== 2\n")); err != nil || v.Len() != 3 || v.Text([]int{0, 1, 2}) != "ab" {
		t.Errorf("%v, %v", v, err)
	}
	for _, bad := range []string{"IGE= 1\n", "IGE= 0\nIGE= 0\n", "IGE=\n", "!! 0\n", "IGE= x\n", "\n", "IGE= 0 \n"} {
		if _, err := ParseTokens([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestText(t *testing.T) {
	v := vocabulary(" Hello", ",", " wor", "ld", "\xe6\x97", "\xa5", "\xff")
	for _, c := range []struct {
		ids  []int
		want string
	}{
		{[]int{0, 1, 2, 3}, "Hello, world"},
		{[]int{4, 5}, "日"},
		{[]int{0, 4}, "Hello\uFFFD"},
		{[]int{6, 0}, "\uFFFD Hello"},
		{[]int{-1, 99}, ""},
		{nil, ""},
	} {
		if got := v.Text(c.ids); got != c.want {
			t.Errorf("%v: %q, want %q", c.ids, got, c.want)
		}
	}
}

func TestWordsAreCutAtSpaces(t *testing.T) {
	v := vocabulary(" It", "'s", " a", " wor", "ld", ",", " \"", "hi", "\"", ".", " (", "x", ")", " drop", "-", "in", " $", "5", " 日", "\xe6\x9c", "\xac", " -", " ", "?", "", " ¿", "que", " “", "”")
	for _, c := range []struct {
		lang string
		in   []string
		want string
	}{
		{"en", []string{" It", "'s", " a", " wor", "ld", "."}, "It's|a|world."},
		{"en", []string{" It", ",", " \"", "hi", "\"", ",", " a"}, `It,|"hi",|a`},
		{"en", []string{" It", " “", "hi", "”", "."}, "It|“hi”."},
		{"en", []string{" a", " (", "x", ")", "."}, "a|(x)."},
		{"en", []string{" drop", "-", "in"}, "drop-in"},
		{"en", []string{" $", "5", " a"}, "$5|a"},
		{"en", []string{" a", " ", "?"}, "a?"},
		{"es", []string{" a", " ¿", "que", "?"}, "a|¿que?"},
		{"ja", []string{" 日", "\xe6\x9c", "\xac", ","}, "日|本,"},
		{"en", []string{" 日", "\xe6\x9c", "\xac"}, "日本"},
		{"en", []string{" a", "", " wor"}, "a|wor"},
		{"en", nil, ""},
	} {
		ids := v.ids(c.in...)
		var got []string
		at := 0
		for _, s := range v.words(ids, c.lang) {
			got = append(got, s.text)
			if s.from != at || s.to <= s.from {
				t.Errorf("%q: the word %q covers %d to %d, the one before ended at %d", c.in, s.text, s.from, s.to, at)
			}
			at = s.to
		}
		if at != len(ids) {
			t.Errorf("%q: the words end at %d of %d", c.in, at, len(ids))
		}
		if g := strings.Join(got, "|"); g != c.want {
			t.Errorf("%q: %s, want %s", c.in, g, c.want)
		}
	}
}

func TestAgreedKeepsWholeWordsButTheLast(t *testing.T) {
	v := vocabulary(" I", " want", " to", " go", "ing", ".", " ho", "me")
	for _, c := range []struct{ before, now, want []string }{
		{[]string{" I", " want", " to"}, []string{" I", " want", " to", " go"}, []string{" I", " want"}},
		{[]string{" I", " want", " to", " go"}, []string{" I", " want", " to", " go", "ing"}, []string{" I", " want"}}, // "go" may go on, "to" is the last whole one
		{[]string{" I", " want", "."}, []string{" I", " want", "."}, nil},                                              // the last word is not taken
		{[]string{" I", " want"}, []string{" want", " I"}, nil},
		{nil, []string{" I"}, nil},
		{[]string{" I"}, nil, nil},
	} {
		got := v.Agreed(v.ids(c.before...), v.ids(c.now...))
		if want := v.ids(c.want...); !slices.Equal(got, want) {
			t.Errorf("%q, %q: %q, want %q", c.before, c.now, v.Text(got), v.Text(want))
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add([]byte("IGE= 0\n 1\nYg== 2\n"), []byte{0, 1, 2, 9})
	f.Add([]byte("5pc= 0\npQ== 1\n"), []byte{1, 0})
	f.Fuzz(func(t *testing.T, file, seq []byte) {
		v, err := ParseTokens(file)
		if err != nil {
			return
		}
		ids := make([]int, len(seq))
		for i, b := range seq {
			ids[i] = int(b)
		}
		at := 0
		for _, s := range v.words(ids, "ja") {
			if s.from != at || s.to <= at {
				t.Fatalf("word %d to %d after %d", s.from, s.to, at)
			}
			at = s.to
		}
		if at != len(ids) {
			t.Fatalf("words end at %d of %d", at, len(ids))
		}
		v.Text(ids)
		if a := v.Agreed(ids, ids); len(a) > len(ids) {
			t.Fatal("more agreed than there is")
		}
	})
}
