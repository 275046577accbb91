// Package station is where a worker's meeting is wired to real things: sound server, display, browser, page,
// recorder, recogniser and voice.
package station

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"parley/audio"
	"parley/audio/pulse"
	"parley/browser/cdp"
	"parley/browser/chromium"
	"parley/browser/display"
	"parley/internal/proc"
	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/scribe"
	"parley/meeting/wire"
	"parley/meeting/worker"
	"parley/platforms"
	"parley/speech"
	"parley/speech/elevenlabs"
	"parley/speech/local"
	"parley/speech/settings"
	"parley/speech/supertonic"
)

// Options are what every meeting of this program has in common.
type Options struct {
	Platforms platforms.List
	Log       *slog.Logger
}

// Factory makes the ports of one attendance out of real things.
func Factory(o Options) worker.Factory {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return func(_ context.Context, start wire.Start, post func(meeting.Event) bool) (meeting.Ports, error) {
		s := &station{o: o, start: start, post: post, log: o.Log.With("meeting", start.MeetingID)}
		s.life, s.end = context.WithCancel(context.Background())
		return s.ports()
	}
}

// station is one attendance's things. Open and Close come from the loop's effects, one after the other.
type station struct {
	o     Options
	start wire.Start
	post  func(meeting.Event) bool
	log   *slog.Logger

	gate      *audio.Gate
	tee       *audio.Tee
	recording *recording
	hearing   *hearing // nil: no transcript
	engine    *local.Engine
	http      *supertonic.Engine // nil: there is no such service
	cloud     *elevenlabs.Engine // nil: there is no key to it

	wg   sync.WaitGroup
	life context.Context // ends with Close
	end  context.CancelFunc

	mu      sync.Mutex // of what Open makes and Close takes
	opening sync.WaitGroup
	sound   *pulse.Server
	capture *pulse.Capture
	guard   *pulse.Guard
	speaker *speaker
	screen  *display.Display
	browser *chromium.Browser
	page    *cdp.Page
	call    meeting.Call
}

func (s *station) ports() (meeting.Ports, error) {
	set, err := files.Of(s.start.Paths.Data, s.start.Tenant, s.start.MeetingID)
	if err != nil {
		return meeting.Ports{}, err
	}
	if err := set.Prepare(); err != nil {
		return meeting.Ports{}, err
	}
	s.tee = &audio.Tee{}
	s.gate = audio.NewGate(s.tee)
	s.speaker = &speaker{log: s.log}
	ports := meeting.Ports{Opener: s, Gate: s.gate} // the worker keeps the files
	if s.start.Wishes.Record {
		s.recording = &recording{path: set.Recording(), tee: s.tee, post: s.post, log: s.log}
		ports.Recorder = s.recording
	}
	if s.start.Speech.RunDir != "" {
		s.engine = local.New(local.Options{RunDir: s.start.Speech.RunDir, ModelsDir: s.start.Paths.Models, Log: s.log})
	}
	if s.start.Wishes.Transcribe && s.engine != nil {
		s.hearing = newHearing(scribe.Options{
			Transcriber: s.engine, Label: s.start.MeetingID, Lang: s.start.Speech.Lang,
			Silence:  time.Duration(s.start.Speech.SilenceMS) * time.Millisecond,
			Partials: s.start.Wishes.Partials, NoTracks: s.start.Speech.NoTracks,
		}, s.post)
		s.tee.Add("scribe", s.hearing.scribe)
		ports.Hearing = s.hearing
		ports.Log = &lines{path: set.Transcript()}
	}
	v, err := s.voice()
	if err != nil {
		return meeting.Ports{}, err
	}
	if s.hearing != nil {
		v.said, v.silenced = s.hearing.scribe.Said, s.hearing.scribe.Silenced
	}
	ports.Voice = v
	return ports, nil
}

