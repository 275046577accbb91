package turn

import (
	"slices"
	"strings"
	"testing"

	"parley/transcript"
)

func TestFinished(t *testing.T) {
	for _, c := range []struct {
		lang, text         string
		complete, question bool
	}{
		{"en", "We ship on Monday.", true, false},
		{"en", "Ship it.", false, false},
		{"en", "Ship it now.", true, false},
		{"en", "We ship on Monday", false, false},
		{"en", "We ship on…", false, false},
		{"en", "We ship on Monday...", false, false},
		{"en", "We ship on Monday….", false, false},
		{"en", "We ship it and.", false, false},
		{"en", "I looked at the.", false, false},
		{"en", "Yes, I can.", true, false},
		{"en", "I like it!", true, false},
		{"en", `He said "we ship it."`, true, false},
		{"en", "Why?", false, true},
		{"en", "Can we ship on Monday?", true, true},
		{"en", "what time is it", false, true},
		{"en", "what I mean is the", false, false},
		{"en", "we ship", false, false},
		{"", "We ship it and.", false, false},
		{"xx", "Ship it now.", true, false},
		{"de", "Wir machen das morgen.", true, false},
		{"de", "Wir machen das und.", false, false},
		{"de", "wann machen wir das", false, true},
		{"uk", "Ми зробимо це завтра.", true, false},
		{"uk", "Я не знаю, що.", false, false},
		{"uk", "коли ми це зробимо", false, true},
		{"ru", "Мы сделаем это завтра.", true, false},
		{"ru", "Мы сделаем это и.", false, false},
		{"sk", "Urobíme to zajtra.", true, false},
		{"sk", "Urobíme to, lebo.", false, false},
		{"es", "Creo que sí.", true, false},
		{"es", "Creo que si.", false, false},
		{"es", "¿Cuándo lo hacemos?", true, true},
		{"es", "cuándo lo hacemos", false, true},
		{"es", "que lo hacemos mañana", false, false},
		{"fr", "Nous le ferons demain.", true, false},
		{"fr", "Nous le ferons avec le.", false, false},
		{"it", "Lo facciamo domani.", true, false},
		{"it", "Lo facciamo perché.", false, false},
		{"pl", "Zrobimy to jutro.", true, false},
		{"pl", "Zrobimy to, ponieważ.", false, false},
		{"pt", "Vamos fazer isso amanhã.", true, false},
		{"pt", "Vamos fazer isso porque.", false, false},
		{"nl", "Wij doen het morgen.", true, false},
		{"nl", "Wij doen het want.", false, false},
		{"cs", "Uděláme to zítra.", true, false},
		{"cs", "Uděláme to, protože.", false, false},
		{"en-US", "We ship it and.", false, false},
		{"zh", "我们明天发布。", true, false},
		{"zh", "我们明天发布吗？", true, true},
		{"en", "", false, false},
		{"en", "…", false, false},
	} {
		if got := IsComplete(c.text, c.lang); got != c.complete {
			t.Errorf("%s %q: complete %v", c.lang, c.text, got)
		}
		if got := IsQuestion(c.text, c.lang); got != c.question {
			t.Errorf("%s %q: question %v", c.lang, c.text, got)
		}
	}
}

func TestEveryLanguageHasItsLists(t *testing.T) {
	for _, lang := range strings.Fields("en de uk ru sk es fr it pl pt nl cs") {
		l, ok := languages[lang]
		if !ok {
			t.Fatalf("no lists for %s", lang)
		}
		if !Agrees(lang, "mhm") && !Agrees(lang, "мгм") || !Agrees(lang, "ok") && !Agrees(lang, "ок") {
			t.Errorf("%s: the two words that everybody agrees with are missing", lang)
		}
		if len(l.agree) < 15 || len(l.trail) < 30 || len(l.not) < 10 || len(l.ask) < 8 || len(l.abbrev) < 5 {
			t.Errorf("%s: a list is very short: %d %d %d %d %d", lang, len(l.agree), len(l.trail), len(l.not), len(l.ask), len(l.abbrev))
		}
		for w := range l.agree {
			if l.not[w] {
				t.Errorf("%s: %q both agrees and negates", lang, w)
			}
		}
	}
	if !Agrees("", "так") || !Agrees("xx", "ja") || Agrees("en", "ja") {
		t.Error("an unknown language knows every language's words, a known one its own")
	}
}

