// Package guest is a participant of a room without a browser: it plays files, chats, records what it hears, and tells
// what it sees.
package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
	"parley/room/wire"
)

// Options says what a guest does.
type Options struct {
	// URL is the room's link, with or without the host's key in its fragment.
	URL string
	// Name is the display name. Empty means "Guest".
	Name string
	// Muted lets the guest come in with the microphone off.
	Muted bool
	// Record is the file that what the guest hears is written to: .wav, .ogg or .opus. Empty means none.
	Record string
	// Network is "udp" or "tcp" to send sound over that alone. Empty means whatever works.
	Network string
	// OnAudio is called with everything the guest hears, decoded, at once from several goroutines for several
	// participants, in order for each of them. It must not wait. The samples are the caller's until it returns.
	OnAudio func(Sound)
	// Log takes what happens, without names and texts. Nil means slog.Default.
	Log *slog.Logger
}

// Out is the error of a guest that is out of its room without having left: it was refused or removed, or lost its
// connection for good.
type Out struct{ Reason wire.Reason }

// Error says why in words.
func (e *Out) Error() string {
	switch e.Reason {
	case wire.ReasonFull:
		return "the room is full"
	case wire.ReasonDeclined:
		return "somebody in the room declined the request to join"
	case wire.ReasonRemoved:
		return "a host removed the guest from the room"
	case wire.ReasonBadName:
		return fmt.Sprintf("the name must have 1 to %d characters", wire.MaxName)
	case wire.ReasonLost:
		return "the connection to the room was lost"
	case wire.ReasonUnreachable:
		return "the room cannot be reached: is the link right, and is its server running?"
	case wire.ReasonBusy:
		return "the server has no room for more"
	case wire.ReasonReplaced:
		return "the guest's seat was taken by another connection"
	}
	return "the room ended the connection: " + string(e.Reason)
}

// ErrLink is part of errors about a link that cannot be a room's; nothing was tried.
var ErrLink = errors.New("this is not the link of a room")

// ErrOut is returned by calls to a guest that is not in its room (any more).
var ErrOut = errors.New("the guest is not in the room")

// Guest is a participant. Its methods may be called at once.
type Guest struct {
	opts  Options
	emit  func(Event)
	where *url.URL // of the WebSocket
	key   string
	api   *webrtc.API
	mouth *mouth
	rec   *recorder

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error // read after done

	// emitting keeps events in one row.
	emitting sync.Mutex

	mu       sync.Mutex
	conn     *websocket.Conn // nil while there is none
	self     string
	people   map[string]wire.Person
	order    []string
	heard    map[string]bool
	muted    bool
	leaving  bool
	admitted chan struct{} // closed at the first welcome

	// connected is closed when the sound is connected for the first time.
	connected     chan struct{}
	connectedOnce sync.Once

	// Owned by attend's goroutine.
	token string
	seen  int64
	hold  time.Duration
	media int
	link  *link
}

// Join makes a guest and has it ask for a seat; Admitted tells when it has one. emit is called with every event, one
// at a time; it may be nil and must not call the guest's Leave or Wait. The guest lives until it leaves, is put out, or
// the context ends, which makes it leave politely.
func Join(ctx context.Context, o Options, emit func(Event)) (*Guest, error) {
	where, key, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "Guest"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if emit == nil {
		emit = func(Event) {}
	}
	g := &Guest{
		opts: o, emit: emit, where: where, key: key, muted: o.Muted, done: make(chan struct{}),
		people: map[string]wire.Person{}, heard: map[string]bool{}, admitted: make(chan struct{}),
		connected: make(chan struct{}),
	}
	if g.api, err = newAPI(o, where.Hostname()); err != nil {
		return nil, err
	}
	if g.mouth, err = newMouth(o.Muted); err != nil {
		return nil, err
	}
	// Everything that can fail because of what the caller asked for has been checked; the file comes last.
	if o.Record != "" {
		if g.rec, err = newRecorder(o.Record); err != nil {
			return nil, err
		}
	}
	g.ctx, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go g.live(ctx)
	return g, nil
}