// voice has a synthesizer for each backend that the service has.
func (s *station) voice() (*voice, error) {
	sp := s.start.Speech
	v := &voice{log: s.log, player: s.speaker, decode: decode, backend: sp.Backend, voices: sp.Voices, others: map[string]speech.Synthesizer{}}
	if v.backend == "" {
		v.backend = settings.BackendLocal
	}
	v.base = speech.SpeakRequest{Voice: sp.Voice, Model: sp.Model, Speed: sp.Speed}
	if v.base.Voice == "" {
		v.base.Voice = sp.Voices[v.backend]
	}
	if s.engine != nil {
		v.others[settings.BackendLocal] = s.engine
	}
	if url := sp.URLs[settings.BackendSupertonic]; url != "" {
		e, err := supertonic.New(supertonic.Options{URL: url, Voice: sp.Voices[settings.BackendSupertonic]})
		if err != nil {
			return nil, err
		}
		s.http = e
		v.others[settings.BackendSupertonic] = e
	}
	if key := sp.Keys[settings.BackendElevenLabs]; key != "" {
		e, err := elevenlabs.New(elevenlabs.Options{Key: key, URL: sp.URLs[settings.BackendElevenLabs],
			Voice: sp.Voices[settings.BackendElevenLabs], Model: sp.Models[settings.BackendElevenLabs]})
		if err != nil {
			return nil, err
		}
		s.cloud = e
		v.others[settings.BackendElevenLabs] = &allowance{Synthesizer: e, instead: v.others[settings.BackendLocal], log: s.log, left: sp.Allow[settings.BackendElevenLabs]}
	}
	v.synth = v.others[v.backend]
	return v, nil
}

// linkKey is the member of the start message's Extra that carries the link as its platform reads it.
const linkKey = "link"

// Carry puts a link into a start message.
func Carry(l platforms.Link) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(l)
	return map[string]json.RawMessage{linkKey: raw}, err
}

// link takes it out again.
func (s *station) link() (l platforms.Link, err error) {
	if err := json.Unmarshal(s.start.Extra[linkKey], &l); err != nil {
		return l, fmt.Errorf("the start message has no link: %w", err)
	}
	return l, nil
}

// Open brings up sound, display, browser and page.
func (s *station) Open(ctx context.Context) (meeting.Call, error) {
	s.opening.Add(1)
	defer s.opening.Done()
	call, err := s.bringUp(ctx)
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled): // we were told to leave before we came
		s.log.Info("the meeting's machinery was taken down while it came up", "err", err)
	default:
		s.log.Error("the meeting's machinery did not come up", "err", err)
	}
	return call, err
}

