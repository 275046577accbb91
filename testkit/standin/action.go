package standin

import (
	"fmt"
	"slices"
	"strings"
)

// Action is something that happens, by a step of a scenario or by a test.
type Action struct {
	// Do says what: one of the keys of Actions.
	Do string `json:"do"`
	// Visitor is whom it happens to; zero means the newest.
	Visitor int `json:"visitor,omitempty"`
	// Who is the simulated person who does it.
	Who string `json:"who,omitempty"`
	// Text is said, shown or written.
	Text string `json:"text,omitempty"`
	// Kind is a screen, a dialog or a device.
	Kind string `json:"kind,omitempty"`
	// File is played.
	File string `json:"file,omitempty"`
	// Hz and Seconds make a tone instead of a file.
	Hz      float64 `json:"hz,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// State is "on" or "off", for what can be either; empty means on, and off for devices.
	State string `json:"state,omitempty"`
	// MS is a duration.
	MS int `json:"ms,omitempty"`
	// Count is a number to show; negative shows none.
	Count *int `json:"count,omitempty"`
}

// needs says what an action cannot do without.
type needs struct {
	who, text, kind, sound bool
	about                  string
}

// actions is everything that can happen.
var actions = map[string]needs{
	"admit":        {about: "lets the visitor in"},
	"deny":         {about: "somebody in the call says no; kind names another screen than \"denied\""},
	"screen":       {kind: true, about: "shows a screen (kind), whatever came before; text replaces its words"},
	"remove":       {about: "the host puts the visitor out"},
	"end":          {about: "the host ends the meeting for everyone; kind names another end"},
	"say":          {who: true, text: true, about: "a person writes into the chat; kind \"private\" to the visitor alone"},
	"speak":        {who: true, sound: true, about: "a person plays a file, or a tone of hz for seconds"},
	"caption":      {who: true, text: true, about: "the page's captions show a person's words"},
	"come":         {who: true, about: "a person comes in; kind \"host\", \"extra\" or \"muted\""},
	"go":           {who: true, about: "a person leaves"},
	"rename":       {who: true, text: true, about: "a person's name is another"},
	"mute-person":  {who: true, about: "a person's microphone goes off, or on with state off"},
	"hand-person":  {who: true, about: "a person raises a hand, or lowers it with state off"},
	"share":        {who: true, about: "a person shares the screen, or ceases with state off"},
	"mute":         {about: "the host mutes the visitor"},
	"lock":         {about: "nobody but the host may unmute the visitor; off with state off"},
	"ask-unmute":   {about: "the host asks the visitor to unmute"},
	"devices":      {kind: true, about: "the page itself switches a device (kind microphone, camera or both) off, or on with state on"},
	"dialog":       {kind: true, about: "shows a dialog (kind); text replaces its words"},
	"close-dialog": {about: "takes a dialog (kind) away, or all of them"},
	"toast":        {text: true, about: "shows a notice for some seconds (ms)"},
	"chat-off":     {about: "the host switches the chat off, or on with state off"},
	"chat-to":      {kind: true, about: "whom the visitor's messages go to: \"everyone\", \"host\" or a person's name"},
	"breakout":     {about: "the visitor is moved to a breakout room (text names it), and back with state off; ms is how long that takes"},
	"network":      {kind: true, about: "what the page shows of its connection (kind reconnecting, lost or fine)"},
	"count":        {about: "the number of people that the page shows"},
	"flag":         {kind: true, about: "switches a flag (kind) on, or off with state off"},
	"hang":         {about: "the page does not answer for some milliseconds (ms)"},
	"blank":        {about: "the page is empty, until a screen is shown"},
	"reload":       {about: "the page loads itself anew"},
	"lang":         {kind: true, about: "the page changes to another language (kind)"},
}

// Actions lists what can happen and what it is, for people.
func Actions() []string {
	var all []string
	for name, n := range actions {
		all = append(all, name+": "+n.about)
	}
	slices.Sort(all)
	return all
}

func (a Action) on() bool { return a.State != "off" }

// check says what is wrong with an action. People may be nil when who is there is not known.
func (a Action) check(k Kind, people map[string]bool) error {
	n, ok := actions[a.Do]
	if !ok {
		var all []string
		for name := range actions {
			all = append(all, name)
		}
		slices.Sort(all)
		return fmt.Errorf("do %q: there are %s", a.Do, strings.Join(all, ", "))
	}
	among := func(kinds []string) error {
		if a.Kind != "" && !slices.Contains(kinds, a.Kind) {
			return fmt.Errorf("%s: kind %q: there are %s", a.Do, a.Kind, strings.Join(kinds, ", "))
		}
		return nil
	}
	switch {
	case n.who && a.Who == "":
		return fmt.Errorf("%s: who is missing", a.Do)
	case n.text && a.Text == "":
		return fmt.Errorf("%s: text is missing", a.Do)
	case n.kind && a.Kind == "":
		return fmt.Errorf("%s: kind is missing", a.Do)
	case n.sound && a.File == "" && (a.Hz <= 0 || a.Seconds <= 0):
		return fmt.Errorf("%s: file is missing, or hz and seconds", a.Do)
	case a.Seconds < 0 || a.Seconds > 3600 || a.Hz < 0 || a.Hz > 20000:
		return fmt.Errorf("%s: a tone has up to 20000 hz and an hour", a.Do)
	case a.MS < 0 || a.MS > 3600_000:
		return fmt.Errorf("%s: ms %d is not between 0 and an hour", a.Do, a.MS)
	case n.who && people != nil && a.Do != "come" && !people[a.Who]:
		return fmt.Errorf("%s: nobody is called %q", a.Do, a.Who)
	case a.State != "" && a.State != "on" && a.State != "off":
		return fmt.Errorf("%s: state %q: it is on or off", a.Do, a.State)
	case a.Do == "count" && a.Count == nil:
		return fmt.Errorf("%s: count is missing", a.Do)
	}
	switch a.Do {
	case "screen", "deny", "end":
		return among(k.screens())
	case "dialog", "close-dialog":
		return among(k.Dialogs)
	case "flag":
		return among(k.Flags)
	case "devices":
		return among([]string{"microphone", "camera", "both"})
	case "network":
		return among([]string{"reconnecting", "lost", "fine"})
	case "come":
		return among([]string{"host", "extra", "muted"})
	case "say":
		return among([]string{"private"})
	case "lang":
		langs, err := k.Languages()
		if err != nil {
			return err
		}
		return among(langs)
	}
	return nil
}
