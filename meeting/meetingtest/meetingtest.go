// Package meetingtest has hand-written ports for tests of whatever attends meetings: a call that admits us by itself,
// a recorder that writes samples of its own, a voice that plays time.
package meetingtest

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"parley/meeting"
)

// Script says how the fake meeting goes. The zero value lets us in at once and never ends.
type Script struct {
	// Waits is how long we wait to be let in; negative: for ever.
	Waits time.Duration `json:"waits,omitempty"`
	// Denied ends the waiting with this reason instead.
	Denied meeting.Reason `json:"denied,omitempty"`
	// OpenFails makes Open fail with this reason.
	OpenFails meeting.Reason `json:"open_fails,omitempty"`
	// OpenHangs makes Open, and LeaveHangs Leave, wait for their context.
	OpenHangs  bool `json:"open_hangs,omitempty"`
	LeaveHangs bool `json:"leave_hangs,omitempty"`
	// ChatFails makes every message fail with this.
	ChatFails meeting.ChatFailure `json:"chat_fails,omitempty"`
	// Ends is how long the meeting lasts after we were let in; zero: until somebody leaves.
	Ends time.Duration `json:"ends,omitempty"`
	// Says are messages of somebody else, one every 20 ms after we were let in.
	Says []string `json:"says,omitempty"`
	// StopHangs makes Recorder.Stop wait for its context, DeleteHangs likewise.
	StopHangs   bool `json:"stop_hangs,omitempty"`
	DeleteHangs bool `json:"delete_hangs,omitempty"`
	// Speech is how long an utterance lasts; zero: 100 ms.
	Speech time.Duration `json:"speech,omitempty"`
}

// World is a fake meeting and all that is needed to attend it. Its methods may be called from any goroutine.
type World struct {
	Script Script
	// File is where the recorder writes; empty: nowhere.
	File string
	// Opened is called by Open, for tests that want real processes below.
	Opened func() error

	mu      sync.Mutex
	events  chan meeting.CallEvent
	gate    bool
	mic     bool
	sent    []string
	wrote   int64
	rec     *os.File
	deleted bool
	closed  bool
	stop    chan struct{}
	wg      sync.WaitGroup
}

// New makes a world.
func New(s Script) *World {
	return &World{Script: s, events: make(chan meeting.CallEvent, 256), stop: make(chan struct{})}
}

// Ports are the ports of the world.
func (w *World) Ports() meeting.Ports {
	return meeting.Ports{Opener: opener{w}, Gate: gate{w}, Recorder: &recorder{w: w}, Voice: voice{w}}
}

// See shows us something on the page.
func (w *World) See(ev meeting.CallEvent) {
	select {
	case w.events <- ev:
	case <-w.stop:
	}
}

// Sent are the messages that were posted.
func (w *World) Sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.sent...)
}

// Written is how many bytes the recorder has kept.
func (w *World) Written() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrote
}

// GateOpen says whether sound passes.
func (w *World) GateOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gate
}

// Mic says whether the microphone is on.
func (w *World) Mic() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mic
}

// Closed says whether everything was taken down.
func (w *World) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

type opener struct{ w *World }

func (o opener) Open(ctx context.Context) (meeting.Call, error) {
	s := o.w.Script
	if s.OpenHangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.OpenFails != "" {
		return nil, &meeting.EndError{Reason: s.OpenFails}
	}
	if o.w.Opened != nil {
		if err := o.w.Opened(); err != nil {
			return nil, err
		}
	}
	return call{o.w}, nil
}

func (o opener) Close(context.Context) error {
	w := o.w
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errors.New("closed twice")
	}
	w.closed = true
	close(w.stop)
	w.mu.Unlock()
	w.wg.Wait()
	return nil
}

type call struct{ w *World }

func (c call) Join(ctx context.Context, r meeting.JoinRequest) error {
	if r.DryRun {
		c.w.See(meeting.SeenPlace{Place: meeting.PlaceLobby})
		return nil
	}
	c.w.wg.Go(c.w.play)
	return nil
}

// play is what the page shows by itself.
func (w *World) play() {
	pause := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-w.stop:
			return false
		}
	}
	s := w.Script
	if s.Waits != 0 {
		w.See(meeting.SeenPlace{Place: meeting.PlaceWaiting, Signs: []string{"waiting"}})
	}
	if s.Waits < 0 || !pause(s.Waits) {
		return
	}
	if s.Denied != "" {
		w.See(meeting.SeenPlace{Place: meeting.PlaceOut, Reason: string(s.Denied)})
		return
	}
	w.See(meeting.SeenPlace{Place: meeting.PlaceIn, Signs: []string{"toolbar", "roster"}})
	w.See(meeting.SeenPeople{Count: 2, People: []meeting.Person{{ID: "1", Name: "Anna"}, {ID: "2", Name: "us", Self: true}}})
	for _, text := range s.Says {
		if !pause(20 * time.Millisecond) {
			return
		}
		w.See(meeting.SeenChat{Sender: "Anna", Text: text, At: time.Now()})
	}
	if s.Ends > 0 && pause(s.Ends) {
		w.See(meeting.SeenPlace{Place: meeting.PlaceOut, Reason: string(meeting.ReasonEndedForAll)})
	}
}