func (s *station) bringUp(ctx context.Context) (call meeting.Call, err error) {
	link, err := s.link()
	if err != nil {
		return nil, err
	}
	p, err := s.o.Platforms.For(link)
	if err != nil {
		return nil, err
	}
	var account *proc.Account
	if s.start.Account != "" {
		if account, err = proc.Lookup(s.start.Account); err != nil {
			return nil, fmt.Errorf("%w: make setup makes the user, PARLEY_ACCOUNT names another one", err)
		}
	}
	// The folder is the service's; display, sound and browser have their sockets and profiles in it.
	if err := proc.Own(s.start.Paths.Run, account); err != nil {
		return nil, err
	}
	if err := s.raise(ctx, account); err != nil {
		return nil, err
	}
	looped := make(chan error, 1)
	go func() { looped <- s.tryLoop(ctx) }()
	defer func() { // nobody takes the server away while the probe plays
		if loopErr := <-looped; err == nil && loopErr != nil {
			call, err = nil, loopErr
		}
	}()
	var trusted []string
	if link.Plain {
		trusted = []string{link.Origin}
	}
	profile := ""
	if l := s.start.Profile; l != nil {
		unix.CloseOnExec(l.FD) // the lock is ours: a browser that outlives us must not keep it
		profile = l.Path
	}
	browser, err := chromium.Start(ctx, chromium.Options{
		Profile: profile,
		Path:    s.start.Browser.Path, Account: account, NoSandbox: !s.start.Sandbox,
		Env: append(s.sound.Env(), s.screen.Env()...), Dir: s.start.Paths.Run, TrustOrigins: trusted, Loopback: link.Loopback, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	s.set(func() { s.browser = browser })
	s.wg.Go(func() {
		select {
		case <-browser.Done():
			s.fault(meeting.PartBrowser, "died", chromium.ErrGone)
		case <-s.life.Done():
		}
	})
	page, err := cdp.Open(ctx, browser, cdp.Options{Origin: link.Origin, Permissions: p.Permissions, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.set(func() { s.page = page })
	call, err = p.Open(ctx, page, link, platforms.Options{Captions: s.start.Wishes.Captions, Account: s.start.Profile != nil, Log: s.log})
	if err != nil {
		return nil, err
	}
	call = s.listen(call)
	if s.engine != nil && s.start.Permits.Speak && (s.start.Speech.Backend == "" || s.start.Speech.Backend == settings.BackendLocal) {
		s.wg.Go(s.warmVoice)
	}
	s.set(func() { s.call = call })
	return call, nil
}

// warmVoice loads the voice while we wait to be let in, so that the first answer does not wait for it.
func (s *station) warmVoice() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if err := s.engine.Prepare(ctx, s.start.Speech.Voices[settings.BackendLocal]); err != nil && s.life.Err() == nil {
		s.log.Warn("the voice is not ready", "kind", speech.KindOf(err), "err", err)
	}
}

// raise brings up sound server and display at the same time, and starts to listen.
func (s *station) raise(ctx context.Context, account *proc.Account) error {
	var screenErr error
	var g sync.WaitGroup
	g.Go(func() {
		d, err := display.Start(ctx, display.Options{Account: account, Dir: s.start.Paths.Run})
		if err != nil {
			screenErr = err
			return
		}
		s.set(func() { s.screen = d })
	})
	err := s.raiseSound(ctx, account)
	g.Wait()
	if err = errors.Join(err, screenErr); err != nil {
		return err
	}
	s.wg.Go(func() {
		select {
		case <-s.screen.Done():
			s.fault(meeting.PartDisplay, "died", errors.New("the display ended"))
		case <-s.life.Done():
		}
	})
	return nil
}

func (s *station) raiseSound(ctx context.Context, account *proc.Account) error {
	server, err := pulse.Start(ctx, pulse.Options{Dir: filepath.Join(s.start.Paths.Run, "snd"), Account: account, Log: s.log})
	if err != nil {
		return err
	}
	s.set(func() { s.sound = server })
	capture, err := server.Capture(ctx, pulse.CaptureOptions{OnEvent: func(e pulse.CaptureEvent) {
		if e.Kind == pulse.CaptureQuiet {
			s.log.Warn("no sound arrives from the sound server")
		}
	}})
	if err != nil {
		return err
	}
	s.set(func() { s.capture = capture })
	s.wg.Go(func() { s.pump(capture) })
	guard, err := server.Guard(ctx, nil, func(p pulse.Problem) {
		s.log.Warn("a stream or volume was not as it must be", "problem", p.String(), "mended", p.Mended)
	})
	if err != nil {
		return err
	}
	s.set(func() { s.guard = guard })
	return s.speaker.open(ctx, server)
}

// tryLoop plays a probe both ways while the browser starts: what we say must arrive at the microphone, what the
// meeting plays must be heard, and neither the other way round.
func (s *station) tryLoop(ctx context.Context) error {
	loop, err := s.sound.LoopTest(ctx)
	if err != nil {
		return fmt.Errorf("the sound loop: %w", err)
	}
	s.log.Debug("the sound loop is closed", "speak", loop.Speak, "hear", loop.Hear)
	return nil
}

// pump carries what the meeting plays through the gate. It ends with the capture.
func (s *station) pump(c *pulse.Capture) {
	for {
		f, err := c.Read(context.Background()) // Close of the capture ends it
		if err != nil {
			select {
			case <-s.life.Done():
			default:
				s.fault(meeting.PartSound, "died", err)
			}
			return
		}
		_ = s.gate.Write(f) // what a sink refuses is the sink's to report
	}
}

func (s *station) fault(part meeting.Part, kind string, err error) {
	select {
	case <-s.life.Done():
	default:
		s.post(meeting.Fault{Part: part, Fatal: true, Kind: kind, Err: err})
	}
}

func (s *station) set(f func()) { s.mu.Lock(); f(); s.mu.Unlock() }

// Close takes everything down, browser before sound.
func (s *station) Close(ctx context.Context) error {
	s.end()
	s.opening.Wait() // its context has ended by now, so that it returns
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.call != nil {
		errs = append(errs, s.call.Close())
	}
	if s.page != nil {
		errs = append(errs, s.page.Close())
	}
	if s.browser != nil {
		errs = append(errs, s.browser.Close())
	}
	if s.guard != nil {
		errs = append(errs, s.guard.Close())
	}
	errs = append(errs, s.speaker.close())
	if s.capture != nil {
		errs = append(errs, s.capture.Close())
	}
	if s.sound != nil {
		errs = append(errs, s.sound.Close())
	}
	if s.screen != nil {
		errs = append(errs, s.screen.Close())
	}
	if s.hearing != nil {
		s.hearing.Forget() // harmless after Stop
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close())
	}
	if s.http != nil {
		errs = append(errs, s.http.Close())
	}
	if s.cloud != nil {
		errs = append(errs, s.cloud.Close())
	}
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("take down: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}

var _ meeting.Opener = (*station)(nil)
