package kokoro

import (
	"strings"
	"testing"
	"unicode"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"Good morning.", "good morning."},
		{"I have 3 points", "i have three points"},
		// Numbers.
		{"It took 1,234 ms.", "it took one thousand two hundred thirty four milliseconds."},
		{"In 2026, not in 1984.", "in twenty twenty six, not in nineteen eighty four."},
		{"About 12.5% of 1M users", "about twelve point five percent of one m users"},
		{"1 ms or 2 ms", "one millisecond or two milliseconds"},
		{"10-20 ms", "ten to twenty milliseconds"},
		{"pages 3-5", "pages three to five"},
		{"the 1st, 2nd and 23rd", "the first, second and twenty third"},
		{"-5 °C today", "minus five degrees celsius today"},
		{"3x faster, ~5 minutes", "three times faster, about five minutes"},
		{"issue #42", "issue number forty two"}, {"No. 5", "number five"}, {"No. I do not.", "no. I do not."},
		{"1/2 of it", "one half of it"},
		{"call +4930123456", "call plus four nine three zero one two three four five six"},
		{"42", "forty two"},
		{"one, 2, three", "one, two, three"},
		// Money.
		{"$5", "five dollars"}, {"$1.50", "one dollar and fifty cents"}, {"$3M", "three million dollars"},
		{"€1,000", "one thousand euros"}, {"£2.01", "two pounds and one penny"}, {"$2.5 million", "two point five million dollars"},
		// Dates and times.
		{"on 2026-11-30", "on november thirtieth, twenty twenty six"},
		{"2026-13-30", "two zero two six one three three zero"},
		{"at 10:30", "at ten thirty"}, {"at 9:05 am", "at nine oh five A M"}, {"at 3pm", "at three P M"}, {"at 3:00", "at three o'clock"},
		{"at 15:00", "at fifteen hundred"}, {"at 7 p.m. sharp", "at seven P M sharp"},
		// Versions, files, programs.
		{"Go v1.26.8", "go version one point twenty six point eight"}, {"at 10.0.0.1", "at ten point zero point zero point one"},
		{"in main.go", "in main dot go"}, {"getUserName and user_id", "get user name and user I D"},
		{"`parley serve`", "parley serve"},
		// Addresses.
		{"See https://example.com/docs for more.", "see example dot com slash docs for more."},
		{"https://www.example.org/a/very/long/path/that/nobody/wants?x=1", "example dot org"},
		{"http://localhost:7360", "local host port seven three six zero"},
		{"mail jo.doe@example.com", "mail jo dot doe at example dot com"},
		// Abbreviations and acronyms.
		{"e.g. this, i.e. that, etc.", "for example this, that is that, et cetera"},
		{"Dr. Smith vs. Mr. Jones", "doctor smith versus mister jones"},
		{"The API returns JSON.", "the A P I returns jason."},
		{"Our PRs, CI/CD and the XYZ.", "our P ars, C I C D and the X Y Z."},
		{"LLMs and GPUs", "L L ems and G P Us"},
		{"the NASA and the CNRS", "the nassa and the C N R S"},
		{"THIS IS VERY IMPORTANT", "this is very important"},
		{"A dog and I", "a dog and I"},
		{"it's OK, we don't", "it's okay, we don't"},
		{"C++ or C#", "C plus plus or C sharp"},
		{"R&D", "R and D"},
		// Signs.
		{"a -> b", "a to b"}, {"x = 5", "x equals five"}, {"x <= 5", "x at most five"}, {"read/write", "read slash write"},
		{"<5 ms", "less than five milliseconds"},
		// Markdown and pictures.
		{"**Bold** and _soft_ [here](https://example.com)", "bold and soft here"},
		{"# Title", "title"}, {"- item one", "item one"},
		{"Great 🎉 work!", "great work!"},
		{"“Quoted” — really…", `"quoted" — really...`},
		{"a\u200bb\x00c", "a b c"},
	} {
		got := Normalize(c.in)
		if !strings.EqualFold(got, c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		// Letters that are spelled stand in capitals, which EqualFold does not see.
		for _, w := range strings.Fields(c.want) {
			if len(w) == 1 && unicode.IsUpper(rune(w[0])) && !strings.Contains(" "+got+" ", " "+w) {
				t.Errorf("%q: %q does not spell %s", c.in, got, w)
			}
		}
	}
}

func TestDataFilesAreClean(t *testing.T) {
	for name, data := range map[string]string{"words.txt": wordData, "abbreviations.txt": abbreviationData} {
		seen := map[string]bool{}
		for n, line := range strings.Split(strings.TrimSuffix(data, "\n"), "\n") {
			written, said, ok := strings.Cut(line, " = ")
			switch {
			case strings.HasPrefix(line, "# "):
			case !ok || written == "" || said == "" || strings.TrimSpace(line) != line:
				t.Errorf("%s:%d: %q is no rule", name, n+1, line)
			case seen[written]:
				t.Errorf("%s:%d: %s is there twice", name, n+1, written)
			case written == said:
				t.Errorf("%s:%d: %s changes nothing", name, n+1, written)
			default:
				seen[written] = true
			}
		}
		if len(seen) < 20 {
			t.Errorf("%s: only %d rules", name, len(seen))
		}
	}
}

// Whatever an agent writes: nothing panics, and what comes out can be handed to phonemes: letters, spaces and the
// signs of a sentence.
func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"v1.2.3 $5 10:30 a@b.cd", "[x](y) `z` 1/2 #3 -4 5% +123456", "\xff😀", "A a.m. 2026-01-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 2000 {
			return
		}
		for _, r := range Normalize(in) {
			if unicode.IsDigit(r) && r < 128 || unicode.IsControl(r) {
				t.Fatalf("%q: %q has %q", in, Normalize(in), r)
			}
		}
	})
}
