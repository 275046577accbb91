package station

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"

	"parley/audio"
	"parley/meeting"
	"parley/speech"
	"parley/speech/settings"
)

// The bounds of speaking.
const (
	// ahead is how many pieces are synthesized before they are needed.
	ahead = 4
	// maxFile is the longest audio file that is played.
	maxFile = 10 * time.Minute
	// stall is how long the next piece may take in the middle of a text before the voice counts as hung.
	stall = 30 * time.Second
	// keptClips is how many short texts keep their sound.
	keptClips = 40
)

// player plays into the virtual microphone.
type player interface {
	// play takes pieces from next until io.EOF, and returns when the last sample has left the sink, or after stop.
	// It says how many samples sounded and the longest gap between pieces.
	play(ctx context.Context, next func(context.Context) ([]int16, error), started func()) (playResult, error)
	stop()
	duck(on bool)
}

type playResult struct {
	samples     int64 // that sounded
	level       *float64
	gap         time.Duration
	interrupted bool
}

// voice makes utterances from text or from files.
type voice struct {
	log    *slog.Logger
	synth  speech.Synthesizer
	player player
	// decode gives a file's samples at the speaking rate.
	decode func(ctx context.Context, path string) ([]int16, error)
	// said is told when an utterance begins to sound and when it was cut off, for recognising its echo.
	said     func(at time.Time, length time.Duration, text string)
	silenced func(at time.Time)
	base     speech.SpeakRequest // the defaults of the tenant and the join
	// others are the synthesizers of other backends, by name; backend is the one of synth. voices are the backends' own
	// defaults.
	others  map[string]speech.Synthesizer
	backend string
	voices  map[string]string
	stall   time.Duration // zero: stall

	mu    sync.Mutex
	clips map[string][]speech.Piece // the sound of short texts that are said again and again
}

// errStalled says that a voice began a text and then hung.
var errStalled = errors.New("the voice stopped in the middle of a text")

// Warm synthesizes short texts and keeps their sound. What fails is synthesized when it is wanted.
func (v *voice) Warm(ctx context.Context, texts []string) {
	for _, text := range texts {
		if _, err := v.clip(ctx, text); err != nil {
			v.log.Warn("an acknowledgement could not be prepared", "kind", speech.KindOf(err), "err", err)
			return
		}
	}
}

