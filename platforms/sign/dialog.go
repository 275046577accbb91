package sign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The kinds of dialogs. Only the first five may be answered without asking anybody.
const (
	DialogTip       = "tip"              // "Got it"
	DialogCookie    = "cookie"           // a banner about cookies
	DialogDevice    = "device"           // "Continue without microphone and camera"
	DialogNotice    = "recording-notice" // tells that somebody records, and holds nothing back
	DialogSurvey    = "survey"           // how was the call?
	DialogConsent   = "consent"          // agree on behalf of our owner, or do not take part
	DialogSignIn    = "sign-in"
	DialogChallenge = "challenge"
	DialogUnmute    = "unmute-request"
	DialogOurs      = "ours" // the module works it itself, or it tells of an end: nobody is asked
	DialogUnknown   = "unknown"
)

var (
	answerable  = []string{DialogTip, DialogCookie, DialogDevice, DialogNotice, DialogSurvey}
	dialogKinds = append(slices.Clone(answerable), DialogConsent, DialogSignIn, DialogChallenge, DialogUnmute, DialogOurs)
)

// DialogRule knows one dialog of a platform by its words.
type DialogRule struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Texts are words of which one must stand in the dialog, by language. Selector is what the dialog is made of; with
	// both, both must fit.
	Texts    map[string][]string `json:"texts,omitempty"`
	Selector string              `json:"selector,omitempty"`
	// Buttons are those that may be pressed, most wanted first; for consent and unmute-request, those that accept.
	Buttons map[string][]string `json:"buttons,omitempty"`
	// ByButtons knows the dialog by its buttons: one of Buttons must stand in it, and something else beside it.
	ByButtons bool `json:"by_buttons,omitempty"`
	// Sole knows the dialog by its having nothing to choose but Buttons, and ways to read more: a tip in any words. Buttons
	// are of languages that were seen.
	Sole bool `json:"sole,omitempty"`
	// Times is how often it may be answered; zero means once. Some pages ask the same thing twice.
	Times int `json:"times,omitempty"`
	// Unverified lists the languages whose words were never seen in a public source. Their dialogs are asked about.
	Unverified []string `json:"unverified,omitempty"`
}

// Dialog is one that stands on the page.
type Dialog struct {
	Text    string   // all its text, from the page: untrusted
	Choices []string // the names of its buttons
	Made    []string // names of the rules whose selector it fits
}

// Ruling is what to do about a dialog.
type Ruling struct {
	Kind string
	Rule string // the rule that knew it, "" for none
	// Press is the button to press now; empty: nobody presses anything, the dialog is reported.
	Press string
	// Choices are the dialog's buttons; an accepting one comes first, where it is known.
	Choices []string
	// Unsure says of a gate that only its build, or words nobody has seen, made us take it for one, or that its accepting
	// choice is not known: a policy that accepts gates is no answer to it.
	Unsure bool
}

// never are words of buttons that are not pressed whatever a rule says: they take us out, or cannot be taken back.
var never = []string{"leave", "end call", "end meeting", "hang up", "exit", "verlassen", "auflegen", "beenden", "quitter", "salir", "abbandona", "esci", "verlaat",
	"покинуть", "выйти", "завершить", "вийти", "покинути", "завершити", "odísť", "opustiť", "delete", "remove", "allow", "sign in"}

// Rule says what a dialog is. times is how often this very dialog was answered already: one that comes back after an
// answer is not what we took it for.
func (t *Table) Rule(d Dialog, times int) Ruling {
	text := fold(d.Text + " " + strings.Join(d.Choices, " "))
	for _, r := range t.Dialogs {
		lang := ""
		if len(r.Texts) > 0 {
			if lang = matchLang(r.Texts, text); lang == "" {
				continue
			}
		}
		if r.Selector != "" && !slices.Contains(d.Made, r.Name) {
			continue
		}
		button := r.button(d.Choices)
		if r.ByButtons && (button == "" || len(d.Choices) < 2) {
			continue
		}
		if r.Sole && !r.sole(d.Choices) {
			continue
		}
		ruling := Ruling{Kind: r.Kind, Rule: r.Name, Choices: d.Choices}
		doubtful := slices.Contains(r.Unverified, lang)
		if doubtful && r.Kind != DialogOurs && r.Kind != DialogConsent {
			ruling.Kind = DialogUnknown
			return ruling
		}
		if r.Kind == DialogConsent {
			ruling.Unsure = doubtful || button == "" || len(r.Texts) == 0
		}
		switch {
		case (r.Kind == DialogConsent || r.Kind == DialogUnmute) && button != "":
			ruling.Choices = append([]string{button}, slices.DeleteFunc(slices.Clone(d.Choices), func(c string) bool { return c == button })...)
		case !slices.Contains(answerable, r.Kind):
		case button == "" || times >= max(r.Times, 1):
			ruling.Kind = DialogUnknown
		default:
			ruling.Press = button
		}
		return ruling
	}
	return Ruling{Kind: DialogUnknown, Choices: d.Choices}
}

// button is the most wanted of those that are there: the whole name counts, since "Leave" may hold "Lea".
func (r DialogRule) button(choices []string) string {
	for _, want := range All(r.Buttons) {
		for _, c := range choices {
			if fold(c) == fold(want) && !forbidden(c) {
				return c
			}
		}
	}
	return ""
}

// more are words of buttons that show more of the same and decide nothing.
var more = []string{"learn more", "more information", "mehr erfahren", "weitere informationen", "докладніше", "подробнее", "más información", "en savoir plus", "ulteriori informazioni", "scopri di più", "meer informatie", "ďalšie informácie"}

// sole says whether there is nothing to choose but the rule's buttons.
func (r DialogRule) sole(choices []string) bool {
	known := false
	for _, c := range choices {
		is := r.button([]string{c}) != ""
		known = known || is
		if !is && !slices.Contains(more, fold(c)) {
			return false
		}
	}
	return known
}

// Forbidden says of a button that nobody presses it by a rule: it would take us out, or cannot be taken back.
func Forbidden(choice string) bool { return forbidden(choice) }

func forbidden(choice string) bool {
	f := fold(choice)
	return slices.ContainsFunc(never, func(w string) bool { return strings.Contains(f, w) })
}

func matchLang(words map[string][]string, text string) string {
	langs := make([]string, 0, len(words))
	for l := range words {
		langs = append(langs, l)
	}
	slices.Sort(langs)
	for _, l := range langs {
		for _, w := range words[l] {
			if strings.Contains(text, fold(w)) {
				return l
			}
		}
	}
	return ""
}

func (r DialogRule) check() error {
	switch {
	case r.Name == "" || len(r.Texts) == 0 && r.Selector == "" && !r.ByButtons && !r.Sole:
		return errors.New("a dialog needs a name, and words, a selector or buttons to know it by")
	case (r.ByButtons || r.Sole) && len(r.Buttons) == 0:
		return errors.New("no buttons to know it by")
	case r.ByButtons && slices.Contains(answerable, r.Kind):
		return errors.New("what is known by a button alone is not answered by it")
	case !slices.Contains(dialogKinds, r.Kind):
		return fmt.Errorf("unknown kind of dialog %q", r.Kind)
	}
	for _, lang := range r.Unverified {
		if r.Texts[lang] == nil {
			return fmt.Errorf("language %q is unverified and absent", lang)
		}
	}
	for _, b := range All(r.Buttons) {
		if forbidden(b) {
			return fmt.Errorf("the button %q is never pressed", b)
		}
	}
	return nil
}
