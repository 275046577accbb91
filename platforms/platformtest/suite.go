package platformtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
)

// Stage is a meeting that a test has in its hands.
type Stage interface {
	// Link leads into it.
	Link() platforms.Link
	// Host brings somebody in who may let in, decline, remove and end. They are in when it returns.
	Host(t *testing.T, name string) Participant
	// Guest brings somebody else in, with a microphone that is on.
	Guest(t *testing.T, name string) Participant
}

// Participant is somebody else in the meeting. Waits last as long as the test allows.
type Participant interface {
	// ID is theirs on the page.
	ID() string
	Admit(ctx context.Context, name string) error
	Decline(ctx context.Context, name string) error
	Remove(ctx context.Context, name string) error
	EndForAll(ctx context.Context) error
	Say(ctx context.Context, text string) error
	// Speak plays a tone of this many hertz and returns when it has ended.
	Speak(ctx context.Context, hz float64, d time.Duration) error
	Leave(ctx context.Context) error
	// Sees waits until they see somebody of this name as ok wants them; gone people are seen as nil.
	Sees(ctx context.Context, name string, ok func(*meeting.Person) bool) error
	// Reads waits until they have got a message with this text from somebody of this name.
	Reads(ctx context.Context, name, text string) error
}

// Config is one platform under test.
type Config struct {
	Platform platforms.Platform
	// Stage makes a fresh meeting, with a lobby or without.
	Stage func(t *testing.T, lobby bool) Stage
	// Private says that a message can go to the host alone.
	Private bool
	// NoLobby says that nobody is asked to let us in: the cases of waiting are left out.
	NoLobby bool
	// AlwaysSomebody says that the page shows the last who spoke also in silence.
	AlwaysSomebody bool
	// ResetsDevices says that the page switches devices on when it lets somebody in: they are off a moment later.
	ResetsDevices bool
	// NoHosts says that the page shows nobody as the host.
	NoHosts bool
	// Parts is the longest message that goes out whole; longer ones go out in parts. Zero: no bound.
	Parts int
	// NotAMeeting is a link of the platform that leads to a page which is no meeting; the zero value leaves the case out.
	NotAMeeting platforms.Link
}

const ourName = "Parley (AI notetaker)"

// Run runs the suite.
func Run(t *testing.T, c Config) {
	Browser(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, Config)
	}{
		{"an open meeting is entered with the microphone off", openMeeting},
		{"waiting is not being in", waiting},
		{"declined is denied", declined},
		{"giving up while waiting", leftWaiting},
		{"the chat goes both ways", chat},
		{"words of an end in the chat end nothing", hostileChat},
		{"names are names, whatever they hold", hostileNames},
		{"a message to the host alone", toTheHost},
		{"the microphone is read back", microphone},
		{"the hand", hand},
		{"who is there, and who is the host", roster},
		{"who speaks", speaking},
		{"everybody's own track", tracks},
		{"removed", removed},
		{"ended for everyone", ended},
		{"leaving is seen on both sides", leaving},
		{"a crashed page is unknown, not an end", crashed},
		{"a dry run asks nobody", dryRun},
		{"nobody listens at that address", unreachable},
		{"a page that is no meeting", notAMeeting},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

// attendance is what a case begins with: a meeting with a host, and us in it.
type attendance struct {
	ctx   context.Context
	stage Stage
	host  Participant
	call  meeting.Call
	watch *Watch
	crash func()
}

func begin(t *testing.T, c Config, lobby bool) *attendance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	a := &attendance{ctx: ctx, stage: c.Stage(t, lobby)}
	a.host = a.stage.Host(t, "Ada Lovelace")
	call, page, watch := Attend(t, c.Platform, a.stage.Link())
	a.call, a.watch = call, watch
	a.crash = func() { page.Crash(ctx) }
	return a
}

func (a *attendance) join(t *testing.T) {
	t.Helper()
	if err := a.call.Join(a.ctx, meeting.JoinRequest{Name: ourName}); err != nil {
		t.Fatalf("join: %v", err)
	}
}

