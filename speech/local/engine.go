package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"parley/speech"
	"parley/speech/wire"
)

// Options say where things are. RunDir and ModelsDir are needed, everything else may stay zero.
type Options struct {
	// RunDir is the private folder (0700, made when absent) with the socket, the lock and the log of the speech
	// process. Engines with the same run folder share one process. Its path must be short: a socket lies in it.
	RunDir string
	// ModelsDir is the folder of the models, as speech/models lays it out.
	ModelsDir string
	// Binary is parley-speech; empty means: beside this program, else on PATH.
	Binary string
	// CacheDir keeps short common openers as sound, never a caller's text; empty means a folder in RunDir.
	CacheDir string
	// Weak spares the machine: tiny.en for everything, so English only. It counts for the engine that starts the
	// process; State.Weak says what runs.
	Weak bool
	// StartTimeout is how long a process may take until it answers; zero means 20 s.
	StartTimeout time.Duration
	// Args are added to the arguments of the process.
	Args []string
	// Env is added to the environment of the process, which otherwise has PATH, HOME and the locale only.
	Env []string
	// Log is told of starts and deaths, never of speech; nil means slog.Default.
	Log *slog.Logger
}

// Engine is a speech.Transcriber and a speech.Synthesizer. It is safe for concurrent use.
type Engine struct {
	o   Options
	log *slog.Logger

	mu    sync.Mutex
	child *child // the process that this engine started last, if any
	back  backoff
	// crashes counts the processes of ours that fell over their own work.
	crashes int
	closed  bool
	hold    *conn // keeps the voice and the process while this engine may speak
	ctx     context.Context
	stop    context.CancelCauseFunc
	work    sync.WaitGroup // streams and clips
	busy    int            // how many of them
	pulse   pulse
	greeted atomic.Int64  // the process that last answered a connection of ours
	rouse   chan struct{} // there is work again
	watched sync.Once
	watcher sync.WaitGroup
	launch  func(*wire.Claim) (*child, error)
	retry   time.Duration // between tries while something is missing
}

var (
	_ speech.Transcriber = (*Engine)(nil)
	_ speech.Synthesizer = (*Engine)(nil)
)

// errClosed is the cause that ends everything when an engine is closed.
var errClosed = errors.New("the speech engine was closed")

// New makes an engine; nothing is started before it is needed.
func New(o Options) *Engine {
	if o.StartTimeout == 0 {
		o.StartTimeout = 20 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e := &Engine{o: o, log: o.Log.With("part", "speech")}
	e.launch = e.launchProcess
	e.retry = 5 * time.Second
	e.pulse = pulse{every: pulseEvery, wait: pulseWait, hung: hungAfter, young: youngFor}
	e.rouse = make(chan struct{}, 1)
	e.ctx, e.stop = context.WithCancelCause(context.Background())
	return e
}

// Close ends the streams and clips of this engine and waits for them. The process stays for its other clients, and
// otherwise ends by itself. A run folder in which no process came up goes, unless somebody was pointed to its log.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop(errClosed)
	e.work.Wait()
	e.watcher.Wait()
	return e.tidy()
}

// enter counts a stream or clip in, unless the engine is closed.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.work.Add(1)
	e.busy++
	e.watched.Do(func() { e.watcher.Go(e.watch) })
	signal(e.rouse)
	return true
}

// leave counts it out again.
func (e *Engine) leave() {
	e.mu.Lock()
	e.busy--
	e.mu.Unlock()
	e.work.Done()
}

// Open starts a stream. It returns once the models are loaded and the process accepted the stream.
func (e *Engine) Open(ctx context.Context, o speech.StreamOptions) (speech.Stream, error) {
	if err := checkStream(o); err != nil {
		return nil, wrap("open", speech.KindInput, err)
	}
	if !e.enter() {
		return nil, wrap("open", speech.KindUnavailable, errClosed)
	}
	s := newStream(e, o)
	c, err := s.connect(ctx)
	if err != nil {
		s.end(err)
		e.leave()
		return nil, wrap("open", speech.KindUnavailable, err)
	}
	go func() {
		defer e.leave()
		s.run(c)
	}()
	return s, nil
}

func checkStream(o speech.StreamOptions) error {
	if o.Silence != 0 && (o.Silence < 200*time.Millisecond || o.Silence > 3*time.Second) {
		return fmt.Errorf("a pause of %v ends nothing: Silence lies between 200ms and 3s", o.Silence)
	}
	if len(o.Label) > 200 || len(o.Lang) > 35 {
		return errors.New("label or language too long")
	}
	return nil
}

// wrap gives err a kind, unless it has one.
func wrap(op string, kind speech.Kind, err error) error {
	var has *speech.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &has):
		return &speech.Error{Kind: has.Kind, Op: op, Err: has.Err}
	case errors.Is(err, wire.ErrFrame):
		kind = speech.KindInternal
	}
	return &speech.Error{Kind: kind, Op: op, Err: err}
}

// kindOf is the kind of err, or otherwise.
func kindOf(err error, otherwise speech.Kind) speech.Kind {
	var has *speech.Error
	if errors.As(err, &has) {
		return has.Kind
	}
	return otherwise
}