// address makes the WebSocket's address of a room's link.
func address(link string) (where *url.URL, key string, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return nil, "", fmt.Errorf("%w: it is no URL", ErrLink)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	default:
		return nil, "", fmt.Errorf("%w: it must begin with http:// or https://", ErrLink)
	}
	_, name, found := strings.Cut(u.Path, "/room/")
	if u.Host == "" || !found || strings.Trim(name, "/") == "" {
		return nil, "", fmt.Errorf("%w: it must end in /room/ and the room's name, like http://127.0.0.1:7370/room/standup", ErrLink)
	}
	if f, err := url.ParseQuery(u.Fragment); err == nil {
		key = f.Get("host")
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/ws"
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	return u, key, nil
}

func newAPI(o Options, host string) (*webrtc.API, error) {
	var s webrtc.SettingEngine
	s.LoggerFactory = rtc.Logs{Log: o.Log}
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		s.SetIncludeLoopbackCandidate(true)
		s.SetIPFilter(net.IP.IsLoopback)
	}
	udp := []webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6}
	tcp := []webrtc.NetworkType{webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6}
	switch o.Network {
	case "":
		s.SetNetworkTypes(append(udp, tcp...))
	case "udp":
		s.SetNetworkTypes(udp)
	case "tcp":
		s.SetNetworkTypes(tcp)
	default:
		return nil, fmt.Errorf("network %q: want udp, tcp or nothing", o.Network)
	}
	s.SetICETimeouts(3*time.Second, 5*time.Second, time.Second)
	return rtc.NewAPI(s)
}

// live is the guest's whole life.
func (g *Guest) live(ctx context.Context) {
	defer close(g.done)
	var work sync.WaitGroup
	work.Go(func() { g.mouth.run(g.ctx) })
	recording, stopRecording := context.WithCancel(context.Background())
	var recorded sync.WaitGroup
	if g.rec != nil {
		recorded.Go(func() { g.rec.run(recording) })
	}
	stop := context.AfterFunc(ctx, func() { g.sayGoodbye() })
	reason := g.attend()
	stop()
	g.cancel(&Out{reason})
	work.Wait()
	g.closeMedia()
	g.tell(Event{Kind: Ended, Reason: reason})
	if reason != wire.ReasonLeft && reason != wire.ReasonEnded && reason != wire.ReasonShutdown {
		g.err = &Out{reason}
	}
	stopRecording()
	recorded.Wait()
	if g.rec != nil {
		g.err = errors.Join(g.err, g.rec.err)
		g.tell(Event{Kind: Recorded, File: g.rec.file, Seconds: g.rec.seconds()})
	}
}

// Wait waits until the guest is out and its recording is finished. It is nil when the guest left or the room ended;
// *Out says another reason.
func (g *Guest) Wait() error {
	<-g.done
	return g.err
}

// Done is closed when Wait would return.
func (g *Guest) Done() <-chan struct{} { return g.done }

// Admitted waits until the guest is in.
func (g *Guest) Admitted(ctx context.Context) error { return g.until(ctx, g.admitted) }

// Connected waits until the guest can be heard.
func (g *Guest) Connected(ctx context.Context) error { return g.until(ctx, g.connected) }