// enter is begin, and being in.
func enter(t *testing.T, c Config) *attendance {
	t.Helper()
	a := begin(t, c, false)
	a.join(t)
	a.watch.Place(t, 0, meeting.PlaceIn)
	return a
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func openMeeting(t *testing.T, c Config) {
	a := begin(t, c, false)
	began := time.Now()
	a.join(t)
	in := a.watch.Place(t, 0, meeting.PlaceIn)
	t.Logf("join → in: %v", time.Since(began).Round(time.Millisecond))
	if len(in.Signs) < 2 {
		t.Errorf("in by %v: more than one sign is needed", in.Signs)
	}
	await(t, a.watch, 0, "microphone off", func(e meeting.SeenDevice) bool { return e.Microphone == meeting.DeviceOff })
	check(t, "the host sees us muted", a.host.Sees(a.ctx, ourName, func(p *meeting.Person) bool { return p != nil && p.Muted }))
	inside := false
	for _, e := range a.watch.After(0) { // a preview in the lobby sends nothing
		p, ok := e.(meeting.SeenPlace)
		inside = inside || ok && p.Place != meeting.PlaceLobby && p.Place != meeting.PlaceUnknown
		if d, ok := e.(meeting.SeenDevice); ok && inside && d.Microphone == meeting.DeviceOn && !c.ResetsDevices {
			t.Error("the microphone was on")
		}
	}
	if png, err := a.call.Picture(a.ctx); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("picture: %d bytes, %v", len(png), err)
	}
}

func waiting(t *testing.T, c Config) {
	if c.NoLobby {
		t.Log("this platform has no lobby")
		return
	}
	a := begin(t, c, true)
	a.join(t)
	a.watch.Place(t, 0, meeting.PlaceWaiting)
	// Twice the hold: long enough that a wrong "in" would have come.
	select {
	case <-time.After(2*c.Platform.Hold + time.Second):
	case <-a.ctx.Done():
	}
	a.watch.Never(t, 0, meeting.PlaceIn)
	check(t, "admit", a.host.Admit(a.ctx, ourName))
	a.watch.Place(t, 0, meeting.PlaceIn)
	a.watch.Never(t, 0, meeting.PlaceOut)
}

func declined(t *testing.T, c Config) {
	if c.NoLobby {
		t.Log("this platform has no lobby")
		return
	}
	a := begin(t, c, true)
	a.join(t)
	a.watch.Place(t, 0, meeting.PlaceWaiting)
	check(t, "decline", a.host.Decline(a.ctx, ourName))
	if out := a.watch.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonDenied) || out.Text == "" {
		t.Errorf("out: %+v", out)
	}
	a.watch.Never(t, 0, meeting.PlaceIn)
	check(t, "leaving when it is over already", a.call.Leave(a.ctx))
}

func leftWaiting(t *testing.T, c Config) {
	if c.NoLobby {
		t.Log("this platform has no lobby")
		return
	}
	a := begin(t, c, true)
	a.join(t)
	a.watch.Place(t, 0, meeting.PlaceWaiting)
	check(t, "leave", a.call.Leave(a.ctx))
	a.watch.Place(t, 0, meeting.PlaceOut)
	a.watch.Never(t, 0, meeting.PlaceIn)
}

