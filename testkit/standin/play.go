package standin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// play is a scenario being played to its visitors: pure, it takes the time and what happened and gives what is to be
// done outside. One goroutine, the server's, owns it.
type play struct {
	kind   Kind
	script Scenario
	flags  map[string]bool
	count  *int

	people   []*person
	visitors []*visitor
	pending  []pending
	serial   int // numbers people, visitors' seats, dialogs and notices
	lastMS   int64
}

// person is somebody simulated.
type person struct {
	Person
	n        int
	hand     bool
	speaking bool
	sharing  bool
	started  bool // their speech has begun
}

// voice is the name of the person's seat in the room.
func (p *person) voice() string { return fmt.Sprintf("p%d", p.n) }

// visitor is one page.
type visitor struct {
	id        int
	n         int // the number that others see them by
	connected bool
	address   Address
	screen    string
	since     time.Time
	text      string
	lang      string
	name      string
	tries     int
	passError bool
	passcode  bool // was given
	mic, cam  bool
	locked    bool
	audio     bool
	seated    bool
	speaking  bool
	hand      bool
	gate      string
	gateSince time.Time
	moving    bool
	breakout  string
	network   string
	chatOff   bool
	chatTo    string
	dialogs   []Dialog
	toasts    []Toast
	captions  []Caption
	chat      []Row
	stays     []Stay
	acts      []Act
}

func (v *visitor) voice() string { return fmt.Sprintf("v%d", v.id) }

// media says whether sound flows.
func (v *visitor) media() bool {
	return v.screen == "in" && v.gate == "" && v.audio && v.network != "lost"
}

// pending is something that will happen.
type pending struct {
	at      time.Time
	visitor int
	Action
}

// The bounds of what is kept of a visit.
const (
	keptActs  = 500
	keptRows  = 500
	keptStays = 200
)

// event is something that happened: one of the types below.
type event interface{ event() }

type (
	// opened is a page that was loaded.
	opened struct {
		visitor int
		address Address
	}
	// acted is what a visitor did on the page.
	acted struct {
		visitor int
		act     Act
	}
	// closed is a page that went away.
	closed struct{ visitor int }
	// did is an action of a test.
	did struct{ action Action }
	// voiced tells who speaks, by the name of their seat.
	voiced struct {
		voice string
		on    bool
	}
	// seatedAt tells that somebody's sound is connected, or is no more.
	seatedAt struct {
		voice string
		on    bool
	}
)

func (opened) event()   {}
func (acted) event()    {}
func (closed) event()   {}
func (did) event()      {}
func (voiced) event()   {}
func (seatedAt) event() {}

// effect is something to do outside: one of the types below.
type effect interface{ effect() }

type (
	// enter brings a person into the room.
	enter struct {
		voice  string
		muted  bool
		record string
	}
	// exit takes a person out of it.
	exit struct{ voice string }
	// hush switches a person's microphone.
	hush struct {
		voice string
		muted bool
	}
	// speak has a person play a file or a tone, after what they play already.
	speak struct {
		voice   string
		file    string
		hz      float64
		seconds float64
	}
	// command is told to a page once.
	command struct {
		visitor int
		do      string
		ms      int
	}
)

func (enter) effect()   {}
func (exit) effect()    {}
func (hush) effect()    {}
func (speak) effect()   {}
func (command) effect() {}

func newPlay(k Kind, s Scenario) *play {
	p := &play{kind: k, script: s, flags: map[string]bool{}, count: s.Count}
	for _, f := range k.Always {
		p.flags[f] = true
	}
	for _, f := range s.Flags {
		if off, ok := strings.CutPrefix(f, "-"); ok {
			delete(p.flags, off)
		} else {
			p.flags[f] = true
		}
	}
	return p
}

// begin brings the scenario's people in.
func (p *play) begin() (out []effect) {
	for _, q := range p.script.People {
		out = append(out, p.come(q)...)
	}
	return out
}

func (p *play) come(q Person) []effect {
	p.serial++
	n := &person{Person: q, n: p.serial}
	p.people = append(p.people, n)
	if q.Extra {
		return nil
	}
	return []effect{enter{n.voice(), q.Muted, q.Record}}
}

func (p *play) visitor(id int) *visitor {
	for _, v := range p.visitors {
		if v.id == id {
			return v
		}
	}
	return nil
}

// newest is the visitor that an action without one is about: the last that is still connected, else the last.
func (p *play) newest() *visitor {
	for _, v := range slices.Backward(p.visitors) {
		if v.connected {
			return v
		}
	}
	if n := len(p.visitors); n > 0 {
		return p.visitors[n-1]
	}
	return nil
}

