package attend

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/observe"
	"parley/platforms/sign"
)

// Shown is what a module's script tells of the page beside its signs.
type Shown struct {
	Here       string    `json:"here"` // host and path
	Microphone Button    `json:"microphone"`
	Camera     Button    `json:"camera"`
	Hand       Button    `json:"hand"`
	People     []Person  `json:"people"` // null: the page shows nobody now
	Whole      bool      `json:"whole"`  // People are all who are there, not only those in view
	Count      *int      `json:"count"`  // ourselves included; null: the page does not tell
	Always     bool      `json:"always"` // somebody is always shown as speaking, also in silence
	Chat       ChatPanel `json:"chat"`
	Messages   []Message `json:"messages"`
	Captions   []Caption `json:"captions"`
	Dialogs    []Dialog  `json:"dialogs"`
}

// Button is a control as it is.
type Button struct {
	Found   bool              `json:"found"`
	Enabled bool              `json:"enabled"`
	Name    string            `json:"name"`
	Attrs   map[string]string `json:"attrs"`
}

// Person is somebody whom the page shows.
type Person struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Self     bool   `json:"self"`
	Host     bool   `json:"host"`
	Muted    bool   `json:"muted"`
	Hand     bool   `json:"hand"`
	Speaking bool   `json:"speaking"`
}

// ChatPanel is the chat as it is.
type ChatPanel struct {
	Open bool   `json:"open"` // there is a field to write in
	Off  bool   `json:"off"`  // the field takes nothing
	To   string `json:"to"`   // who gets the next message, as the page says
}

// Message is a row of the chat.
type Message struct {
	ID      string `json:"id"`
	Own     bool   `json:"own"`    // by the name of its sender
	Marked  bool   `json:"marked"` // by a mark of the page, which nobody can write
	Sender  string `json:"sender"`
	Text    string `json:"text"`
	Private bool   `json:"private"`
	To      string `json:"to"`
}

// Caption is a line of the platform's captions.
type Caption struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// reader turns looks into events. The run loop owns it.
type reader struct {
	call   *Call
	engine *sign.Engine

	people     []meeting.Person
	count      int
	whole      []meeting.Person // the last list that was whole
	told       bool             // people were told
	speaking   []string
	selfSpeaks bool
	device     meeting.SeenDevice
	heard      map[string]bool // ids of messages that were told
	order      []string
	dialogs    map[string]*standing
	ruled      []ruled
	captions   map[string]string
	gone       time.Time // since when the call is gone after we left it
	back       time.Time // since when the page shows its form again although we had asked
	over       bool
	held       string
}

// messagesKept bounds how many ids of messages are remembered.
const messagesKept = 1024

// take takes a report.
func (r *reader) take(now time.Time, report observe.Report) {
	blind := false
	if r.call.Look(func(st *State) { blind = st.blind }); blind {
		return
	}
	var s Shown
	if report.Failed == "" && len(report.Data) > 0 {
		if err := json.Unmarshal(report.Data, &s); err != nil {
			r.call.Log.Warn("unreadable report of the page", "error", err)
			report.Failed = "unreadable"
		}
	}
	r.call.update(func(st *State) {
		st.hits = report.Hits
		if report.Failed == "" {
			st.Seen = true
			r.note(st, &s)
			st.Shown = s
			st.moved = st.moved || st.knocked && !r.call.shows(st, sign.Lobby)
		}
	})
	r.look(now, report.Look())
	if report.Failed != "" || report.Blank {
		return
	}
	r.left(now, report.Hits)
	r.formAgain(now, report.Hits)
	r.roster(s)
	r.speakers(now, s)
	r.switches(s)
	r.chat(now, s.Messages)
	r.caption(now, s.Captions)
	r.dialog(now, s.Dialogs)
}

// note keeps what steps wait for, and knows our own messages. The caller holds the lock.
func (r *reader) note(st *State, s *Shown) {
	st.mic, st.cam = r.call.device("microphone", s.Microphone), r.call.device("camera", s.Camera)
	oneSelf(s.People, st.name)
	for i := range s.Messages {
		m := &s.Messages[i]
		if _, ok := st.own[m.ID]; ok {
			m.Own, m.Sender = true, ""
			continue
		}
		// A name proves nothing: anybody may be called as we are, or "You". With it, or with none that we know, the page may
		// call us by a word for "you", only what we have written is ours.
		named := m.Own || m.Sender != "" && m.Sender == st.name || !r.heard[m.ID] && !r.known(m.Sender)
		m.Own = m.Marked || named && wrote(st.sending, m.Text)
		if !m.Own {
			continue
		}
		m.Sender = ""
		st.own[m.ID] = ownRow{text: Fold(m.Text), private: m.Private, to: m.To}
		st.ownOrder = append(st.ownOrder, m.ID)
	}
	for len(st.ownOrder) > ownKept {
		delete(st.own, st.ownOrder[0])
		st.ownOrder = st.ownOrder[1:]
	}
}