func chat(t *testing.T, c Config) {
	a := enter(t, c)
	for _, text := range []string{"Hello, notetaker!", "Zwei\nZeilen – mit „Zeichen“ 李雷 😀", strings.Repeat("long ", 60) + "end"} {
		mark := a.watch.Mark()
		check(t, "say", a.host.Say(a.ctx, text))
		got := await(t, a.watch, mark, "the host's message", func(e meeting.SeenChat) bool { return !e.Own })
		if fold(got.Text) != fold(text) || got.Sender != "Ada Lovelace" || got.ID == "" {
			t.Errorf("said %q, seen %q from %q", text, got.Text, got.Sender)
		}
		mark = a.watch.Mark()
		receipt, err := a.call.SendChat(a.ctx, text, meeting.Everyone)
		if err != nil || receipt.SentTo != meeting.Everyone || receipt.Private || receipt.ID == "" {
			t.Fatalf("send %q: %+v %v", text, receipt, err)
		}
		check(t, "the host reads it", a.host.Reads(a.ctx, ourName, text))
		own := await(t, a.watch, mark, "our own message", func(e meeting.SeenChat) bool { return e.Own })
		if own.ID != receipt.ID || fold(own.Text) != fold(text) {
			t.Errorf("our own message: %+v, receipt %+v", own, receipt)
		}
	}
	// The same text twice is two messages, each with a proof of its own.
	one, err1 := a.call.SendChat(a.ctx, "same", meeting.Everyone)
	two, err2 := a.call.SendChat(a.ctx, "same", meeting.Everyone)
	if err := errors.Join(err1, err2); err != nil || one.ID == two.ID {
		t.Errorf("the same text twice: %q %q %v", one.ID, two.ID, err)
	}
	seen := map[string]bool{}
	for _, e := range a.watch.After(0) {
		if m, ok := e.(meeting.SeenChat); ok {
			if seen[m.ID] {
				t.Errorf("message %s was told twice", m.ID)
			}
			seen[m.ID] = true
		}
	}
}

// endings are what pages write when it is over; in a chat they are words.
var endings = []string{"You were removed from the room", "The room has ended", "Your request to join was declined", "You've been removed from the meeting",
	"Waiting to be let in", "This meeting has been ended by host", "Connection lost", "Asking to be let in", "You left the meeting"}

func hostileChat(t *testing.T, c Config) {
	a := enter(t, c)
	mark := a.watch.Mark()
	for _, text := range append(endings, `<img src=x onerror="document.title='hacked'"><script>alert(1)</script>`, "</div></body>\u202e\u0000x", strings.Repeat("A", 3000)) {
		check(t, "say", a.host.Say(a.ctx, text))
		if len(text) < 400 { // rooms bound how fast one may write
			await(t, a.watch, mark, "message", func(e meeting.SeenChat) bool { return !e.Own })
		}
		time.Sleep(1100 * time.Millisecond) // the room takes one message a second
	}
	for _, text := range endings[:2] {
		if _, err := a.call.SendChat(a.ctx, text, meeting.Everyone); err != nil {
			t.Fatal(err)
		}
	}
	a.watch.Never(t, mark, meeting.PlaceOut)
	a.watch.Never(t, mark, meeting.PlaceWaiting)
	a.watch.Never(t, mark, meeting.PlaceUnknown)
}

func hostileNames(t *testing.T, c Config) {
	a := enter(t, c)
	mark := a.watch.Mark()
	names := []string{"You were removed from the room", `<b onmouseover=alert(1)>x</b>`, "Leave", "Mute microphone", "\u202eevil", "Zoë 李雷 😀", "Chat", "Message"}
	for _, n := range names {
		p := a.stage.Guest(t, n)
		await(t, a.watch, mark, "somebody named "+n, func(e meeting.SeenPeople) bool {
			for _, q := range e.People {
				if q.ID == p.ID() {
					return q.Name != ""
				}
			}
			return false
		})
	}
	// The number may come before the names: a list shows some at first.
	await(t, a.watch, mark, "all of them", func(e meeting.SeenPeople) bool { return e.Count == len(names)+2 && len(e.People) == e.Count })
	if _, err := a.call.SendChat(a.ctx, "still here", meeting.Everyone); err != nil {
		t.Error(err)
	}
	if d, err := a.call.SetMicrophone(a.ctx, true); err != nil || d != meeting.DeviceOn {
		t.Errorf("%s %v", d, err)
	}
	a.watch.Never(t, mark, meeting.PlaceOut)
	check(t, "leave", a.call.Leave(a.ctx))
}