func (p *play) person(name string) *person {
	for _, q := range p.people {
		if q.Name == name {
			return q
		}
	}
	return nil
}

// step takes what happened.
func (p *play) step(now time.Time, e event) (out []effect, err error) {
	switch e := e.(type) {
	case opened:
		p.open(now, e)
	case closed:
		if v := p.visitor(e.visitor); v != nil {
			v.connected, v.seated, v.speaking = false, false, false
			p.trigger(now, v, "left", "")
		}
	case acted:
		if v := p.visitor(e.visitor); v != nil {
			out = p.act(now, v, e.act)
		}
	case did:
		out, err = p.do(now, p.visitor(e.action.Visitor), e.action)
	case voiced:
		p.voiced(e)
	case seatedAt:
		out = p.seated(e)
	}
	late, lateErr := p.tick(now)
	if err == nil {
		err = lateErr
	}
	return append(out, late...), err
}

// deadline is when tick has something to do; zero when it has not.
func (p *play) deadline() time.Time {
	var first time.Time
	at := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	for _, q := range p.pending {
		at(q.at)
	}
	for _, v := range p.visitors {
		for _, t := range v.toasts {
			at(t.until)
		}
	}
	return first
}

// tick does what is due.
func (p *play) tick(now time.Time) (out []effect, err error) {
	for {
		i := -1
		for j, q := range p.pending {
			if !q.at.After(now) && (i < 0 || q.at.Before(p.pending[i].at)) {
				i = j
			}
		}
		if i < 0 {
			break
		}
		q := p.pending[i]
		p.pending = slices.Delete(p.pending, i, i+1)
		v := p.visitor(q.visitor)
		if v == nil || !v.connected {
			continue // the page is gone, and what was to happen to it with it
		}
		more, e := p.do(now, v, q.Action)
		out = append(out, more...)
		if err == nil {
			err = e
		}
	}
	for _, v := range p.visitors {
		v.toasts = slices.DeleteFunc(v.toasts, func(t Toast) bool { return !t.until.After(now) })
	}
	return out, err
}

func (p *play) later(at time.Time, v *visitor, a Action) {
	p.pending = append(p.pending, pending{at, v.id, a})
}

// trigger starts the steps that waited for something.
func (p *play) trigger(now time.Time, v *visitor, on, what string) {
	for _, s := range p.script.Steps {
		want := s.On
		if want == "" {
			want = "opened"
		}
		if want == on && strings.Contains(strings.ToLower(what), strings.ToLower(s.Match)) {
			p.later(now.Add(time.Duration(s.AfterMS)*time.Millisecond), v, s.Action)
		}
	}
}

func (p *play) open(now time.Time, e opened) {
	p.serial++
	v := &visitor{id: e.visitor, n: p.serial, connected: true, address: e.address, mic: true, cam: true, chatTo: "everyone", name: p.script.Account, network: "fine"}
	if p.flags["chat-host-only"] {
		v.chatTo = "host"
	}
	v.lang = e.address.Lang
	if p.script.Lang != "" {
		v.lang = p.script.Lang
	}
	v.passcode = p.script.Passcode != "" && e.address.Passcode == p.script.Passcode
	p.visitors = append(p.visitors, v)
	start := p.script.Start
	if start == "" {
		start = "prejoin"
	}
	p.show(now, v, start)
	p.trigger(now, v, "opened", "")
}

// show brings a visitor to a screen.
func (p *play) show(now time.Time, v *visitor, screen string) {
	if v.screen == screen {
		return
	}
	v.screen, v.since = screen, now
	if v.stays = append(v.stays, Stay{screen, now}); len(v.stays) > keptStays {
		v.stays = v.stays[1:]
	}
	v.text, v.dialogs, v.gate, v.moving, v.breakout = "", nil, "", false, ""
	if screen != "in" {
		v.seated, v.speaking, v.audio, v.hand, v.captions = false, false, false, false, nil
	}
}

// letIn brings a visitor into the call, over the screen in between where the platform has one.
func (p *play) letIn(now time.Time, v *visitor) {
	if p.kind.Joining != "" && v.screen != p.kind.Joining {
		p.show(now, v, p.kind.Joining)
		p.later(now.Add(1200*time.Millisecond), v, Action{Do: "screen", Kind: "in"})
		return
	}
	p.show(now, v, "in")
	v.audio = !p.kind.AudioByHand
	v.chat, v.captions = nil, nil
	if p.flags["devices-reset"] || p.kind.DevicesReset {
		v.mic, v.cam = true, true
	}
	if p.script.Gate != "" {
		v.gate, v.gateSince = p.script.Gate, now
		p.dialog(v, p.script.Gate, "")
	}
	p.trigger(now, v, "in", "")
}

