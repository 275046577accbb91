package kokoro

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"parley/speech"
)

// spoken is a planner whose phonemes are the words themselves.
func spoken() *Planner {
	return &Planner{
		voices: []string{"af_heart", "am_michael", "bf_emma"},
		speak:  func(_ context.Context, lines []string, _ Accent) ([]string, error) { return lines, nil },
	}
}

func TestPlan(t *testing.T) {
	list, err := spoken().Plan(t.Context(), speech.SpeakRequest{Text: "🎉 Sure, it took 5 ms. Next 👍\n👋"})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		text, phonemes string
		pause          int
		common         bool
	}
	var got []row
	for _, c := range list {
		got = append(got, row{c.Text, c.Phonemes, c.Pause, c.Common})
	}
	want := []row{
		{"🎉 Sure, it took 5 ms.", "Sure, it took five milliseconds.", pauseLong, false},
		{"Next 👍 👋", "Next", 0, false},
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
	list, err = spoken().Plan(t.Context(), speech.SpeakRequest{Text: "Sure. Yes."})
	if err != nil || len(list) != 2 || !list[0].Common || list[1].Common != true || list[1].Pause != 0 || list[0].Pause != pauseLong {
		t.Errorf("%+v %v", list, err)
	}
	for _, empty := range []string{"", "  ", "🎉", "...", "—"} {
		if list, err := spoken().Plan(t.Context(), speech.SpeakRequest{Text: empty}); err != nil || len(list) != 0 {
			t.Errorf("%q: %+v %v", empty, list, err)
		}
	}
}

func TestPlanDividesWhatTheModelCannotTakeAtOnce(t *testing.T) {
	p := spoken()
	p.speak = func(_ context.Context, lines []string, _ Accent) ([]string, error) {
		return []string{strings.Repeat("word ", 300)}, nil
	}
	list, err := p.Plan(t.Context(), speech.SpeakRequest{Text: "Short."})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 || list[0].Text != "Short." || list[1].Text != "" {
		t.Errorf("%+v", list)
	}
	for _, c := range list {
		if n := len([]rune(c.Phonemes)); n > maxPhonemes || n == 0 {
			t.Errorf("%d phonemes", n)
		}
	}
}

func TestVoiceAndLanguage(t *testing.T) {
	p := spoken()
	for _, c := range []struct{ voice, lang, want string }{
		{"", "", "af_heart"}, {"", "en", "af_heart"}, {"", "en-GB", "bf_emma"}, {"", "en_us", "af_heart"},
		{"am_michael", "en", "am_michael"}, {"nobody", "", ""}, {"", "de", ""}, {"", "enm", ""},
	} {
		got, err := p.voice(speech.SpeakRequest{Voice: c.voice, Lang: c.lang})
		if got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		var typed *speech.Error
		if c.want == "" && (!errors.As(err, &typed) || typed.Kind != speech.KindInput) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if v := p.Voices(); len(v) != 3 || v[2].Lang != "en-GB" || v[1].Note != "male" {
		t.Errorf("%+v", v)
	}
}

// Letters that would be spelled ("cyrillic letter, cyrillic letter") are no speech, and nobody is told that they were said.
func TestOtherAlphabetsAreRefused(t *testing.T) {
	p := spoken()
	for text, want := range map[string]bool{
		"Привіт, як справи?": false, "日本語のテキスト。": false, "مرحبا بالعالم": false, "Це ж ok.": false,
		"Hello.": true, "Grüße aus Zürich.": true, "It is in Київ, they say.": true, "12:30!": true,
	} {
		_, err := p.Plan(t.Context(), speech.SpeakRequest{Text: text})
		if (err == nil) != want || err != nil && speech.KindOf(err) != speech.KindInput {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWithoutAnythingForPhonemes(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := NewPlanner([]string{"af_heart"}, "/nowhere/list.json"); err == nil || !strings.Contains(err.Error(), "espeak-ng") {
		t.Errorf("%v", err)
	}
	if _, err := NewPlanner(nil); err == nil {
		t.Error("a planner without a voice")
	}
}

// espeak-ng gives one line for each, whatever stands in it.
func TestEspeak(t *testing.T) {
	if testing.Short() {
		t.Skip("needs espeak-ng; run without -short")
	}
	path, err := exec.LookPath("espeak-ng")
	if err != nil {
		t.Fatal("espeak-ng is missing: run make setup")
	}
	e := espeak{path}
	lines := []string{"hello there", "the A P I", "o'clock", "déjà vu", "日本語", strings.Repeat("word ", 200), "it's"}
	got, err := e.phonemes(t.Context(), lines, American)
	if err != nil || len(got) != len(lines) {
		t.Fatalf("%d of %d lines: %v", len(got), len(lines), err)
	}
	if got[0] != "həlˈO ðˈɛɹ" || got[1] != "ðɪ ˈA pˈi ˈI" {
		t.Errorf("%q", got[:2])
	}
	if _, err := (espeak{"/bin/false"}).phonemes(t.Context(), lines, American); err == nil {
		t.Error("a program that fails is no error")
	}
}