func (g *Guest) until(ctx context.Context, what <-chan struct{}) error {
	select {
	case <-what:
		return nil
	case <-g.done:
		if g.err != nil {
			return g.err
		}
		return ErrOut
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave leaves politely and waits until the guest is out and its recording is finished.
func (g *Guest) Leave() error {
	g.sayGoodbye()
	return g.Wait()
}

// goodbyeWithin is how long the room may take to answer a goodbye.
const goodbyeWithin = 2 * time.Second

func (g *Guest) sayGoodbye() {
	g.mu.Lock()
	g.leaving = true
	g.mu.Unlock()
	if g.ask(wire.Leave{}) != nil {
		g.cancel(&Out{wire.ReasonLeft}) // there is nobody to say goodbye to
		return
	}
	time.AfterFunc(goodbyeWithin, func() { g.cancel(&Out{wire.ReasonLeft}) })
}

// ask sends a request.
func (g *Guest) ask(r wire.Request) error {
	g.mu.Lock()
	conn := g.conn
	g.mu.Unlock()
	if conn == nil {
		return ErrOut
	}
	return send(g.ctx, conn, r)
}

func send(ctx context.Context, conn *websocket.Conn, r wire.Request) error {
	data, err := wire.Encode(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, data); err != nil {
		return ErrOut
	}
	return nil
}

// Self is the guest's own id, "" before it is in.
func (g *Guest) Self() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.self
}

// People is who is in, in the order of arrival, the guest among them.
func (g *Guest) People() []Person {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peopleLocked()
}

func (g *Guest) peopleLocked() []Person {
	out := make([]Person, 0, len(g.order))
	for _, id := range g.order {
		out = append(out, Person{g.people[id], id == g.self})
	}
	return out
}

// Say writes into the chat.
func (g *Guest) Say(text string) error { return g.ask(wire.Say{Text: text}) }

// Hand raises or lowers the hand.
func (g *Guest) Hand(up bool) error { return g.ask(wire.Hand{Up: up}) }

// Mute switches the microphone. What is being played waits while it is off.
func (g *Guest) Mute(on bool) error {
	g.mu.Lock()
	g.muted = on
	g.mu.Unlock()
	g.mouth.mute(on)
	return g.ask(wire.Mute{Muted: on})
}

// Admit lets somebody in who waits.
func (g *Guest) Admit(id string) error { return g.ask(wire.Admit{ID: id}) }

// Decline sends somebody away who waits.
func (g *Guest) Decline(id string) error { return g.ask(wire.Decline{ID: id}) }

// Remove puts somebody out. Only a host may.
func (g *Guest) Remove(id string) error { return g.ask(wire.Remove{ID: id}) }

// EndAll ends the meeting for everyone. Only a host may.
func (g *Guest) EndAll() error { return g.ask(wire.EndAll{}) }

// Play plays a clip after those that are played already, and waits for its end. When the context ends the clip is
// broken off.
func (g *Guest) Play(ctx context.Context, c Clip) error {
	p := g.mouth.play(c)
	select {
	case <-p.done:
	case <-ctx.Done():
		g.mouth.drop(p)
		return context.Cause(ctx)
	case <-g.ctx.Done():
		g.mouth.drop(p)
		return ErrOut
	}
	if !p.full {
		return ErrOut
	}
	g.tell(Event{Kind: Played, File: c.Name, Seconds: c.Length().Seconds()})
	return nil
}

// Unplug cuts the signalling connection without a goodbye, as a network does that fails. The guest comes back by
// itself.
func (g *Guest) Unplug() {
	g.mu.Lock()
	conn := g.conn
	g.mu.Unlock()
	if conn != nil {
		_ = conn.CloseNow()
	}
}

func (g *Guest) tell(e Event) {
	g.emitting.Lock()
	defer g.emitting.Unlock()
	if e.At.IsZero() {
		e.At = time.Now()
	}
	g.emit(e)
}

// name gives the name of a participant.
func (g *Guest) name(id string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.people[id].Name
}

func (g *Guest) show(p wire.Person) {
	g.mu.Lock()
	if _, ok := g.people[p.ID]; !ok {
		g.order = append(g.order, p.ID)
	}
	g.people[p.ID] = p
	e := Event{Kind: People, People: g.peopleLocked()}
	g.mu.Unlock()
	g.tell(e)
}

func (g *Guest) drop(id string) {
	g.mu.Lock()
	delete(g.people, id)
	delete(g.heard, id)
	g.order = slices.DeleteFunc(g.order, func(o string) bool { return o == id })
	e := Event{Kind: People, People: g.peopleLocked()}
	g.mu.Unlock()
	g.tell(e)
}

// Reaction is what a guest does when somebody else writes something.
type Reaction struct {
	// Match decides on the text of a message.
	Match *regexp.Regexp
	// Say is written, Play is played; either may be empty.
	Say  string
	Play Clip
}