func toTheHost(t *testing.T, c Config) {
	a := enter(t, c)
	receipt, err := a.call.SendChat(a.ctx, "only for you", meeting.HostOnly)
	var ce *meeting.ChatError
	switch {
	case c.Private && (err != nil || receipt.SentTo != meeting.HostOnly):
		t.Errorf("%+v %v", receipt, err)
	case !c.Private && (!errors.As(err, &ce) || ce.Failure != meeting.HostUnreachable):
		t.Errorf("a platform without private messages: %+v %v", receipt, err)
	}
}

func microphone(t *testing.T, c Config) {
	a := enter(t, c)
	for _, on := range []bool{true, true, false, false, true, false} {
		want := meeting.DeviceOff
		if on {
			want = meeting.DeviceOn
		}
		d, err := a.call.SetMicrophone(a.ctx, on)
		if err != nil || d != want {
			t.Fatalf("switch %v: %s %v", on, d, err)
		}
		check(t, "the host sees it", a.host.Sees(a.ctx, ourName, func(p *meeting.Person) bool { return p != nil && p.Muted != on }))
	}
	await(t, a.watch, 0, "the device on", func(e meeting.SeenDevice) bool { return e.Microphone == meeting.DeviceOn })
}

func hand(t *testing.T, c Config) {
	a := enter(t, c)
	h, ok := a.call.(meeting.HandRaiser)
	if !ok {
		t.Log("this platform has no hands to raise")
		return
	}
	for _, up := range []bool{true, true, false} {
		check(t, "hand", h.RaiseHand(a.ctx, up))
		check(t, "the host sees it", a.host.Sees(a.ctx, ourName, func(p *meeting.Person) bool { return p != nil && p.HandUp == up }))
	}
}

func roster(t *testing.T, c Config) {
	a := enter(t, c)
	has := func(e meeting.SeenPeople, name string) *meeting.Person {
		for _, p := range e.People {
			if p.Name == name || (p.Self && name == "us") {
				return &p
			}
		}
		return nil
	}
	await(t, a.watch, 0, "the host and us", func(e meeting.SeenPeople) bool {
		host, us := has(e, "Ada Lovelace"), has(e, "us")
		return e.Count == 2 && host != nil && host.Host == !c.NoHosts && !host.Self && host.ID == a.host.ID() && us != nil && us.Self
	})
	guest := a.stage.Guest(t, "Grace Hopper")
	bot := a.stage.Guest(t, "Otter.ai Notetaker")
	await(t, a.watch, 0, "everybody", func(e meeting.SeenPeople) bool {
		g, b := has(e, "Grace Hopper"), has(e, "Otter.ai Notetaker")
		return e.Count == 4 && g != nil && !g.Host && !g.LikelyAI && g.ID == guest.ID() && b != nil && b.LikelyAI
	})
	mark := a.watch.Mark()
	check(t, "leave", bot.Leave(a.ctx))
	await(t, a.watch, mark, "one less", func(e meeting.SeenPeople) bool { return e.Count == 3 && has(e, "Otter.ai Notetaker") == nil })
}

func speaking(t *testing.T, c Config) {
	a := enter(t, c)
	guest := a.stage.Guest(t, "Grace Hopper")
	mark := a.watch.Mark()
	check(t, "speak", guest.Speak(a.ctx, 440, 4*time.Second))
	got := await(t, a.watch, mark, "she is shown speaking", func(e meeting.SeenSpeaking) bool {
		return len(e.IDs) > 0 && (!c.AlwaysSomebody || e.IDs[0] == guest.ID())
	})
	if len(got.IDs) != 1 || got.IDs[0] != guest.ID() || got.Names[0] != "Grace Hopper" {
		t.Errorf("%+v", got)
	}
	if c.AlwaysSomebody {
		return
	}
	await(t, a.watch, mark, "and silent again", func(e meeting.SeenSpeaking) bool { return len(e.IDs) == 0 })
}