func TestPhrasesAgree(t *testing.T) {
	for _, c := range []struct{ lang, text, want string }{
		{"en", "I see.", "aa"}, {"en", "I", "w"}, {"en", "I see a problem", "aaww"}, {"en", "Yeah, got it, thank you", "aaaaa"},
		{"en", "That makes sense", "aaa"}, {"en", "Of course not", "aaw"}, {"en", "Of the course", "www"}, {"en", "see I", "ww"},
		{"en", "You're right, that's right", "aaaa"}, {"de", "Alles klar, in Ordnung", "aaaa"}, {"de", "Das klappt nicht", "www"},
		{"es", "De acuerdo, por supuesto", "aaaa"}, {"fr", "Bien sûr, je vois", "aaaa"}, {"it", "Va bene", "aa"}, {"pt", "Com certeza", "aa"},
		{"nl", "Ik snap het", "aaa"}, {"nl", "Ik snap het niet", "aaaw"}, {"pl", "W porządku", "aa"}, {"cs", "V pořádku", "aa"},
		{"sk", "V poriadku", "aa"}, {"uk", "Все зрозуміло", "aa"}, {"ru", "Всё понятно", "aa"}, {"xx", "je vois, va bene", "aaaa"}, {"en", "je vois", "ww"},
	} {
		got := ""
		for _, agrees := range Agreement(c.lang, transcript.Words(c.text)) {
			got += map[bool]string{true: "a", false: "w"}[agrees]
		}
		if got != c.want {
			t.Errorf("%s %q: %s, want %s", c.lang, c.text, got, c.want)
		}
	}
	for lang, l := range languages {
		if len(l.phrases) < 10 {
			t.Errorf("%s has %d phrases", lang, len(l.phrases))
		}
		for _, p := range l.phrases {
			if slices.ContainsFunc(p, func(w string) bool { return l.not[w] }) {
				t.Errorf("%s: the phrase %q turns something round", lang, p)
			}
		}
	}
}