func (p *play) dialog(v *visitor, kind, text string) {
	p.serial++
	v.dialogs = append(v.dialogs, Dialog{ID: fmt.Sprintf("d%d", p.serial), Kind: kind, Text: text})
}

// act is what a visitor did.
func (p *play) act(now time.Time, v *visitor, a Act) (out []effect) {
	a.At = now
	if v.acts = append(v.acts, a); len(v.acts) > keptActs {
		v.acts = v.acts[1:]
	}
	switch a.Do {
	case "join":
		if v.screen == "prejoin" {
			p.ask(now, v, a)
		}
	case "mic":
		if a.On && (v.locked || v.moving) {
			return nil // the button is there and does nothing
		}
		if v.mic != a.On {
			v.mic = a.On
			p.trigger(now, v, map[bool]string{true: "unmuted", false: "muted"}[a.On], "")
		}
	case "cam":
		v.cam = a.On
	case "hand":
		v.hand = a.On
	case "audio":
		if v.screen == "in" {
			v.audio = true
		}
	case "to":
		v.chatTo = a.To
	case "say":
		if v.screen == "in" && v.gate == "" && !v.chatOff && strings.TrimSpace(a.Text) != "" {
			p.post(now, v.n, v.name, a.Text, v.chatTo, v)
			p.trigger(now, v, "said", a.Text)
		}
	case "answer":
		p.answer(now, v, a)
	case "leave":
		p.show(now, v, "left")
		p.trigger(now, v, "left", "")
	case "home":
		p.show(now, v, "home")
		p.trigger(now, v, "left", "")
	case "again":
		v.passError = false
		p.show(now, v, "prejoin")
	case "enter": // the page of the launcher, or of a sign-in that was skipped
		p.show(now, v, "prejoin")
	}
	return nil
}

func (p *play) ask(now time.Time, v *visitor, a Act) {
	if p.script.Account == "" {
		v.name = strings.TrimSpace(a.Name)
	}
	if v.name == "" {
		return
	}
	v.tries++
	if p.script.Passcode != "" && !v.passcode {
		if a.Passcode != p.script.Passcode {
			v.passError = true
			return
		}
		v.passcode, v.passError = true, false
	}
	after := p.script.AfterJoin
	if after == "" {
		after = "waiting"
	}
	p.trigger(now, v, "asked", v.name)
	if after == "in" {
		p.letIn(now, v)
		return
	}
	p.show(now, v, after)
}

// answer is a button of a dialog.
func (p *play) answer(now time.Time, v *visitor, a Act) {
	i := slices.IndexFunc(v.dialogs, func(d Dialog) bool { return d.ID == a.Dialog })
	if i < 0 {
		return
	}
	d := v.dialogs[i]
	v.dialogs = slices.Delete(v.dialogs, i, i+1)
	switch a.Effect {
	case "leave":
		p.show(now, v, "left")
	case "accept":
		if v.gate == d.Kind {
			v.gate = ""
		}
	case "unmute":
		v.locked, v.mic = false, true
		p.trigger(now, v, "unmuted", "")
	case "camera-on":
		v.cam = true
	case "devices-off":
		v.mic, v.cam = false, false
	case "audio":
		v.audio = true
	case "enter":
		p.show(now, v, "prejoin")
	}
	p.trigger(now, v, "answered", d.Kind)
}

// post adds a chat message to the pages of those who see it.
func (p *play) post(now time.Time, from int, name, text, to string, own *visitor) {
	ms := now.UnixMicro()
	if ms <= p.lastMS {
		ms = p.lastMS + 1
	}
	p.lastMS = ms
	for _, v := range p.visitors {
		if v.screen != "in" || v != own && to != "everyone" && to != v.name {
			continue
		}
		r := Row{ID: ms, From: from, Name: name, Text: text, To: to, Own: v == own, At: now.UnixMilli()}
		if v.chat = append(v.chat, r); len(v.chat) > keptRows {
			v.chat = v.chat[1:]
		}
	}
}

func (p *play) voiced(e voiced) {
	for _, q := range p.people {
		if q.voice() == e.voice {
			q.speaking = e.on
		}
	}
	for _, v := range p.visitors {
		if v.voice() == e.voice {
			v.speaking = e.on
		}
	}
}