func tracks(t *testing.T, c Config) {
	a := enter(t, c)
	tapper, ok := a.call.(meeting.TrackTapper)
	if !ok {
		t.Log("this platform's tracks cannot be tapped")
		return
	}
	one, two := a.stage.Guest(t, "Grace Hopper"), a.stage.Guest(t, "Alan Turing")
	l := &listener{heard: map[string][]int16{}, names: map[string]string{}, pos: map[string]int64{}, news: make(chan struct{}, 1)}
	stop, stopped := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() { defer close(done); l.listen(stop, t, tapper.Tracks()) }()
	defer func() { stopped(); <-done }()
	// A busy machine breaks sound, and a broken tone is no pure one: it gets three tries.
	var wrong []string
	for range 3 {
		l.forget()
		spoke := make(chan error, 2)
		go func() { spoke <- one.Speak(a.ctx, 400, 3*time.Second) }()
		go func() { spoke <- two.Speak(a.ctx, 1000, 3*time.Second) }()
		check(t, "speak", errors.Join(<-spoke, <-spoke))
		l.until(a.ctx, 10*time.Second, 2*16000, one.ID(), two.ID()) // what is on its way
		if wrong = l.wrong(t, one.ID(), two.ID(), a.host.ID()); len(wrong) == 0 {
			return
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// listener keeps what comes of everybody's own track.
type listener struct {
	mu    sync.Mutex
	heard map[string][]int16 // by participant
	names map[string]string
	pos   map[string]int64 // by track
	news  chan struct{}
}

func (l *listener) listen(ctx context.Context, t *testing.T, frames <-chan meeting.TrackFrame) {
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				return
			}
			l.mu.Lock()
			if f.Pos < l.pos[f.Track] {
				t.Errorf("track %s went back from %d to %d", f.Track, l.pos[f.Track], f.Pos)
			}
			l.pos[f.Track] = f.Pos + int64(len(f.PCM))
			l.heard[f.Participant] = append(l.heard[f.Participant], f.PCM...)
			l.names[f.Participant] = f.Name
			l.mu.Unlock()
			select {
			case l.news <- struct{}{}:
			default:
			}
		case <-ctx.Done():
			return
		}
	}
}

func (l *listener) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.heard)
}

// until waits for so many samples of each, for at most a time.
func (l *listener) until(ctx context.Context, limit time.Duration, n int, ids ...string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		l.mu.Lock()
		all := true
		for _, id := range ids {
			all = all && len(l.heard[id]) >= n
		}
		l.mu.Unlock()
		if all {
			return
		}
		select {
		case <-l.news:
		case <-ctx.Done():
			return
		}
	}
}

// wrong is what is not right about the tracks of two who spoke, at 400 and 1000 hertz, and of one who said nothing.
func (l *listener) wrong(t *testing.T, one, two, silent string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if l.names[one] != "Grace Hopper" || l.names[two] != "Alan Turing" {
		bad("names: %v", l.names)
	}
	for _, w := range []struct {
		id         string
		own, else_ float64
	}{{one, 400, 1000}, {two, 1000, 400}} {
		pcm := l.heard[w.id]
		if len(pcm) < 2*16000 {
			bad("%s: only %d samples", l.names[w.id], len(pcm))
			continue
		}
		own, other := Power(pcm, w.own), Power(pcm, w.else_)
		t.Logf("%s: %d samples, own tone %.1f dB above the other's", l.names[w.id], len(pcm), own-other)
		if own-other < 30 {
			bad("%s: own tone %.1f dB, the other's %.1f dB", l.names[w.id], own, other)
		}
	}
	if pcm := l.heard[silent]; len(pcm) != 0 {
		bad("%d samples of somebody who said nothing", len(pcm))
	}
	return all
}

