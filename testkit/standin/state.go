package standin

import "time"

// State is what a test may know: the truth about every visit.
type State struct {
	Visitors []Visitor `json:"visitors"`
	People   []Seat    `json:"people"`
	// Pending is how many things will happen by themselves.
	Pending int `json:"pending"`
}

// Visitor is one page and what was done on it.
type Visitor struct {
	ID        int    `json:"id"`
	Connected bool   `json:"connected"`
	Path      string `json:"path"`
	// Screen is what the page shows, since Since.
	Screen string    `json:"screen"`
	Since  time.Time `json:"since"`
	Stays  []Stay    `json:"stays"`
	// Name is the one that was given at the door.
	Name string `json:"name"`
	// Tries is how often the join button was pressed with a name.
	Tries      int    `json:"tries"`
	Microphone bool   `json:"microphone"`
	Camera     bool   `json:"camera"`
	Locked     bool   `json:"locked"`
	Hand       bool   `json:"hand"`
	Gate       string `json:"gate,omitempty"`
	// GateSince is when the gate was put up; a mutation may show it later.
	GateSince time.Time `json:"gate_since,omitzero"`
	Dialogs   []Dialog  `json:"dialogs,omitempty"`
	Breakout  string    `json:"breakout,omitempty"`
	ChatTo    string    `json:"chat_to"`
	// Media says that the visitor's sound is connected to the room.
	Media bool `json:"media"`
	// Speaking says that the visitor is heard now; Heard is how many seconds of it there were, PeakDB how loud the
	// loudest 20 ms of it was (0 is full scale, -120 silence).
	Speaking bool    `json:"speaking"`
	Heard    float64 `json:"heard_seconds"`
	PeakDB   float64 `json:"peak_db"`
	// Said are the chat messages that the visitor wrote.
	Said []Row `json:"said,omitempty"`
	Acts []Act `json:"acts,omitempty"`
}

// In says whether the visitor is in the meeting: on the call's page, with no gate before it.
func (v Visitor) In() bool { return v.Screen == "in" && v.Gate == "" }

// Newest is the visit that counts where nobody says which: the last that is connected, else the last.
func (s State) Newest() (Visitor, bool) {
	for i := len(s.Visitors) - 1; i >= 0; i-- {
		if s.Visitors[i].Connected {
			return s.Visitors[i], true
		}
	}
	if n := len(s.Visitors); n > 0 {
		return s.Visitors[n-1], true
	}
	return Visitor{}, false
}

func (p *play) state() State {
	s := State{People: p.roster(nil), Pending: len(p.pending)}
	for _, v := range p.visitors {
		o := Visitor{
			ID: v.id, Connected: v.connected, Path: v.address.Path, Screen: v.screen, Since: v.since, Name: v.name, Tries: v.tries,
			Microphone: v.mic, Camera: v.cam, GateSince: v.gateSince, Locked: v.locked, Hand: v.hand, Gate: v.gate, Breakout: v.breakout, ChatTo: v.chatTo,
			Media: v.seated, Speaking: v.speaking, PeakDB: silence,
		}
		o.Stays = append(o.Stays, v.stays...)
		o.Dialogs = append(o.Dialogs, v.dialogs...)
		o.Acts = append(o.Acts, v.acts...)
		for _, r := range v.chat {
			if r.Own {
				o.Said = append(o.Said, r)
			}
		}
		s.Visitors = append(s.Visitors, o)
	}
	return s
}