// oneSelf leaves one person at most who is us. Anybody may be called as we are, or "You": of several who look like us it is
// the one with our name, the first in the list where that says nothing, and the others are people like any other.
func oneSelf(people []Person, name string) {
	us := -1
	better := func(p, q Person) bool {
		ours := func(p Person) bool { return name != "" && p.Name == name }
		if p.Self != q.Self {
			return p.Self
		}
		return ours(p) && !ours(q)
	}
	for i, p := range people {
		if (p.Self || name != "" && p.Name == name) && (us < 0 || better(p, people[us])) {
			us = i
		}
	}
	for i := range people {
		people[i].Self = i == us
	}
}

// wrote says whether a text is one of those that we have sent. The page may have changed its marks and spaces, and may have
// cut it.
func wrote(sent []string, text string) bool {
	shown := letters(text)
	return slices.Contains(sent, Fold(text)) || shown != "" && slices.ContainsFunc(sent, func(s string) bool {
		s = letters(s)
		return s == shown || len(shown)*2 > len(s) && strings.HasPrefix(s, shown) && len(shown) > 40
	})
}

// letters are those of a text, and its digits: what a page leaves of it.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// known says whether somebody else of this name is there.
func (r *reader) known(name string) bool {
	return slices.ContainsFunc(r.people, func(p meeting.Person) bool { return !p.Self && p.Name == name && name != "" })
}

func (c *Call) device(name string, b Button) meeting.Device {
	return c.m.Table.Devices[name].Read(sign.Control{Found: b.Found, Enabled: b.Enabled, Name: b.Name, Attrs: b.Attrs})
}

// value takes a person over. We are never somebody else.
func (p Person) value() meeting.Person {
	return meeting.Person{ID: p.ID, Name: p.Name, Self: p.Self, Host: p.Host, Muted: p.Muted, HandUp: p.Hand, LikelyAI: !p.Self && platforms.LikelyAI(p.Name)}
}

// look asks the engine where we are.
func (r *reader) look(now time.Time, l sign.Look) {
	d, changed := r.engine.See(now, l)
	r.call.update(func(s *State) { s.evidence = r.engine.Evidence() })
	if changed && !r.over {
		r.decided(d)
	}
}

func (r *reader) decided(d sign.Decision) {
	leaving := false
	r.call.update(func(s *State) {
		s.Decision = d
		if d.Place != meeting.PlaceUnknown {
			s.place = d.Place
		}
		s.past = s.past || s.knocked && (d.Place == meeting.PlaceWaiting || d.Place == meeting.PlaceIn)
		leaving = s.leaving
	})
	if leaving && d.Place == meeting.PlaceOut && (d.Reason == meeting.ReasonDenied || d.Reason == meeting.ReasonPageLost || d.Reason == meeting.ReasonJoinFailed) {
		d.Reason = meeting.ReasonLeft // the page says that we left, and we did
	}
	r.over = d.Place == meeting.PlaceOut
	r.call.Log.Debug("place", "place", d.Place, "reason", d.Reason, "signs", d.Signs, "held", d.HeldBy)
	r.call.events.Put(meeting.SeenPlace{Place: d.Place, Signs: d.Signs, Text: d.Text, Reason: string(d.Reason), Breakout: d.Breakout})
	r.challenge(d)
}

// challenge tells of a task for a person as of any other dialog.
func (r *reader) challenge(d sign.Decision) {
	const id = "challenge"
	switch {
	case d.HeldBy == r.held:
	case d.HeldBy == "challenge":
		r.call.events.Put(meeting.SeenDialog{ID: id, Kind: sign.DialogChallenge, Text: d.Text, Open: true})
	case r.held == "challenge":
		r.call.events.Put(meeting.SeenDialog{ID: id, Kind: sign.DialogChallenge})
	}
	r.held = d.HeldBy
}

// inSigns counts the signs of a call in a look.
func (r *reader) inSigns(hits []sign.Hit) int {
	n := 0
	for _, h := range hits {
		for _, s := range r.call.m.Table.Signs {
			if s.Name == h.Sign && s.Kind == sign.In {
				n += s.Weight
			}
		}
	}
	return n
}

const (
	goneHold = 1500 * time.Millisecond // how long the call must be gone after we left it
	backHold = 4 * time.Second         // how long the page must show its form again
)

// left takes the end of the call for our leaving when we pressed the button: not every page has a text for it.
func (r *reader) left(now time.Time, hits []sign.Hit) {
	leaving := false
	r.call.Look(func(s *State) { leaving = s.leaving })
	switch {
	case !leaving || r.over || r.inSigns(hits) > 0 || r.call.Shows(sign.Waiting):
		r.gone = time.Time{}
	case r.gone.IsZero():
		r.gone = now
	case now.Sub(r.gone) >= goneHold:
		r.decided(sign.Decision{Place: meeting.PlaceOut, Reason: meeting.ReasonLeft, Signs: []string{"call-gone"}, Since: r.gone})
	}
}

