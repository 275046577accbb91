package meeting

import (
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/meeting/consent"
)

func TestTextsAreComplete(t *testing.T) {
	for lang, t2 := range texts {
		for key, text := range texts["en"] {
			got := t2[key]
			if got == "" {
				t.Errorf("%s: %s is missing", lang, key)
			}
			for _, hole := range []string{"{name}", "{for}", "{owner}"} {
				if strings.Contains(text, hole) != strings.Contains(got, hole) {
					t.Errorf("%s: %s has other places to fill in than the English text", lang, key)
				}
			}
			if key == "for" {
				continue
			}
			said := Text([]string{lang}, key, "Parley (AI notetaker)", "Anna Example")
			if strings.ContainsAny(said, "{}") {
				t.Errorf("%s: %s: %q", lang, key, said)
			}
		}
		for key := range t2 {
			if texts["en"][key] == "" {
				t.Errorf("%s: %s is in no other language", lang, key)
			}
		}
	}
	// Who can object in a language can be told in it, and the other way round.
	have, understood := TextLanguages(), consent.Languages()
	sort.Strings(have)
	sort.Strings(understood)
	if strings.Join(have, " ") != strings.Join(understood, " ") {
		t.Errorf("texts in %v, objections in %v", have, understood)
	}
}

// What we say ourselves must never be taken for an objection, and the announcement says what has to be said.
func TestOurTextsAreNoObjections(t *testing.T) {
	for lang, t2 := range texts {
		for key := range t2 {
			if key == "for" {
				continue
			}
			text := Text([]string{lang}, key, "Parley (AI notetaker)", "Anna Example")
			if yes, as := consent.Objects(text); yes {
				t.Errorf("%s %s is taken for an objection (%s): %q", lang, key, as, text)
			}
			if yes, as := consent.ObjectsAloud(text); yes {
				t.Errorf("%s %s, aloud, is taken for an objection (%s)", lang, key, as)
			}
			if key == "announce.both" || key == "announce.record" || key == "late.both" {
				if !strings.Contains(text, "Parley") || !strings.Contains(text, "Anna Example") {
					t.Errorf("%s %s does not say who, or for whom: %q", lang, key, text)
				}
				// The example of how to object works.
				_, n := utf8.DecodeRuneInString(text[strings.IndexAny(text, "\"„«“"):])
				example := text[strings.IndexAny(text, "\"„«“")+n:]
				example = strings.Trim(example[:strings.IndexAny(example, "\"“”»")], " \u00a0\u202f")
				if yes, _ := consent.Objects(example); !yes {
					t.Errorf("%s %s: its own example %q is not understood", lang, key, example)
				}
			}
		}
	}
}

// A platform cuts long messages off: Meet at 500 characters.
func TestAnnouncementsFitIntoAChat(t *testing.T) {
	for key := range texts["en"] {
		text := Text([]string{"en", "de"}, key, "Parley (AI notetaker)", "Anna Example")
		if n := utf8.RuneCountInString(text); n > 500 {
			t.Errorf("%s has %d characters in two languages", key, n)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		langs       []string
		owner, want string
	}{
		{[]string{"en"}, "", "Parley here: I am an AI attending. I do not record."},
		{[]string{"en"}, "Anna", "Parley here: I am an AI attending for Anna. I do not record."},
		{[]string{"en", "de"}, "", "Parley here: I am an AI attending. I do not record. / Hier ist Parley: Ich bin eine KI und nehme teil. Ich zeichne nichts auf."},
		{[]string{"xx", "de"}, "", "Hier ist Parley: Ich bin eine KI und nehme teil. Ich zeichne nichts auf."},
		{[]string{"xx"}, "", "Parley here: I am an AI attending. I do not record."},
		{nil, "", "Parley here: I am an AI attending. I do not record."},
	} {
		if got := Text(c.langs, "announce.presence", "Parley", c.owner); got != c.want {
			t.Errorf("%v, %q: %q", c.langs, c.owner, got)
		}
	}
}

func TestAMessageHasOnlyWhatCanBeTyped(t *testing.T) {
	for in, want := range map[string]string{
		"one\r\ntwo\tthree": "one\ntwo\tthree", "a\x1b[31m\u202eb\x00c\u2069": "a[31mbc", "שלום \u200fعلى 👩\u200d💻": "שלום \u200fعلى 👩\u200d💻", "\x00\u202e": "",
	} {
		if got := typed(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