func TestBrokenListsAreRefused(t *testing.T) {
	for _, data := range []string{"", "agree ok\n", "nonsense a b\n", "phrase alone\n"} {
		if _, err := parseLanguage(data); err == nil {
			t.Errorf("%q is taken", data)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		lang, text string
		want       []string
	}{
		{"en", "", nil},
		{"en", " … !? ", nil},
		{"en", "One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"en", "It costs 3.5 euros. At 10.30 Dr. Smith comes, e.g. by train.", []string{"It costs 3.5 euros.", "At 10.30 Dr. Smith comes, e.g. by train."}},
		{"en", "J. R. Smith came. So did I. She came too.", []string{"J. R. Smith came.", "So did I.", "She came too."}},
		{"en", "Well… maybe. Well… Maybe.", []string{"Well… maybe.", "Well…", "Maybe."}},
		{"en", `He said "stop." Then he left.`, []string{`He said "stop."`, "Then he left."}},
		{"en", "1. First point. 2. Second point.", []string{"1. First point.", "2. Second point."}},
		{"en", "first line\nsecond line", []string{"first line", "second line"}},
		{"en", "See parley.example for more. Bye.", []string{"See parley.example for more.", "Bye."}},
		{"en", "Really?! Yes.", []string{"Really?!", "Yes."}},
		{"en", "No. We cannot.", []string{"No.", "We cannot."}},
		{"de", "Das ist z.B. gut. Ja, am 3. Oktober.", []string{"Das ist z.B. gut.", "Ja, am 3.", "Oktober."}},
		{"es", "¿Qué? ¡Sí! Bien.", []string{"¿Qué?", "¡Sí!", "Bien."}},
		{"zh", "你好。我很好！你呢？", []string{"你好。", "我很好！", "你呢？"}},
		{"hi", "यह है। वह है।", []string{"यह है।", "वह है।"}},
		{"uk", "Так. Ні! Чому?", []string{"Так.", "Ні!", "Чому?"}},
	} {
		if got := Sentences(c.text, c.lang, false); !slices.Equal(got, c.want) {
			t.Errorf("%s %q:\n got %q\nwant %q", c.lang, c.text, got, c.want)
		}
	}
}

func TestFirstSentenceIsCutAtAComma(t *testing.T) {
	long := "Given everything that we have heard so far, and there was a lot, I believe that we should wait."
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Short, and sweet. More.", []string{"Short, and sweet.", "More."}},
		{long, []string{"Given everything that we have heard so far,", "and there was a lot, I believe that we should wait."}},
		{"Yes, " + strings.Repeat("so ", 30) + "it is.", []string{"Yes, " + strings.Repeat("so ", 30) + "it is."}},
		{"It is about 10,000 or perhaps even 20,000 or 30,000 people that we would have to ask for this, at least.",
			[]string{"It is about 10,000 or perhaps even 20,000 or 30,000 people that we would have to ask for this,", "at least."}},
	} {
		if got := Sentences(c.text, "en", true); !slices.Equal(got, c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func FuzzSentences(f *testing.F) {
	f.Add("One. Two, three! 3.5 … 你好。x", "en", true)
	f.Add(strings.Repeat("word ", 200), "", false)
	f.Fuzz(func(t *testing.T, text, lang string, first bool) {
		text = text[:min(len(text), 2000)] // no publish is much longer
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if hasWord(string(r)) {
					return r
				}
				return -1
			}, s)
		}
		said := ""
		for _, s := range Sentences(text, lang, first) {
			if !hasWord(s) || len([]rune(s)) > longest {
				t.Fatalf("piece %q", s)
			}
			said += s
		}
		if letters(said) != letters(text) {
			t.Fatalf("%q became %q", letters(text), letters(said))
		}
		// Whatever way a text is streamed, its sentences are the same as at once.
		rest, n := "", 0
		for _, r := range text[:min(len(text), 300)] {
			var whole []string
			whole, rest = SplitStream(rest+string(r), lang)
			n += len(whole)
			for _, s := range whole {
				if !hasWord(s) {
					t.Fatalf("an empty sentence of %q", text)
				}
			}
		}
		IsComplete(text, lang)
		IsQuestion(text, lang)
	})
}

func TestAfterPrefix(t *testing.T) {
	for _, c := range []struct {
		text, prefix, rest string
		ok                 bool
	}{
		{"On the fourth. And so on.", "On the fourth.", "And so on.", true},
		{"on the fourth, and so on.", "On the fourth.", "and so on.", true},
		{"On the fourth", "On the fourth.", "", true},
		{"On the fifth. And so on.", "On the fourth.", "On the fifth. And so on.", false},
		{"On the", "On the fourth.", "On the", false},
		{"Sure! (As I said.)", "Sure.", "(As I said.)", true},
		{"Sure.", "…", "Sure.", false},
	} {
		rest, ok := afterPrefix(c.text, c.prefix)
		if rest != c.rest || ok != c.ok {
			t.Errorf("%q after %q: %q %v", c.text, c.prefix, rest, ok)
		}
	}
}

func TestNewWords(t *testing.T) {
	for _, c := range []struct{ now, before, want string }{
		{"when is the release", "when is the release", ""},
		{"when is the release of it", "when is the release", "of it"},
		{"when is the release", "", "when is the release"},
		{"so when was the release", "when is the release", "so was"},
		{"when is the releases", "when is the release", ""},
	} {
		if got := strings.Join(newWords(strings.Fields(c.now), strings.Fields(c.before)), " "); got != c.want {
			t.Errorf("%q after %q: %q, want %q", c.now, c.before, got, c.want)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"turn_hold_ms", "0", true},
		{"turn_hold_ms", "10000", true},
		{"turn_hold_ms", "10001", false},
		{"turn_hold_ms", "-1", false},
		{"turn_hold_ms", "NaN", false},
		{"turn_limit_s", "0", false},
		{"turn_extend_s", "20.5", true},
		{"superseded_publish", "speak", true},
		{"superseded_publish", "maybe", false},
		{"barge_in", "yes", false},
		{"barge_in", "false", true},
		{"barge_in_min_words", "0", false},
		{"barge_in_min_words", "1", true},
		{"ack_phrases", "Mhm. | Okay.|", true},
		{"ack_phrases", strings.Repeat("x", 101), false},
		{"ack_lang", "uk", true},
		{"ack_lang", "xx", false},
		{"agent_partials_interval_s", "0", false},
		{"no_such_thing", "1", false},
	} {
		s := Default()
		err := s.Set(c.name, c.value)
		if (err == nil) != c.ok {
			t.Errorf("%s = %q: %v", c.name, c.value, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.name) {
			t.Errorf("the error does not name the setting: %v", err)
		}
	}
	s := Default()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	for _, a := range All {
		v, ok := s.Get(a.Name)
		if !ok || a.Meaning == "" {
			t.Errorf("%s has no value or meaning", a.Name)
		}
		if err := s.Set(a.Name, v); err != nil {
			t.Errorf("the default of %s is not taken: %v", a.Name, err)
		}
	}
	if len(Phrases(s)) == 0 {
		t.Error("no clips to synthesize beforehand")
	}
}
