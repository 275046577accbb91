package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/speech"
	"parley/speech/wire"
)

// BinaryName is the speech process's program.
const BinaryName = "parley-speech"

// The exit codes of the speech process that mean more than "it died": starting it again does not help. They are not
// small numbers, because a crash of the Go runtime ends with 2.
const (
	ExitUsage  = 64 // its arguments are wrong
	ExitModels = 69 // a model is missing or broken
)

// child is a process that this engine started. Others may use it longer than we live, so it is killed only when it
// hangs (see watch): its goroutine only takes the exit status.
type child struct {
	pid     int
	started time.Time
	done    chan struct{}
	err     error // valid after done: nil for a planned end
}

// findBinary says where the program is.
func findBinary(o Options) (string, error) {
	if o.Binary != "" {
		if _, err := os.Stat(o.Binary); err != nil {
			return "", unavailable("the speech program is missing: %w: run make build", err)
		}
		return o.Binary, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), BinaryName)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(BinaryName)
	if err != nil {
		return "", unavailable("%s is neither beside this program nor on PATH: run make build", BinaryName)
	}
	return path, nil
}

func unavailable(format string, args ...any) error {
	return &speech.Error{Kind: speech.KindUnavailable, Op: "start", Err: fmt.Errorf(format, args...)}
}

// start starts the process, unless another client holds the lock (wire.ErrClaimed) or the last ones died so often
// that it is too early; then it waits.
func (e *Engine) start(ctx context.Context) error {
	if e.o.ModelsDir == "" || e.o.RunDir == "" {
		return &speech.Error{Kind: speech.KindInput, Op: "start", Err: errors.New("the engine was not told its run folder and its models' folder")}
	}
	e.mu.Lock()
	wait := e.back.wait(time.Now())
	e.mu.Unlock()
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	claim, err := wire.NewClaim(e.o.RunDir)
	if err != nil {
		return err
	}
	c, err := e.launch(claim)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.child = c
	e.mu.Unlock()
	e.log.Info("speech process started", "pid", c.pid)
	return nil
}

// launchProcess runs the program with the claim as its descriptors 3 and 4.
func (e *Engine) launchProcess(claim *wire.Claim) (*child, error) {
	started := false
	defer func() {
		if started {
			claim.Disown()
		} else if err := claim.Release(); err != nil {
			e.log.Warn("the run folder was not given up", "err", err)
		}
	}()
	binary, err := findBinary(e.o)
	if err != nil {
		return nil, err
	}
	log, err := openLog(filepath.Join(e.o.RunDir, wire.LogName))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	args := []string{"--run", e.o.RunDir, "--models", e.o.ModelsDir, "--inherited"}
	if e.o.Weak {
		args = append(args, "--weak")
	}
	if e.o.CacheDir != "" {
		args = append(args, "--cache", e.o.CacheDir)
	}
	cmd := exec.Command(binary, append(args, e.o.Args...)...)
	cmd.Dir = "/"
	cmd.Env = append(environment(), e.o.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{claim.Lock, claim.Socket}
	// A session of its own: neither a terminal's signals nor the end of the worker that happened to start it reach
	// it. It ends by itself when the last client has gone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := spawn.StartCmd(spawn.Speech, cmd, spawn.Options{}); err != nil {
		return nil, unavailable("%s does not start: %w", binary, err)
	}
	started = true
	c := &child{pid: cmd.Process.Pid, started: time.Now(), done: make(chan struct{})}
	// Before anybody waits for it, so that the id is its own for sure.
	start, err := proc.StartTime(c.pid)
	if err == nil {
		err = claim.Note(wire.Holder{PID: c.pid, Start: start})
	}
	if err != nil {
		e.log.Warn("the speech process was not noted: nobody will end it if it hangs", "pid", c.pid, "err", err)
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			e.died(c, exitError(err, e.o.RunDir, from), crashed(cmd.ProcessState))
		}
		close(c.done)
	}()
	return c, nil
}

// crashed tells a process that fell over its own work from one that somebody killed.
func crashed(st *os.ProcessState) bool {
	w, ok := st.Sys().(syscall.WaitStatus)
	if !ok {
		return false
	}
	if w.Signaled() {
		switch w.Signal() {
		case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
			return false
		}
		return true
	}
	code := w.ExitStatus()
	return code != ExitUsage && code != ExitModels
}

// crashCount is how many processes of ours crashed so far.
func (e *Engine) crashCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crashes
}

// died notes an unplanned end.
func (e *Engine) died(c *child, err error, crashed bool) {
	c.err = err
	life := time.Since(c.started)
	e.mu.Lock()
	e.back.died(time.Now(), life)
	if crashed {
		e.crashes++
	}
	e.mu.Unlock()
	if crashed || errors.Is(err, errSeeLog) {
		e.keepLog() // the reason is there, if anywhere
	}
	e.log.Warn("speech process died", "pid", c.pid, "err", err, "after", life.Round(time.Millisecond))
}

// environment is what the process needs of ours: no keys, no tokens.
func environment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// maxLog is where the log of the process begins anew.
const maxLog = 1 << 20

func openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Size() > maxLog {
		err = f.Truncate(0)
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// errSeeLog points somebody to the log.
var errSeeLog = errors.New("see its log, " + wire.LogName)

// exitError says why the process ended, in its own last words where it had some.
func exitError(err error, runDir string, from int64) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return unavailable("the speech process: %w", err)
	}
	if code := exit.ExitCode(); code == ExitModels || code == ExitUsage {
		if said := lastWords(filepath.Join(runDir, wire.LogName), from); said != "" {
			return unavailable("%s", said)
		}
		return unavailable("the speech process ended with status %d: %w", code, errSeeLog)
	}
	return &speech.Error{Kind: speech.KindInternal, Op: "start", Err: fmt.Errorf("the speech process died: %v", exit)}
}

// lastWords is the sentence that the process ended with: its last line on standard error with the program's name.
func lastWords(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return ""
	}
	said := ""
	lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for lines.Scan() {
		if line, ok := strings.CutPrefix(lines.Text(), BinaryName+": "); ok {
			said = line
		}
	}
	return said
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
