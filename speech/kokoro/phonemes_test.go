package kokoro

import (
	"reflect"
	"strings"
	"testing"
)

func TestFromEspeak(t *testing.T) {
	for _, c := range []struct {
		in   string
		a    Accent
		want string
	}{
		{"həlˈoʊ ðˈɛɹ", American, "həlˈO ðˈɛɹ"},
		{"tʃˈɜːtʃ dʒˈʌdʒ", American, "ʧˈɜɹʧ ʤˈʌʤ"},
		{"fˈeɪs pɹˈaɪs mˈaʊθ tʃˈɔɪs", American, "fˈAs pɹˈIs mˈWθ ʧˈYs"},
		{"bˈoːɹd nˈɜːs lˈɛɾɚ fˈɑːðɚ", American, "bˈɔɹd nˈɜɹs lˈɛɾəɹ fˈɑðəɹ"},
		{"lˈɪɾəl bˈʌʔn\u0329", American, "lˈɪɾᵊl bˈʌʔn"},
		{"ɐ bˈoʊt ɐbˈaʊt", American, "ɐ bˈOt əbˈWt"},
		{"(fr)kɹwasˈɑ\u0303(en-us)", American, "kɹwasˈɑ"},
		{"ɡˈəʊt skwˈeə nˈiə", British, "ɡˈQt skwˈɛː nˈɪə"},
	} {
		if got := fromEspeak(c.in, c.a); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestChunksAndBack(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"well, I see. a well-known - thing", "<well>, <I see>. <a well known>— <thing>"},
		{`"quoted" (words)!?`, "<quoted words>?"},
		{"...", ""},
		{", and", "<and>"},
		{"it's 'so'", "<it's 'so'>"},
	} {
		list := chunks(c.in)
		var said []string
		for _, x := range list {
			if !x.sign {
				said = append(said, "<"+x.text+">")
			}
		}
		if got := assemble(list, said); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	got := tokens("a☃b", map[string]int64{"a": 7, "b": 8})
	if !reflect.DeepEqual(got, []int64{0, 7, 8, 0}) {
		t.Errorf("%v", got)
	}
}

func TestLexicon(t *testing.T) {
	l := &lexicon{words: map[string]string{}}
	if err := l.add([]byte(`{"read":{"DEFAULT":"ɹˈid","VBD":"ɹˈɛd","X":null},"hat":"hˈæt","bake":"bˈAk","bus":"bˈʌs","Bob":"bˈɑb"}`)); err != nil {
		t.Fatal(err)
	}
	if err := l.add([]byte(`{"hat":"other","wish":"wˈɪʃ"}`)); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"a hat":               "ɐ hˈæt",
		"read hats":           "ɹˈid hˈæts",
		"baked baking":        "bˈAkt bˈAkɪŋ",
		"buses wished":        "bˈʌsᵻz wˈɪʃt",
		"Bob's":               "bˈɑbz",
		"A P":                 "ˈA pˈi",
		"xq":                  "ˈɛks kjˈu",
		strings.Repeat("", 1): "",
	} {
		if got := l.phonemes([]string{in})[0]; got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if err := l.add([]byte(`[]`)); err == nil {
		t.Error("a list that is none was accepted")
	}
}
