package transcript

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Hello, World!", "hello world"},
		{"Don't  'quote' me", "dont quote me"},
		{"Größe Straße", "grosse strasse"},
		{"Пам'ять — п’ять", "память пять"},
		{"C'est déjà l'été…", "cest deja lete"},
		{"3.5 % of 20", "3 5 of 20"},
		{"会议 ok", "会 议 ok"},
		{"ＦＵＬＬ width", "full width"},
		{"--- …", ""},
		{"İstanbul", "istanbul"},
	} {
		if got := strings.Join(Words(c.text), " "); got != c.want {
			t.Errorf("Words(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"release", "releases", true},
		{"release", "relieve", false}, // two letters apart in seven
		{"deployment", "employment", true},
		{"cat", "car", false}, // too short to forgive anything
		{"no", "no", true},
		{"", "", true},
		{"", "a", false},
		{"четвер", "четвепр", true},
	} {
		if got := Alike(c.a, c.b); got != c.want {
			t.Errorf("Alike(%q, %q) = %v", c.a, c.b, got)
		}
		if Alike(c.a, c.b) != Alike(c.b, c.a) {
			t.Errorf("Alike(%q, %q) depends on the order", c.a, c.b)
		}
	}
}

func FuzzSpans(f *testing.F) {
	f.Add("Hello, 'World' — it’s 会议 \xff\xfe é")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range Spans(text) {
			if s.Norm == "" || s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %+v after %d in %q", s, end, text)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
				t.Fatalf("span %+v cuts a letter of %q", s, text)
			}
			end = s.End
		}
		if w := Words(text); !slices.Equal(w, Words(strings.Join(w, " "))) {
			t.Fatalf("folding %q twice gives other words: %q, then %q", text, w, Words(strings.Join(w, " ")))
		}
	})
}