func (c call) Events() <-chan meeting.CallEvent { return c.w.events }

func (c call) SendChat(ctx context.Context, text string, to meeting.Audience) (meeting.ChatReceipt, error) {
	if f := c.w.Script.ChatFails; f != "" {
		return meeting.ChatReceipt{}, &meeting.ChatError{Failure: f}
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.sent = append(c.w.sent, text)
	return meeting.ChatReceipt{SentTo: to, ID: "c"}, nil
}

func (c call) SetMicrophone(ctx context.Context, on bool) (meeting.Device, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.mic = on
	if on {
		return meeting.DeviceOn, nil
	}
	return meeting.DeviceOff, nil
}

func (c call) RaiseHand(context.Context, bool) error { return nil }

func (c call) Leave(ctx context.Context) error {
	if c.w.Script.LeaveHangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c call) Picture(context.Context) ([]byte, error) { return []byte("png"), nil }
func (c call) Close() error                            { return nil }

type gate struct{ w *World }

func (g gate) Open()  { g.set(true) }
func (g gate) Close() { g.set(false) }
func (g gate) set(on bool) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	g.w.gate = on
}

// recorder writes ten bytes every ten milliseconds while the gate is open.
type recorder struct {
	w     *World
	begun bool
}

func (r *recorder) Start(context.Context) error {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deleted {
		return errors.New("deleted")
	}
	if w.File != "" && w.rec == nil {
		f, err := os.OpenFile(w.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		w.rec = f
	}
	if !r.begun {
		r.begun = true
		w.wg.Go(r.run)
	}
	return nil
}

func (r *recorder) run() {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			r.write()
		case <-r.w.stop:
			return
		}
	}
}

func (r *recorder) write() {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gate || w.deleted {
		return
	}
	if w.rec != nil {
		if _, err := io.WriteString(w.rec, "0123456789"); err != nil {
			return
		}
	}
	w.wrote += 10
}

func (r *recorder) Stop(ctx context.Context) (meeting.Recorded, error) {
	if r.w.Script.StopHangs {
		<-ctx.Done()
		return meeting.Recorded{}, ctx.Err()
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if r.w.rec != nil {
		if err := r.w.rec.Close(); err != nil {
			return meeting.Recorded{}, err
		}
		r.w.rec = nil
	}
	return r.recorded(), nil
}

func (r *recorder) Delete(ctx context.Context) error {
	if r.w.Script.DeleteHangs {
		<-ctx.Done()
		return ctx.Err()
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.w.deleted, r.w.wrote = true, 0
	if r.w.rec != nil {
		_ = r.w.rec.Close()
		r.w.rec = nil
	}
	if r.w.File == "" {
		return nil
	}
	if err := os.Remove(r.w.File); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (r *recorder) Recorded() meeting.Recorded {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.recorded()
}

func (r *recorder) recorded() meeting.Recorded {
	return meeting.Recorded{Seconds: float64(r.w.wrote) / 1000, Bytes: r.w.wrote, Parts: 1, Path: r.w.File}
}

type voice struct{ w *World }

func (v voice) Prepare(ctx context.Context, u meeting.Utterance) (meeting.Spoken, error) {
	d := v.w.Script.Speech
	if d == 0 {
		d = 100 * time.Millisecond
	}
	return &spoken{text: u.Text, long: d, stop: make(chan struct{})}, nil
}

type spoken struct {
	text string
	long time.Duration
	once sync.Once
	stop chan struct{}
}

func (s *spoken) Play(ctx context.Context, started func()) (meeting.Played, error) {
	started()
	begin := time.Now()
	select {
	case <-time.After(s.long):
		return meeting.Played{Said: s.text, Sounded: s.long}, nil
	case <-s.stop:
		return meeting.Played{Unsaid: s.text, Sounded: time.Since(begin), Interrupted: true}, nil
	case <-ctx.Done():
		return meeting.Played{Unsaid: s.text, Interrupted: true}, ctx.Err()
	}
}

func (s *spoken) Stop()                   { s.once.Do(func() { close(s.stop) }) }
func (s *spoken) Duck(bool)               {}
func (s *spoken) Duration() time.Duration { return s.long }
func (s *spoken) Close() error            { return nil }

var (
	_ meeting.Call       = call{}
	_ meeting.HandRaiser = call{}
	_ meeting.Recorder   = (*recorder)(nil)
	_ meeting.Voice      = voice{}
)
