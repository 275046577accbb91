package local

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/speechtest"
	"parley/speech/wire"
)

// house stands for the processes of a run folder: servers with models of the tone language, in this process.
type house struct {
	t      testing.TB
	models func() *server.Models
	fail   error       // what loading the models says
	crash  atomic.Bool // deaths look like crashes, not like kills
	voice  server.Voice

	mu      sync.Mutex
	started int
	kill    func()
	last    *server.Server
	all     sync.WaitGroup
}

// engine makes an engine whose processes live in the house.
func (h *house) engine(dir string) *Engine {
	e := New(Options{RunDir: dir, ModelsDir: "/nowhere", Log: slog.New(slog.DiscardHandler)})
	e.launch = func(claim *wire.Claim) (*child, error) { return h.launch(e, claim) }
	e.retry = 50 * time.Millisecond
	h.t.Cleanup(func() { e.Close() })
	return e
}

func (h *house) launch(e *Engine, claim *wire.Claim) (*child, error) {
	l, err := claim.Listener()
	if err != nil {
		return nil, err
	}
	cut := &cutListener{Listener: l}
	srv := server.New(server.Options{
		Listener: cut,
		Load: func(context.Context) (*server.Models, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.fail != nil {
				return nil, h.fail
			}
			return h.models(), nil
		},
		LoadVoice: func(context.Context) (server.Voice, error) { return h.voice, nil },
		Voices:    speechtest.Voice{}.Voices,
		IdleAfter: 300 * time.Millisecond,
		Log:       slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	c := &child{started: time.Now(), done: make(chan struct{})}
	var killed atomic.Bool
	h.mu.Lock()
	h.started++
	h.last = srv
	h.kill = func() {
		killed.Store(true)
		cut.cut() // the connections first: a killed process says nothing more
		cancel()
		<-c.done
	}
	h.mu.Unlock()
	h.all.Go(func() {
		defer cancel()
		err := srv.Run(ctx)
		switch {
		case killed.Load():
			claim.Disown()
			e.died(c, &speech.Error{Kind: speech.KindInternal, Op: "start", Err: os.ErrProcessDone}, h.crash.Load())
		case err != nil:
			claim.Release()
			e.died(c, unavailable("%w", err), false)
		default:
			claim.Release()
		}
		close(c.done)
	})
	return c, nil
}

// die ends the process that runs as kill -9 would.
func (h *house) die() {
	h.mu.Lock()
	kill := h.kill
	h.mu.Unlock()
	if kill != nil {
		kill()
	}
}

// cutListener can end all its connections at once.
type cutListener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	over  bool
}

func (l *cutListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		c.Close()
	}
	l.conns = append(l.conns, c)
	return c, nil
}

func (l *cutListener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.Listener.Close()
	for _, c := range l.conns {
		c.Close()
	}
}

func newHouse(t testing.TB) *house {
	h := &house{t: t, models: speechtest.Models, voice: speechtest.Voice{}}
	t.Cleanup(h.all.Wait)
	return h
}

// runDir is a folder with a short path.
func runDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func TestSuiteOnFakeModels(t *testing.T) {
	speechtest.Run(t, func(t *testing.T) speechtest.Engine {
		h := newHouse(t)
		e := h.engine(runDir(t))
		return speechtest.Engine{
			Transcriber: e, Synthesizer: e, Lines: speechtest.ToneLines(), Pace: 60 * time.Millisecond,
			Kill: func(*testing.T) { h.die() },
			Absent: func(t *testing.T) speech.Transcriber {
				x := New(Options{RunDir: runDir(t), ModelsDir: "/nowhere", Binary: "/nowhere/parley-speech"})
				t.Cleanup(func() { x.Close() })
				return x
			},
		}
	})
}