// seated notes that a page can be heard, which is when people begin what they have to say.
func (p *play) seated(e seatedAt) (out []effect) {
	for _, v := range p.visitors {
		if v.voice() != e.voice {
			continue
		}
		v.seated = e.on
		if !e.on {
			continue
		}
		for _, q := range p.people {
			if q.started {
				continue
			}
			q.started = true
			for _, f := range q.Speech {
				out = append(out, speak{voice: q.voice(), file: f})
			}
		}
	}
	return out
}

// do carries out an action.
func (p *play) do(now time.Time, v *visitor, a Action) (out []effect, err error) {
	if v == nil {
		v = p.newest()
	}
	q := p.person(a.Who)
	n := actions[a.Do]
	switch {
	case n.who && q == nil && a.Do != "come":
		return nil, fmt.Errorf("%s: nobody is called %q", a.Do, a.Who)
	case v == nil && !slices.Contains([]string{"come", "go", "rename", "mute-person", "hand-person", "share", "speak", "flag", "count"}, a.Do):
		return nil, fmt.Errorf("%s: nobody has opened the page yet", a.Do)
	}
	switch a.Do {
	case "admit":
		if v.screen != "waiting" {
			return nil, fmt.Errorf("admit: the visitor does not wait but is at %q", v.screen)
		}
		p.letIn(now, v)
	case "deny":
		p.show(now, v, or(a.Kind, "denied"))
		v.text = a.Text
	case "screen":
		if a.Kind == "in" {
			p.letIn(now, v)
			break
		}
		p.show(now, v, a.Kind)
		v.text = a.Text
	case "remove":
		p.show(now, v, "removed")
	case "end":
		p.show(now, v, or(a.Kind, "ended"))
	case "blank":
		p.show(now, v, "blank")
	case "say":
		to := "everyone"
		if a.Kind == "private" {
			to = v.name
		}
		p.post(now, q.n, q.Name, a.Text, to, nil)
	case "speak":
		if q.Extra {
			return nil, fmt.Errorf("speak: %q is in the list only", a.Who)
		}
		return []effect{speak{q.voice(), a.File, a.Hz, a.Seconds}}, nil
	case "caption":
		v.captions = append(v.captions, Caption{q.Name, a.Text})
		v.captions = v.captions[max(0, len(v.captions)-3):]
	case "come":
		if q != nil {
			return nil, fmt.Errorf("come: %q is there already", a.Who)
		}
		return p.come(Person{Name: a.Who, Host: a.Kind == "host", Extra: a.Kind == "extra", Muted: a.Kind == "muted"}), nil
	case "go":
		p.people = slices.DeleteFunc(p.people, func(o *person) bool { return o == q })
		if !q.Extra {
			out = append(out, exit{q.voice()})
		}
	case "rename":
		q.Name = a.Text
	case "mute-person":
		q.Muted = a.on()
		if !q.Extra {
			out = append(out, hush{q.voice(), q.Muted})
		}
	case "hand-person":
		q.hand = a.on()
	case "share":
		q.sharing = a.on()
	case "mute":
		v.mic = false
	case "lock":
		v.locked = a.on()
		v.mic = v.mic && !v.locked
	case "ask-unmute":
		p.dialog(v, "ask-unmute", a.Text)
	case "devices":
		on := a.State == "on"
		if a.Kind != "camera" {
			v.mic = on
		}
		if a.Kind != "microphone" {
			v.cam = on
		}
	case "dialog":
		p.dialog(v, a.Kind, a.Text)
	case "close-dialog":
		v.dialogs = slices.DeleteFunc(v.dialogs, func(d Dialog) bool { return a.Kind == "" || d.Kind == a.Kind })
	case "toast":
		p.serial++
		v.toasts = append(v.toasts, Toast{ID: fmt.Sprintf("t%d", p.serial), Text: a.Text, until: now.Add(orMS(a.MS, 4000))})
	case "chat-off":
		v.chatOff = a.on()
	case "chat-to":
		v.chatTo = a.Kind
	case "breakout":
		v.moving = true
		a.Do = "arrive"
		p.later(now.Add(orMS(a.MS, 3000)), v, a)
	case "arrive":
		v.moving, v.breakout = false, ""
		if a.on() {
			v.breakout = or(a.Text, "Room 1")
		}
	case "network":
		v.network = a.Kind
	case "count":
		p.count = a.Count
	case "flag":
		p.flags[a.Kind] = a.on()
	case "lang":
		v.lang = a.Kind
	case "hang", "reload":
		return []effect{command{v.id, a.Do, int(orMS(a.MS, 5000) / time.Millisecond)}}, nil
	}
	return out, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func orMS(ms, otherwise int) time.Duration {
	if ms == 0 {
		ms = otherwise
	}
	return time.Duration(ms) * time.Millisecond
}