// formAgain is a page that shows its form again, although it had taken our request: we are out, and it does not say why.
func (r *reader) formAgain(now time.Time, hits []sign.Hit) {
	d := r.engine.Decided()
	asked := false
	was := meeting.PlaceUnknown
	r.call.Look(func(s *State) { was, asked = s.place, s.knocked && s.past })
	form := slices.ContainsFunc(hits, func(h sign.Hit) bool { return slices.Contains(r.call.m.Table.Form, h.Sign) })
	switch {
	case !asked || r.over || !form || d.Place != meeting.PlaceLobby && was != meeting.PlaceLobby || r.call.Shows(sign.Waiting):
		r.back = time.Time{}
	case r.back.IsZero():
		r.back = now
	case now.Sub(r.back) >= backHold:
		reason := meeting.ReasonJoinFailed
		if r.told { // there were people: we had been in
			reason = meeting.ReasonPageLost
		}
		r.decided(sign.Decision{Place: meeting.PlaceOut, Reason: reason, Signs: []string{"form-again"}, Since: r.back})
	}
}

// roster tells who is there, when that changes. A count that the page does not show stays unknown.
func (r *reader) roster(s Shown) {
	if r.engine.Decided().Place != meeting.PlaceIn || (s.People == nil && s.Count == nil) {
		return
	}
	list := make([]meeting.Person, len(s.People))
	for i, p := range s.People {
		list[i] = p.value()
	}
	count := -1
	if s.Count != nil && *s.Count > 0 {
		count = *s.Count
	}
	switch {
	case s.Whole:
		r.whole = slices.Clone(list)
	case count > 0 && count == len(r.whole): // nobody came or went: those who are out of view are still there
		for i, p := range r.whole {
			for _, q := range list {
				if q.ID == p.ID {
					p.Muted, p.HandUp = q.Muted || p.Muted, q.HandUp
					r.whole[i] = p
				}
			}
		}
		list = slices.Clone(r.whole)
	}
	r.call.update(func(st *State) { st.missing = count > 0 && count > len(list) })
	if r.told && count == r.count && slices.Equal(list, r.people) {
		return
	}
	r.people, r.count, r.told = list, count, true
	r.call.events.Put(meeting.SeenPeople{Count: count, People: slices.Clone(list)})
}

// speakers tells who is shown speaking, ourselves left out: when it changes, and again with every report while it lasts.
func (r *reader) speakers(now time.Time, s Shown) {
	if r.engine.Decided().Place != meeting.PlaceIn {
		return
	}
	var ids, names []string
	self := false
	for _, p := range s.People {
		switch {
		case p.Speaking && p.Self:
			self = !s.Always
		case p.Speaking:
			ids, names = append(ids, p.ID), append(names, p.Name)
		}
	}
	if len(ids) == 0 && len(r.speaking) == 0 && self == r.selfSpeaks {
		return
	}
	r.speaking, r.selfSpeaks = ids, self
	r.call.events.Put(meeting.SeenSpeaking{IDs: ids, Names: names, Self: self, At: now, Always: s.Always})
}

func (r *reader) switches(s Shown) {
	if r.engine.Decided().Place != meeting.PlaceIn && !s.Microphone.Found {
		return // there is none to read yet
	}
	d := meeting.SeenDevice{Microphone: r.call.device("microphone", s.Microphone), Camera: r.call.device("camera", s.Camera)}
	if d != r.device {
		r.device = d
		r.call.events.Put(d)
	}
}

// chat tells each message once, also when the page was loaded anew.
func (r *reader) chat(now time.Time, messages []Message) {
	for _, m := range messages {
		if m.ID == "" || r.heard[m.ID] || strings.TrimSpace(m.Text) == "" {
			continue
		}
		r.heard[m.ID] = true
		r.order = append(r.order, m.ID)
		if len(r.order) > messagesKept {
			delete(r.heard, r.order[0])
			r.order = r.order[1:]
		}
		r.call.events.Put(meeting.SeenChat{ID: m.ID, Sender: m.Sender, Text: m.Text, Own: m.Own, Private: m.Private, At: now})
	}
}

// caption tells whose words the platform's captions show. What was said is ours to hear; only the name counts.
func (r *reader) caption(now time.Time, lines []Caption) {
	next := make(map[string]string, len(lines))
	for _, l := range lines {
		next[l.ID] = l.Text
		if l.Name == "" || r.captions[l.ID] == l.Text {
			continue
		}
		id := ""
		for _, p := range r.people {
			if p.Name == l.Name && !p.Self {
				if id != "" { // namesakes
					id = ""
					break
				}
				id = p.ID
			}
		}
		r.call.events.Put(meeting.SeenCaption{ID: id, Name: l.Name, Letters: len([]rune(l.Text)), At: now})
	}
	r.captions = next
}