// Power is how strong a tone is in samples of 16 kHz, in dB.
func Power(pcm []int16, hz float64) float64 {
	var re, im float64
	for i, s := range pcm {
		phase := 2 * math.Pi * hz * float64(i) / 16000
		re += float64(s) * math.Cos(phase)
		im += float64(s) * math.Sin(phase)
	}
	return 10 * math.Log10((re*re+im*im)/float64(len(pcm))/float64(len(pcm))+1e-9)
}

func removed(t *testing.T, c Config) {
	a := enter(t, c)
	check(t, "remove", a.host.Remove(a.ctx, ourName))
	if out := a.watch.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonRemoved) {
		t.Errorf("out: %+v", out)
	}
	if _, err := a.call.SendChat(a.ctx, "too late", meeting.Everyone); err == nil {
		t.Error("a message after the end was sent")
	}
	if d, err := a.call.SetMicrophone(a.ctx, true); err == nil && d == meeting.DeviceOn {
		t.Error("the microphone went on after the end")
	}
}

func ended(t *testing.T, c Config) {
	a := enter(t, c)
	check(t, "end", a.host.EndForAll(a.ctx))
	if out := a.watch.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonEndedForAll) {
		t.Errorf("out: %+v", out)
	}
}

func leaving(t *testing.T, c Config) {
	a := enter(t, c)
	check(t, "leave", a.call.Leave(a.ctx))
	if out := a.watch.Place(t, 0, meeting.PlaceOut); out.Reason != string(meeting.ReasonLeft) {
		t.Errorf("out: %+v", out)
	}
	check(t, "the host sees us go", a.host.Sees(a.ctx, ourName, func(p *meeting.Person) bool { return p == nil }))
	check(t, "leaving again", a.call.Leave(a.ctx))
}

func crashed(t *testing.T, c Config) {
	a := enter(t, c)
	mark := a.watch.Mark()
	a.crash()
	a.watch.Place(t, mark, meeting.PlaceUnknown)
	if _, err := a.call.SetMicrophone(a.ctx, false); err == nil {
		t.Error("a crashed page answered")
	}
	if d, _ := a.call.SetMicrophone(a.ctx, false); d != meeting.DeviceUnknown {
		t.Errorf("the microphone of a crashed page is %s", d)
	}
	a.watch.Never(t, mark, meeting.PlaceOut)
}

func dryRun(t *testing.T, c Config) {
	a := begin(t, c, true)
	check(t, "join", a.call.Join(a.ctx, meeting.JoinRequest{Name: ourName, DryRun: true}))
	a.watch.Place(t, 0, meeting.PlaceLobby)
	a.watch.Never(t, 0, meeting.PlaceWaiting)
	check(t, "leave", a.call.Leave(a.ctx))
	short, cancel := context.WithTimeout(a.ctx, time.Second)
	defer cancel()
	if err := a.host.Admit(short, ourName); err == nil {
		t.Error("somebody asked to be let in")
	}
}

func unreachable(t *testing.T, c Config) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	link := c.Stage(t, false).Link()
	link.URL = strings.Replace(link.URL, link.Origin, "http://"+closed, 1)
	link.Origin = "http://" + closed
	call, _, _ := Attend(t, c.Platform, link)
	err = call.Join(t.Context(), meeting.JoinRequest{Name: ourName})
	var e *meeting.EndError
	if !errors.As(err, &e) || e.Reason != meeting.ReasonUnreachable {
		t.Errorf("got %v", err)
	}
}

func notAMeeting(t *testing.T, c Config) {
	if c.NotAMeeting.URL == "" {
		t.Log("no such page was given")
		return
	}
	call, _, watch := Attend(t, c.Platform, c.NotAMeeting)
	err := call.Join(t.Context(), meeting.JoinRequest{Name: ourName})
	var e *meeting.EndError
	if !errors.As(err, &e) || e.Reason != meeting.ReasonInvalidMeeting {
		t.Errorf("got %v", err)
	}
	watch.Never(t, 0, meeting.PlaceIn)
	watch.Never(t, 0, meeting.PlaceOut)
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