// clip is the sound of a short text, kept.
func (v *voice) clip(ctx context.Context, text string) ([]speech.Piece, error) {
	v.mu.Lock()
	kept := v.clips[text]
	v.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	if v.synth == nil {
		return nil, errNoVoice
	}
	r := v.base
	r.Text = text
	c, err := v.synth.Speak(ctx, r)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var pieces []speech.Piece
	for {
		p, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.clips == nil || len(v.clips) >= keptClips {
		v.clips = map[string][]speech.Piece{}
	}
	v.clips[text] = pieces
	return pieces, nil
}

// synthesizer is who makes the voice of an utterance.
func (v *voice) synthesizer(backend string) (speech.Synthesizer, error) {
	if backend == "" || backend == v.backend {
		if v.synth == nil {
			return nil, errNoVoice
		}
		return v.synth, nil
	}
	if s := v.others[backend]; s != nil {
		return s, nil
	}
	return nil, &speech.Error{Kind: speech.KindInput, Op: "speak", Err: errors.New("there is no such backend here")}
}

// errNoVoice says that this machine cannot speak.
var errNoVoice = errors.New("there is no voice on this machine: parley models fetch brings one")

// Prepare synthesizes until the first piece stands ready, and goes on a little ahead of the play-back.
func (v *voice) Prepare(ctx context.Context, u meeting.Utterance) (meeting.Spoken, error) {
	s, err := v.prepare(ctx, u)
	var bad *meeting.SoundError
	if err != nil && ctx.Err() == nil && !errors.As(err, &bad) {
		v.log.Warn("an utterance could not be prepared", "utterance", u.ID, "kind", speech.KindOf(err), "err", err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (v *voice) prepare(ctx context.Context, u meeting.Utterance) (*spoken, error) {
	// The pieces outlive the call; Close ends them.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &spoken{voice: v, cancel: cancel, pieces: make(chan speech.Piece, ahead), made: make(chan struct{})}
	if u.File != "" {
		if err := s.file(ctx, u.File); err != nil {
			cancel()
			return nil, err
		}
		return s, nil
	}
	if u.Clip {
		if err := s.kept(ctx, u.Text); err != nil {
			cancel()
			return nil, err
		}
		return s, nil
	}
	synth, err := v.synthesizer(u.Backend)
	if err != nil {
		cancel()
		return nil, err
	}
	r := v.base
	if u.Backend != "" && u.Backend != v.backend {
		r = speech.SpeakRequest{Speed: r.Speed, Voice: v.voices[u.Backend]} // the defaults are another backend's
	}
	r.Text = u.Text
	if u.Voice != "" {
		r.Voice = u.Voice
	}
	if u.Lang != "" {
		r.Lang = u.Lang
	}
	if backend := orElse(u.Backend, v.backend); r.Lang == "" && backend != settings.BackendLocal {
		r.Lang = u.Spoken // they speak many languages; the local voice does not
	}
	if u.Model != "" {
		r.Model = u.Model
	}
	if u.Speed > 0 {
		r.Speed = u.Speed
	}
	clip, err := synth.Speak(life, r)
	if err != nil {
		cancel()
		return nil, asked(err)
	}
	first, err := clip.Next(ctx)
	if err != nil {
		cancel()
		_ = clip.Close()
		if errors.Is(err, io.EOF) {
			return nil, &meeting.SoundError{What: "there is nothing in this text that can be said"}
		}
		return nil, asked(err)
	}
	s.text, s.ready = u.Text, int64(len(first.PCM))
	s.pieces <- first
	go s.make(life, clip)
	return s, nil
}

// asked tells what was wrong with the request from what is wrong with the voice.
func asked(err error) error {
	var e *speech.Error
	if errors.As(err, &e) && e.Kind == speech.KindInput && e.Err != nil {
		return &meeting.SoundError{What: e.Err.Error()}
	}
	return err
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// spoken is an utterance on its way: pieces made ahead, pieces played.
type spoken struct {
	voice  *voice
	cancel context.CancelFunc
	text   string
	pieces chan speech.Piece
	made   chan struct{} // closed when all pieces are made

	mu      sync.Mutex
	taken   []speech.Piece // texts and lengths of what went to the player
	ready   int64          // samples made so far
	whole   bool           // ready is everything
	failed  error
	stopped bool
	playing bool
}

func (s *spoken) file(ctx context.Context, path string) error {
	pcm, err := s.voice.decode(ctx, path)
	if err != nil {
		return err
	}
	if len(pcm) == 0 {
		return &meeting.SoundError{What: "there is no sound in it"}
	}
	if d := time.Duration(len(pcm)) * time.Second / audio.SpeakRate; d > maxFile {
		return &meeting.SoundError{What: fmt.Sprintf("it plays for longer than %.0f minutes", maxFile.Minutes())}
	}
	s.pieces <- speech.Piece{PCM: pcm}
	s.ready, s.whole = int64(len(pcm)), true
	close(s.pieces)
	close(s.made)
	return nil
}

// kept takes the sound of a short text that is said again and again.
func (s *spoken) kept(ctx context.Context, text string) error {
	pieces, err := s.voice.clip(ctx, text)
	if err != nil {
		return err
	}
	s.text, s.pieces = text, make(chan speech.Piece, len(pieces))
	for _, p := range pieces {
		s.pieces <- p
		s.ready += int64(len(p.PCM))
	}
	s.whole = true
	close(s.pieces)
	close(s.made)
	return nil
}

// make is the goroutine that stays ahead of the play-back. It ends with the clip or with Close.
func (s *spoken) make(ctx context.Context, clip speech.Clip) {
	defer close(s.made)
	defer close(s.pieces)
	defer clip.Close()
	for {
		p, err := clip.Next(ctx)
		if err != nil {
			s.mu.Lock()
			s.whole = true
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.failed = err
			}
			s.mu.Unlock()
			return
		}
		select {
		case s.pieces <- p:
			s.mu.Lock()
			s.ready += int64(len(p.PCM))
			s.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// next gives the player its next piece.
func (s *spoken) next(ctx context.Context) ([]int16, error) {
	limit := s.voice.stall
	if limit == 0 {
		limit = stall
	}
	hung := time.NewTimer(limit)
	defer hung.Stop()
	select {
	case <-hung.C:
		return nil, &speech.Error{Kind: speech.KindUnavailable, Op: "speak", Err: errStalled}
	case p, ok := <-s.pieces:
		if !ok {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.failed != nil {
				return nil, s.failed
			}
			return nil, io.EOF
		}
		s.mu.Lock()
		s.taken = append(s.taken, p)
		s.mu.Unlock()
		if p.Text != "" && s.voice.said != nil {
			s.voice.said(time.Now(), length(p), p.Text)
		}
		return p.PCM, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func length(p speech.Piece) time.Duration {
	return time.Duration(len(p.PCM)) * time.Second / audio.SpeakRate
}

// Play plays it to its end, or to Stop.
func (s *spoken) Play(ctx context.Context, started func()) (meeting.Played, error) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return meeting.Played{Unsaid: s.text, Interrupted: true}, nil
	}
	s.playing = true
	s.mu.Unlock()
	defer s.Close()
	res, err := s.voice.player.play(ctx, s.next, started)
	if res.interrupted && s.voice.silenced != nil {
		s.voice.silenced(time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := meeting.Played{Sounded: time.Duration(res.samples) * time.Second / audio.SpeakRate, Gap: res.gap, Interrupted: res.interrupted, Level: res.level}
	if err != nil {
		s.voice.log.Warn("an utterance broke off", "kind", speech.KindOf(err), "err", err)
	}
	if s.text != "" {
		p.Said, p.Unsaid = split(s.text, s.taken, res.samples, err == nil && !res.interrupted)
	}
	return p, err
}

// Stop silences it.
func (s *spoken) Stop() {
	s.mu.Lock()
	s.stopped = true
	playing := s.playing
	s.mu.Unlock()
	if playing {
		s.voice.player.stop()
	}
}

// Duck lowers the volume, or brings it back.
func (s *spoken) Duck(on bool) { s.voice.player.duck(on) }

// Duration is how long it will be; zero while it is still being made.
func (s *spoken) Duration() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole {
		return 0
	}
	return time.Duration(s.ready) * time.Second / audio.SpeakRate
}

// Made is closed when all of it is synthesized.
func (s *spoken) Made() <-chan struct{} { return s.made }

// Close forgets what is not played.
func (s *spoken) Close() error {
	s.cancel()
	return nil
}

// split says which part of a text sounded: whole pieces, and of the one that was cut as many words as its share of
// the time.
func split(text string, taken []speech.Piece, samples int64, whole bool) (said, unsaid string) {
	if whole {
		return text, ""
	}
	words := 0
	for _, p := range taken {
		n := len(strings.Fields(p.Text))
		if int64(len(p.PCM)) <= samples {
			words += n
			samples -= int64(len(p.PCM))
			continue
		}
		words += int(int64(n) * samples / int64(len(p.PCM)))
		break
	}
	return cutAfter(text, words)
}

// cutAfter cuts a text behind its first n words.
func cutAfter(text string, n int) (before, after string) {
	if n <= 0 {
		return "", strings.TrimSpace(text)
	}
	in := false
	for i, r := range text {
		space := unicode.IsSpace(r)
		if in && space {
			if n--; n == 0 {
				return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i:])
			}
		}
		in = !space
	}
	return strings.TrimSpace(text), ""
}

var (
	_ meeting.Voice   = (*voice)(nil)
	_ meeting.Warmer  = (*voice)(nil)
	_ meeting.Spender = (*voice)(nil)
	_ meeting.Spoken  = (*spoken)(nil)
	_ meeting.Maker   = (*spoken)(nil)
)
