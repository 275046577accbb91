package sign

import (
	"slices"
	"strings"
	"testing"
)

func dialogs(t testing.TB) *Table {
	t.Helper()
	tab, err := ParseTable([]byte(strings.TrimSuffix(strings.TrimSpace(testTable), "}") + `, "dialogs": [
		{"name": "no devices", "kind": "device", "texts": {"en": ["Do you want people to hear you"]}, "buttons": {"en": ["Continue without microphone and camera", "Continue without microphone"]}},
		{"name": "tip", "kind": "tip", "texts": {"en": ["Others may see your video differently"], "uk": ["Зрозуміло"]}, "buttons": {"en": ["Got it"], "uk": ["Зрозуміло"]}},
		{"name": "taking notes", "kind": "consent", "texts": {"en": ["is taking notes", "is being recorded"]}, "buttons": {"en": ["Join now"]}},
		{"name": "unmute", "kind": "unmute-request", "texts": {"en": ["would like you to unmute"]}, "buttons": {"en": ["Unmute"]}},
		{"name": "guessed", "kind": "tip", "texts": {"de": ["Alles klar"]}, "buttons": {"de": ["Alles klar"]}, "unverified": ["de"]},
		{"name": "guessed gate", "kind": "consent", "texts": {"de": ["macht Notizen"]}, "buttons": {"en": ["Join now"]}, "unverified": ["de"]},
		{"name": "built like a gate", "kind": "consent", "selector": "[aria-modal] [data-action=ok]", "buttons": {"en": ["Join now"]}},
		{"name": "buttons of a gate", "kind": "consent", "by_buttons": true, "buttons": {"en": ["Join now"]}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestDialogsAreAnsweredByTheAllowListAlone(t *testing.T) {
	tab := dialogs(t)
	for _, c := range []struct {
		name, text  string
		choices     []string
		times       int
		kind, press string
		first       string
	}{
		{"known", "Do you want people to hear you in the meeting?", []string{"Use microphone", "Continue without microphone"}, 0, "device", "Continue without microphone", "Use microphone"},
		{"the most wanted of two", "Do you want people to hear you?", []string{"Continue without microphone", "Continue without microphone and camera"}, 0, "device", "Continue without microphone and camera", "Continue without microphone"},
		{"typography does not matter", "OTHERS  may see\u00a0your video differently", []string{"Got it"}, 0, "tip", "Got it", "Got it"},
		{"another language", "… Зрозуміло", []string{"Зрозуміло"}, 0, "tip", "Зрозуміло", "Зрозуміло"},
		{"it comes back", "Do you want people to hear you?", []string{"Continue without microphone"}, 1, "unknown", "", "Continue without microphone"},
		{"its button is not there", "Others may see your video differently", []string{"OK"}, 0, "unknown", "", "OK"},
		{"part of a button is not the button", "Others may see your video differently", []string{"Got it, leave"}, 0, "unknown", "", "Got it, leave"},
		{"consent is never pressed, its accepting button comes first", "Gemini is taking notes for Ada", []string{"Leave", "Join now"}, 0, "consent", "", "Join now"},
		{"nor is a request to unmute", "The host would like you to unmute", []string{"Unmute", "Stay muted"}, 0, "unmute-request", "", "Unmute"},
		{"nobody knows it", "Do you accept our terms?", []string{"Accept", "Leave"}, 0, "unknown", "", "Accept"},
		{"words nobody has seen are asked about", "Alles klar?", []string{"Alles klar"}, 0, "unknown", "", "Alles klar"},
		{"no buttons", "Others may see your video differently", nil, 0, "unknown", "", ""},
	} {
		r := tab.Rule(Dialog{Text: c.text, Choices: c.choices}, c.times)
		first := ""
		if len(r.Choices) > 0 {
			first = r.Choices[0]
		}
		if r.Kind != c.kind || r.Press != c.press || first != c.first || len(r.Choices) != len(c.choices) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestAGateInOtherWordsIsStillAGate(t *testing.T) {
	tab := dialogs(t)
	for _, c := range []struct {
		name    string
		d       Dialog
		kind    string
		unsure  bool
		leading string
	}{
		{"its own words and button", Dialog{Text: "Gemini is taking notes", Choices: []string{"Leave", "Join now"}}, DialogConsent, false, "Join now"},
		{"its own words, another button", Dialog{Text: "Gemini is taking notes", Choices: []string{"Leave", "Enter"}}, DialogConsent, true, "Leave"},
		{"words nobody has seen", Dialog{Text: "Gemini macht Notizen", Choices: []string{"Leave", "Join now"}}, DialogConsent, true, "Join now"},
		{"its build alone", Dialog{Text: "Neznáme slová", Choices: []string{"Odísť", "Vstúpiť"}, Made: []string{"built like a gate"}}, DialogConsent, true, "Odísť"},
		{"its buttons alone", Dialog{Text: "Neznáme slová", Choices: []string{"Odísť", "Join now"}}, DialogConsent, true, "Join now"},
		{"one button is no choice", Dialog{Text: "Neznáme slová", Choices: []string{"Join now"}}, DialogUnknown, false, "Join now"},
		{"neither", Dialog{Text: "Neznáme slová", Choices: []string{"Odísť", "Vstúpiť"}}, DialogUnknown, false, "Odísť"},
	} {
		if r := tab.Rule(c.d, 0); r.Kind != c.kind || r.Unsure != c.unsure || r.Press != "" || r.Choices[0] != c.leading {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestRulesCannotPressWhatTakesUsOut(t *testing.T) {
	for _, button := range []string{"Leave", "Leave call", "Anruf verlassen", "Quitter l'appel", "Покинуть звонок", "Allow microphone", "Sign in"} {
		raw := strings.TrimSuffix(strings.TrimSpace(testTable), "}") + `, "dialogs": [{"name": "x", "kind": "tip", "texts": {"en": ["hello"]}, "buttons": {"en": ["` + button + `"]}}]}`
		if _, err := ParseTable([]byte(raw)); err == nil {
			t.Errorf("%q was taken", button)
		}
	}
}

func FuzzDialog(f *testing.F) {
	f.Add("Others may see your video differently", "Got it", "Leave call")
	f.Add("is taking notes", "Leave", "Join now")
	tab := dialogs(f)
	f.Fuzz(func(t *testing.T, text, a, b string) {
		r := tab.Rule(Dialog{Text: text, Choices: []string{a, b}}, 0)
		if r.Press != "" && (forbidden(r.Press) || !slices.Contains([]string{a, b}, r.Press) || !slices.Contains(answerable, r.Kind)) {
			t.Fatalf("%+v", r)
		}
		if len(r.Choices) != 2 && a != b {
			t.Fatalf("choices were lost: %+v", r)
		}
	})
}
