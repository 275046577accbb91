package consent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type line struct {
	file string
	n    int
	want bool
	text string
}

func corpus(t testing.TB) []line {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []line
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
			mark, text, ok := strings.Cut(l, " ")
			if !ok || (mark != "+" && mark != "-") {
				t.Fatalf("%s:%d: want + or - and a text", f, i+1)
			}
			all = append(all, line{strings.TrimSuffix(filepath.Base(f), ".txt"), i + 1, mark == "+", text})
		}
	}
	return all
}

func TestCorpus(t *testing.T) {
	seen := map[string]bool{}
	plus := map[string]int{}
	minus := 0
	for _, l := range corpus(t) {
		if key := l.file + l.text; seen[key] {
			t.Errorf("%s:%d is there twice", l.file, l.n)
		} else {
			seen[key] = true
		}
		yes, lang := Objects(l.text)
		if yes != l.want {
			t.Errorf("%s:%d: %q: %t (%s)", l.file, l.n, l.text, yes, lang)
		}
		if yes && l.want && lang != l.file && !kin(lang, l.file) {
			t.Errorf("%s:%d: %q was taken for %s", l.file, l.n, l.text, lang)
		}
		if l.want {
			plus[l.file]++
		} else {
			minus++
		}
		// Neither case nor a missing accent nor a missing full stop makes a difference.
		for _, variant := range []string{strings.ToUpper(l.text), "  " + l.text + "\n", plain(l.text)} {
			if yes, _ := Objects(variant); yes != l.want {
				t.Errorf("%s:%d: as %q: %t", l.file, l.n, variant, yes)
			}
		}
	}
	for _, l := range Languages() {
		if plus[l] < 15 {
			t.Errorf("%s has only %d wordings", l, plus[l])
		}
	}
	total := 0
	for _, n := range plus {
		total += n
	}
	if total+minus < 400 || minus < (total+minus)/2 {
		t.Errorf("%d lines, %d of them must not trigger", total+minus, minus)
	}
	t.Logf("%d objections, %d others, %d languages", total, minus, len(Languages()))
}

// kin languages share wordings.
func kin(a, b string) bool {
	for _, pair := range []string{"sk cs", "uk ru", "es pt", "es it", "pt es"} {
		if x, y, _ := strings.Cut(pair, " "); (a == x && b == y) || (a == y && b == x) {
			return true
		}
	}
	return false
}

func TestQuotationsAreMentions(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{`"please don't record"`, true}, // all of it
		{`Anna: "please don't record" is what you write`, false},
		{"> please don't record\nsure, no problem", false},
		{"> sure, no problem\nplease don't record", true},
		{"write 'stop recording' here", false},
		{"I'd rather not be recorded, it's private", true},
		{"schreib „bitte nicht aufnehmen“", false},
		{"`stop recording`", true},
		{"please don't record \"me\"", true},
		{"«не записывайте» пишут здесь те, кто против", false},
		{"please\ndon't record", true}, // the second line says it
		{"ok\nplease don't record", true},
		{"", false}, {"?!", false}, {"\x00", false}, {"'", false}, {"\"", false},
	} {
		if yes, _ := Objects(c.text); yes != c.want {
			t.Errorf("%q: %t", c.text, yes)
		}
	}
}

func TestLongTextsAreDocuments(t *testing.T) {
	if yes, _ := Objects("please don't record. " + strings.Repeat("a ", longest/2-20)); !yes {
		t.Error("just short enough")
	}
	if yes, _ := Objects("please don't record. " + strings.Repeat("a ", longest/2)); yes {
		t.Error("too long")
	}
}

// What is heard has to be addressed to us; what is written does not.
func TestAloud(t *testing.T) {
	for _, c := range []struct {
		text  string
		aloud bool
	}{
		{"Please stop recording.", true},
		{"I don't want to be recorded.", true},
		{"Can you please not record this meeting?", true},
		{"stop recording", false},
		{"and then it says stop recording", false},
		{"Could you stop recording, please? This is confidential.", true},
		{"bitte nicht aufnehmen", true},
		{"Aufnahme beenden", false},
		{"Please don't stop recording.", false},
		{"Пожалуйста, не записывайте", true},
		{"prosím nenahrávajte", true},
	} {
		if yes, _ := ObjectsAloud(c.text); yes != c.aloud {
			t.Errorf("%q: %t", c.text, yes)
		}
	}
}

func TestPatterns(t *testing.T) {
	l, err := parse("xx", "[class]\nthing = dog cat*\n[core]\nstop|halt the? <thing> # a comment\n^now go")
	if err != nil {
		t.Fatal(err)
	}
	p := l.core[0]
	for text, want := range map[string]int{"stop dog": 2, "halt the cats now": 3, "stop the": 0, "the dog": 0, "stop": 0, "": 0} {
		if got := p.match(strings.Fields(text)); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	if !l.core[1].start {
		t.Error("^ was not seen")
	}
	for _, bad := range []string{"[nothing]", "stop", "[core]\n<none> x", "[core]\nthe?", "[class]\nx"} {
		if _, err := parse("xx", bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzObjects(f *testing.F) {
	for _, l := range corpus(f) {
		f.Add(l.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		aloud, _ := ObjectsAloud(text)
		yes, lang := Objects(text)
		if yes != (lang != "") {
			t.Errorf("%t in %q", yes, lang)
		}
		if aloud && !yes {
			t.Error("aloud is stricter than written, never laxer")
		}
	})
}

func BenchmarkObjects(b *testing.B) {
	for b.Loop() {
		Objects("So the next item on the list is the budget for the second quarter, which Anna has sent around yesterday; any questions about it?")
	}
}
