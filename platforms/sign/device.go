package sign

import (
	"strings"

	"parley/meeting"
)

// DeviceRule says how a device's button tells its state: by the name of what a click would do, and by an attribute.
type DeviceRule struct {
	// On are names of the button while the device is on ("Mute microphone"); Off while it is off.
	On  map[string][]string `json:"on"`
	Off map[string][]string `json:"off"`
	// Attr is an attribute that tells the state as well, and States its values.
	Attr   string                    `json:"attr,omitempty"`
	States map[string]meeting.Device `json:"states,omitempty"`
}

// Control is a device's button as it is now.
type Control struct {
	Found   bool
	Enabled bool
	Name    string
	Attrs   map[string]string
}

// Read tells the device's state. Two witnesses that disagree, and a button that is not there, are unknown; a button that
// takes no click while the device is not on is blocked.
func (r DeviceRule) Read(c Control) meeting.Device {
	if !c.Found {
		return meeting.DeviceUnknown
	}
	byName := meeting.DeviceUnknown
	name := fold(c.Name)
	// "Unmute microphone" holds "mute microphone": the longest match is what the button says.
	longest := 0
	for state, words := range map[meeting.Device]map[string][]string{meeting.DeviceOn: r.On, meeting.DeviceOff: r.Off} {
		for _, w := range All(words) {
			if f := fold(w); len(f) > longest && strings.Contains(name, f) {
				byName, longest = state, len(f)
			}
		}
	}
	byAttr := meeting.DeviceUnknown
	if r.Attr != "" {
		if s, ok := r.States[c.Attrs[r.Attr]]; ok {
			byAttr = s
		}
	}
	state := byName
	switch {
	case byAttr == meeting.DeviceBlocked:
		return meeting.DeviceBlocked
	case byName == meeting.DeviceUnknown:
		state = byAttr
	case byAttr != meeting.DeviceUnknown && byAttr != byName:
		return meeting.DeviceUnknown
	}
	if !c.Enabled && state != meeting.DeviceOn {
		return meeting.DeviceBlocked
	}
	return state
}

var typography = strings.NewReplacer("’", "'", "ʼ", "'", "‘", "'", "…", "...")

// fold makes names comparable as the page's reader does.
func fold(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(typography.Replace(s)), " "))
}
