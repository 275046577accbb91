package room

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/observe"
	"parley/platforms/sign"
)

// shown is what read.js tells.
type shown struct {
	Microphone button    `json:"microphone"`
	Hand       button    `json:"hand"`
	People     []person  `json:"people"` // null when the page has no list
	Messages   []message `json:"messages"`
	Dialogs    []dialog  `json:"dialogs"`
}

type button struct {
	Found   bool              `json:"found"`
	Enabled bool              `json:"enabled"`
	Name    string            `json:"name"`
	Attrs   map[string]string `json:"attrs"`
}

type person struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Self     bool   `json:"self"`
	Host     bool   `json:"host"`
	Muted    bool   `json:"muted"`
	Hand     bool   `json:"hand"`
	Speaking bool   `json:"speaking"`
}

type message struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	Own    bool   `json:"own"`
	Sender string `json:"sender"`
	Text   string `json:"text"`
	At     string `json:"at"`
}

type dialog struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Choices []string `json:"choices"`
}

// reader turns looks into events. The run loop owns it.
type reader struct {
	call   *Call
	engine *sign.Engine

	people   []meeting.Person
	speaking []string
	self     bool // we are shown speaking
	device   meeting.SeenDevice
	heard    map[string]bool // ids of messages that were told
	order    []string
	dialogs  map[string]dialog
}

// messagesKept bounds how many ids of messages are remembered.
const messagesKept = 1024

// take takes a report.
func (r *reader) take(now time.Time, report observe.Report) {
	var s shown
	if report.Failed == "" && len(report.Data) > 0 {
		if err := json.Unmarshal(report.Data, &s); err != nil {
			r.call.log.Warn("unreadable report of the page", "error", err)
			report.Failed = "unreadable"
		}
	}
	r.call.update(func(st *state) {
		st.hits = report.Hits
		if report.Failed == "" {
			r.note(st, s)
		}
	})
	r.look(now, report.Look())
	if report.Failed != "" || report.Blank {
		return
	}
	r.roster(s.People)
	r.speakers(now, s.People)
	r.microphone(s.Microphone)
	r.chat(now, s.Messages)
	r.dialog(s.Dialogs)
}

// note keeps what acts wait for. The caller holds the lock.
func (r *reader) note(st *state, s shown) {
	st.mic = micState(s.Microphone)
	st.handSeen, st.handUp = s.Hand.Found, s.Hand.Attrs["aria-pressed"] == "true"
	st.people = map[string]meeting.Person{}
	for _, p := range s.People {
		st.people[p.ID] = p.value()
	}
	for _, m := range s.Messages {
		if !m.Own {
			continue
		}
		if _, ok := st.own[m.ID]; !ok {
			st.ownOrder = append(st.ownOrder, m.ID)
		}
		st.own[m.ID] = fold(m.Text)
	}
	for len(st.ownOrder) > ownKept {
		delete(st.own, st.ownOrder[0])
		st.ownOrder = st.ownOrder[1:]
	}
}

func micState(b button) meeting.Device {
	return ui.Devices["microphone"].Read(sign.Control{Found: b.Found, Enabled: b.Enabled, Name: b.Name, Attrs: b.Attrs})
}

func (p person) value() meeting.Person {
	return meeting.Person{ID: p.ID, Name: p.Name, Self: p.Self, Host: p.Host, Muted: p.Muted, HandUp: p.Hand, LikelyAI: !p.Self && platforms.LikelyAI(p.Name)}
}

// look asks the engine where we are.
func (r *reader) look(now time.Time, l sign.Look) {
	if d, changed := r.engine.See(now, l); changed {
		r.decided(d)
	}
}

func (r *reader) decided(d sign.Decision) {
	r.call.update(func(s *state) { s.decision = d })
	r.call.log.Debug("place", "place", d.Place, "reason", d.Reason, "signs", d.Signs)
	r.call.events.Put(meeting.SeenPlace{Place: d.Place, Signs: d.Signs, Text: d.Text, Reason: string(d.Reason)})
}

// roster tells who is there, when that changes. An empty list is a page that is not in a call: it says nothing.
func (r *reader) roster(people []person) {
	if len(people) == 0 {
		return
	}
	list := make([]meeting.Person, len(people))
	for i, p := range people {
		list[i] = p.value()
	}
	if slices.Equal(list, r.people) {
		return
	}
	r.people = list
	r.call.events.Put(meeting.SeenPeople{Count: len(list), People: slices.Clone(list)})
}

// speakers tells who is shown speaking, ourselves left out: when it changes, and again with every report while it lasts.
func (r *reader) speakers(now time.Time, people []person) {
	var ids, names []string
	self := false
	for _, p := range people {
		switch {
		case p.Speaking && p.Self:
			self = true
		case p.Speaking:
			ids, names = append(ids, p.ID), append(names, p.Name)
		}
	}
	if len(ids) == 0 && len(r.speaking) == 0 && self == r.self {
		return
	}
	r.speaking, r.self = ids, self
	r.call.events.Put(meeting.SeenSpeaking{IDs: ids, Names: names, Self: self, At: now})
}

func (r *reader) microphone(b button) {
	if !b.Found && r.engine.Decided().Place != meeting.PlaceIn {
		return // there is none to read yet
	}
	d := meeting.SeenDevice{Microphone: micState(b), Camera: meeting.DeviceOff} // rooms have no cameras
	if d != r.device {
		r.device = d
		r.call.events.Put(d)
	}
}

// chat tells each message once, also when the page was loaded anew.
func (r *reader) chat(now time.Time, messages []message) {
	if r.heard == nil {
		r.heard = map[string]bool{}
	}
	for _, m := range messages {
		if m.ID == "" || r.heard[m.ID] {
			continue
		}
		r.heard[m.ID] = true
		r.order = append(r.order, m.ID)
		if len(r.order) > messagesKept {
			delete(r.heard, r.order[0])
			r.order = r.order[1:]
		}
		at, err := time.Parse(time.RFC3339, m.At)
		if err != nil {
			at = now
		}
		r.call.events.Put(meeting.SeenChat{ID: m.ID, Sender: m.Sender, Text: m.Text, Own: m.Own, At: at})
	}
}

// dialog tells of dialogs that come and go. The room has none of its own, so that ui.json knows none:
// whatever comes is a question.
func (r *reader) dialog(dialogs []dialog) {
	now := map[string]dialog{}
	for _, d := range dialogs {
		now[d.ID] = d
		if _, ok := r.dialogs[d.ID]; !ok {
			ruling := ui.Rule(sign.Dialog{Text: d.Text, Choices: d.Choices}, 0)
			r.call.events.Put(meeting.SeenDialog{ID: d.ID, Kind: ruling.Kind, Text: d.Text, Choices: ruling.Choices, Open: true})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.dialogs)) {
		if _, ok := now[id]; !ok {
			d := r.dialogs[id]
			r.call.events.Put(meeting.SeenDialog{ID: id, Kind: sign.DialogUnknown, Text: d.Text, Choices: d.Choices})
		}
	}
	r.dialogs = now
}
