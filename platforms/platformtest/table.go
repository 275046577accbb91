package platformtest

import (
	"slices"
	"testing"

	"parley/platforms/sign"
)

// ours are the targets that every module has which is worked by platforms/attend.
var ours = []string{"microphone", "camera", "leave", "people", "chat", "message", "send", "raise", "lower", "dialog"}

// Table holds a module's table against its code: it has the targets that are asked for, every sign that must be there, and
// words in every language for what decides.
func Table(t *testing.T, table *sign.Table, langs []string, targets ...string) {
	t.Helper()
	for _, name := range append(slices.Clone(ours), targets...) {
		if _, ok := table.Targets[name]; !ok {
			t.Errorf("no target %q", name)
		}
	}
	for _, name := range []string{"name-field", "join-button", "leave", "challenge-frame"} {
		if !slices.ContainsFunc(table.Signs, func(s sign.Sign) bool { return s.Name == name }) {
			t.Errorf("no sign %q", name)
		}
	}
	for _, lang := range langs {
		for _, kind := range []sign.Kind{sign.Out, sign.Waiting, sign.Lobby, sign.In} {
			if !slices.ContainsFunc(table.Signs, func(s sign.Sign) bool { return s.Kind == kind && (s.Texts[lang] != nil || s.Names[lang] != nil) }) {
				t.Errorf("no words of %s for what is %s", lang, kind)
			}
		}
		for _, device := range []string{"microphone", "camera"} {
			if d := table.Devices[device]; len(d.On[lang]) == 0 || len(d.Off[lang]) == 0 {
				t.Errorf("the %s cannot be read in %s", device, lang)
			}
		}
	}
	for _, s := range table.Signs {
		if s.Kind == sign.Out && len(s.Texts) > 0 && s.Selector == "" && s.Role == "" && !s.Title && !s.Exact {
			for lang, words := range s.Texts {
				for _, w := range words {
					if len([]rune(w)) < 10 {
						t.Errorf("%s: %q (%s) is too short to end a meeting wherever it stands", s.Name, w, lang)
					}
				}
			}
		}
	}
}
