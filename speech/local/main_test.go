package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/speechtest"
	"parley/speech/wire"
	"parley/testkit/need"
)

// TestMain lets the test program play the speech process, and a client that starts one.
func TestMain(m *testing.M) {
	switch os.Getenv("PARLEY_LOCAL_TEST") {
	case "process":
		os.Exit(playProcess())
	case "broken":
		fmt.Fprintln(os.Stderr, "some noise")
		fmt.Fprintln(os.Stderr, BinaryName+": the model file x is missing: parley models fetch")
		os.Exit(ExitModels)
	case "wordless":
		os.Exit(ExitModels)
	case "words":
		fmt.Fprintln(os.Stderr, BinaryName+": the model file x is missing: parley models fetch")
		os.Exit(ExitModels)
	case "crash":
		syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "client":
		playClient()
	}
	os.Exit(m.Run())
}

// playProcess is the speech process with models of the tone language.
func playProcess() int {
	run := ""
	for i, a := range os.Args {
		if a == "--run" {
			run = os.Args[i+1]
		}
	}
	claim, err := wire.InheritedClaim(run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := claim.Listener()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer claim.Release()
	srv := server.New(server.Options{
		Listener: l, IdleAfter: time.Second,
		Load:      func(context.Context) (*server.Models, error) { return speechtest.Models(), nil },
		LoadVoice: func(context.Context) (server.Voice, error) { return speechtest.Voice{}, nil },
		Voices:    speechtest.Voice{}.Voices,
	})
	if err := srv.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playClient opens a stream, says which process it has, and waits to be killed.
func playClient() {
	e := real(os.Args[1], "process")
	if _, err := e.Open(context.Background(), speech.StreamOptions{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(e.Status(context.Background()))
	select {}
}

// real makes an engine whose process is this program in a role.
func real(dir, role string) *Engine {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return New(Options{
		RunDir: dir, ModelsDir: "/nowhere", Binary: self, Env: []string{"PARLEY_LOCAL_TEST=" + role}, Log: slog.New(slog.DiscardHandler),
	})
}

func realEngine(t *testing.T, dir, role string) *Engine {
	e := real(dir, role)
	t.Cleanup(func() { e.Close() })
	return e
}

func TestSuiteOnARealProcess(t *testing.T) {
	need.Real(t)
	speechtest.Run(t, func(t *testing.T) speechtest.Engine {
		dir := runDir(t)
		e := realEngine(t, dir, "process")
		t.Cleanup(func() { ended(t, dir) })
		return speechtest.Engine{
			Transcriber: e, Synthesizer: e, Lines: speechtest.ToneLines(), Pace: 60 * time.Millisecond,
			Kill: func(t *testing.T) {
				if pid := e.Status(t.Context()).PID; pid != 0 {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			},
			Memory: func(t *testing.T) int64 { return e.Status(t.Context()).RSS },
			Absent: func(t *testing.T) speech.Transcriber { return realEngine(t, runDir(t), "broken") },
		}
	})
}

// ended waits until the run folder's process has gone: it does so by itself when nobody needs it.
func ended(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		claim, err := wire.NewClaim(dir)
		if err == nil {
			claim.Release()
			return
		}
		if !errors.Is(err, wire.ErrClaimed) || time.Now().After(deadline) {
			t.Fatalf("the process has not ended: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Ten clients that start at the same moment share one process, and it outlives the one that happened to start it.
func TestOneProcessForAll(t *testing.T) {
	need.Real(t)
	dir := runDir(t)
	var wg sync.WaitGroup
	pids := make([]int, 10)
	engines := make([]*Engine, len(pids))
	for i := range pids {
		engines[i] = real(dir, "process")
		wg.Go(func() {
			s, err := engines[i].Open(t.Context(), speech.StreamOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			_ = s // closed with its engine
			pids[i] = engines[i].Status(t.Context()).PID
		})
	}
	wg.Wait()
	for i, pid := range pids {
		if pid == 0 || pid != pids[0] {
			t.Errorf("client %d has process %d, the first %d", i, pid, pids[0])
		}
	}
	for _, e := range engines[1:] {
		e.Close()
	}
	// The process learns of a client's end by its connection, a moment later.
	st := engines[0].Status(t.Context())
	for deadline := time.Now().Add(10 * time.Second); st.Clients != 1 && time.Now().Before(deadline); st = engines[0].Status(t.Context()) {
		time.Sleep(10 * time.Millisecond)
	}
	if st.State != StateReady || st.Clients != 1 {
		t.Errorf("%+v", st)
	}
	engines[0].Close()
	ended(t, dir)
	if st := engines[0].Status(t.Context()); st.State == StateReady {
		t.Errorf("after the end: %+v", st)
	}
}

// The client that started the process is killed; another one does not notice.
func TestTheProcessOutlivesWhoStartedIt(t *testing.T) {
	need.Real(t)
	dir := runDir(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), "PARLEY_LOCAL_TEST=client")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var st Status
	if err := json.NewDecoder(out).Decode(&st); err != nil {
		t.Fatal(err)
	}
	e := realEngine(t, dir, "process")
	s, err := e.Open(t.Context(), speech.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := s.Write(0, speechtest.Tone("alpha bravo charlie")); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := e.Status(t.Context()); now.PID != st.PID || now.Clients != 1 {
		t.Errorf("%+v, first %d", now, st.PID)
	}
	if sid, err := unixGetsid(st.PID); err != nil || sid != st.PID {
		t.Errorf("its session is %d: %v", sid, err)
	}
	e.Close()
	ended(t, dir)
}

func unixGetsid(pid int) (int, error) {
	sid, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sid), nil
}

func TestWhyItDidNotStart(t *testing.T) {
	need.Real(t)
	open := func(e *Engine) *speech.Error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := e.Open(ctx, speech.StreamOptions{})
		var typed *speech.Error
		if !errors.As(err, &typed) {
			t.Fatalf("%v", err)
		}
		return typed
	}
	// The process's own last sentence, without the noise before it.
	if err := open(realEngine(t, runDir(t), "broken")); err.Kind != speech.KindUnavailable || err.Err.Error() != "the model file x is missing: parley models fetch" {
		t.Errorf("%s: %v", err.Kind, err)
	}
	e := realEngine(t, runDir(t), "crash")
	e.o.StartTimeout = 2 * time.Second
	if err := open(e); err.Kind != speech.KindUnavailable || !errors.Is(err, errNoAnswer) {
		t.Errorf("%s: %v", err.Kind, err)
	}
	e.mu.Lock()
	fails := e.back.fails
	e.mu.Unlock()
	if fails < 2 || fails > 8 {
		t.Errorf("it was started %d times in two seconds", fails)
	}
	// Somebody has the lock and does not answer.
	dir := runDir(t)
	claim, err := wire.NewClaim(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Release()
	e = realEngine(t, dir, "process")
	e.o.StartTimeout = time.Second
	if err := open(e); err.Kind != speech.KindUnavailable || !errors.Is(err, errNoAnswer) {
		t.Errorf("%s: %v", err.Kind, err)
	}
	if st := e.Status(t.Context()); st.State != StateFailed {
		t.Errorf("%+v", st)
	}
	// Another version.
	dir = runDir(t)
	if err := wire.PrivateDir(dir); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, wire.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write(wire.AppendJSON(nil, wire.TypeReady, wire.Ready{Version: wire.Version + 1}))
			defer c.Close()
		}
	}()
	if err := open(realEngine(t, dir, "process")); err.Kind != speech.KindUnavailable {
		t.Errorf("%s: %v", err.Kind, err)
	}
}
