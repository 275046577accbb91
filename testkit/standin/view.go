package standin

import (
	"slices"
	"time"
)

// Address is what a page was opened by.
type Address struct {
	Path     string `json:"path"`
	Lang     string `json:"lang"`
	Passcode string `json:"-"`
}

// View is everything that a page is to show. It is sent whole with every change.
type View struct {
	Screen   string    `json:"screen"`
	Text     string    `json:"text,omitempty"`
	Lang     string    `json:"lang"`
	Account  string    `json:"account,omitempty"`
	Button   string    `json:"button,omitempty"`
	ReadyMS  int       `json:"ready_ms,omitempty"`
	Passcode bool      `json:"passcode,omitempty"` // one must be typed
	Wrong    bool      `json:"wrong,omitempty"`    // the one that was typed
	Self     Seat      `json:"self"`
	Camera   bool      `json:"camera"`
	Locked   bool      `json:"locked,omitempty"`
	Audio    bool      `json:"audio"`
	People   []Seat    `json:"people"`
	Count    *int      `json:"count,omitempty"`
	Chat     []Row     `json:"chat,omitempty"`
	ChatOff  bool      `json:"chat_off,omitempty"`
	ChatTo   string    `json:"chat_to"`
	Dialogs  []Dialog  `json:"dialogs,omitempty"`
	Toasts   []Toast   `json:"toasts,omitempty"`
	Captions []Caption `json:"captions,omitempty"`
	Moving   bool      `json:"moving,omitempty"`
	Breakout string    `json:"breakout,omitempty"`
	Network  string    `json:"network"`
	// Media is the name by which the page takes a seat in the room, empty while no sound flows.
	Media string   `json:"media,omitempty"`
	Flags []string `json:"flags,omitempty"`
}

// Seat is somebody on the page.
type Seat struct {
	N        int    `json:"n"`
	Name     string `json:"name"`
	Self     bool   `json:"self,omitempty"`
	Host     bool   `json:"host,omitempty"`
	Muted    bool   `json:"muted,omitempty"`
	Hand     bool   `json:"hand,omitempty"`
	Speaking bool   `json:"speaking,omitempty"`
	Sharing  bool   `json:"sharing,omitempty"`
	// Voice is the name of their seat in the room.
	Voice string `json:"voice,omitempty"`
}

// Row is a chat message.
type Row struct {
	ID   int64  `json:"id"` // microseconds since 1970, unique
	From int    `json:"from"`
	Name string `json:"name"`
	Text string `json:"text"`
	To   string `json:"to"`
	Own  bool   `json:"own,omitempty"`
	At   int64  `json:"at"` // milliseconds since 1970
}

// Dialog is one that is open.
type Dialog struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

// Toast is a notice that goes by itself.
type Toast struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	until time.Time
}

// Caption is a line of the page's captions.
type Caption struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Act is what a visitor did on the page.
type Act struct {
	Do       string    `json:"do"`
	On       bool      `json:"on,omitempty"`
	Name     string    `json:"name,omitempty"`
	Passcode string    `json:"passcode,omitempty"`
	Text     string    `json:"text,omitempty"`
	To       string    `json:"to,omitempty"`
	Dialog   string    `json:"dialog,omitempty"`
	Effect   string    `json:"effect,omitempty"`
	Button   string    `json:"button,omitempty"`
	At       time.Time `json:"at"`
}

// Stay is a screen and when it began.
type Stay struct {
	Screen string    `json:"screen"`
	From   time.Time `json:"from"`
}

// view is what a visitor's page shows now.
func (p *play) view(v *visitor) View {
	w := View{
		Screen: v.screen, Text: v.text, Lang: v.lang, Account: p.script.Account, Button: p.script.Button, ReadyMS: p.script.ReadyMS,
		Passcode: p.script.Passcode != "" && !v.passcode, Wrong: v.passError, Camera: v.cam, Locked: v.locked, Audio: v.audio,
		Count: p.count, Chat: v.chat, ChatOff: v.chatOff, ChatTo: v.chatTo, Dialogs: v.dialogs, Toasts: v.toasts, Captions: v.captions,
		Moving: v.moving, Breakout: v.breakout, Network: v.network, Self: v.seat(true), Flags: p.switchedOn(),
	}
	if v.screen == "in" {
		w.People = p.roster(v)
	}
	if v.media() {
		w.Media = v.voice()
	}
	return w
}

// switchedOn are the flags that are on, sorted.
func (p *play) switchedOn() []string {
	on := []string{}
	for f, is := range p.flags {
		if is {
			on = append(on, f)
		}
	}
	slices.Sort(on)
	return on
}

func (v *visitor) seat(self bool) Seat {
	return Seat{N: v.n, Name: v.name, Self: self, Muted: !v.mic, Hand: v.hand, Speaking: v.speaking && v.mic, Voice: v.voice()}
}

// roster is who is in the call, as one visitor sees it; with nil as nobody in particular sees it.
func (p *play) roster(me *visitor) []Seat {
	var all []Seat
	for _, q := range p.people {
		s := Seat{N: q.n, Name: q.Name, Host: q.Host, Muted: q.Muted, Hand: q.hand, Speaking: q.speaking && !q.Muted, Sharing: q.sharing}
		if !q.Extra {
			s.Voice = q.voice()
		}
		all = append(all, s)
	}
	for _, o := range p.visitors {
		if o.connected && o.screen == "in" {
			all = append(all, o.seat(o == me))
		}
	}
	return all
}
