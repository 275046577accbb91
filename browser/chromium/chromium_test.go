package chromium

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/browser/display"
	"parley/internal/proc"
	"parley/testkit/need"
)

// options are fit for whoever runs the tests: as root the system user, else the caller.
func options(t *testing.T) Options {
	t.Helper()
	o := Options{Dir: shortDir(t), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if os.Geteuid() == 0 {
		a, err := proc.Lookup("parley")
		if err != nil {
			t.Fatalf("%v: run make setup", err)
		}
		o.Account = a
	}
	return o
}

// shortDir is a folder that another account can reach and whose path is short enough for sockets. It must be empty
// at the end of the test.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, o Options) *Browser {
	t.Helper()
	if !o.Headless {
		d, err := display.Start(t.Context(), display.Options{Account: o.Account, Dir: o.Dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		o.Env = append(o.Env, d.Env()...)
	}
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if alive := group(b.PID()); len(alive) != 0 {
			t.Errorf("processes left: %v", alive)
		}
	})
	return b
}

// group lists the living processes of a process group; zombies that nobody has collected yet do not count.
func group(pgid int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if g, err := proc.Group(pid); err != nil || g != pgid {
			continue
		}
		if s, err := proc.StartTime(pid); err == nil && proc.Alive(pid, s) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestCheckFindsASandboxThatIsOn(t *testing.T) {
	need.Browser(t)
	r, err := Check(t.Context(), options(t))
	t.Logf("%+v", r)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sandbox
	if !s.Adequate || !s.PID || !s.Network || !s.SeccompBPF || (s.Layer != "Namespace" && s.Layer != "SUID") {
		t.Errorf("sandbox: %+v", s)
	}
	if r.Display == "" || !strings.HasPrefix(r.Version, "Chrome/") || r.Start <= 0 {
		t.Errorf("report: %+v", r)
	}
}

func TestCheckHeadless(t *testing.T) {
	need.Browser(t)
	o := options(t)
	o.Headless = true
	r, err := Check(t.Context(), o)
	if err != nil || !r.Sandbox.Adequate || r.Display != "" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestRootWithoutAnAccountIsRefusedWithARemedy(t *testing.T) {
	need.Browser(t)
	if os.Geteuid() != 0 {
		t.Log("not root: nothing to refuse")
		return
	}
	o := options(t)
	o.Account = nil
	_, err := Start(t.Context(), o)
	var s *StartError
	if !errors.As(err, &s) || s.Reason != RootNoAccount || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("got %v", err)
	}
}

func TestTheSwitchWithoutSandboxIsLoud(t *testing.T) {
	need.Browser(t)
	var log bytes.Buffer
	o := options(t)
	o.Account, o.NoSandbox, o.Headless = nil, true, true
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	r, err := Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sandbox.Adequate {
		t.Errorf("without a sandbox it called itself adequate: %+v", r.Sandbox)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "sandbox is OFF") {
		t.Errorf("log: %s", log.String())
	}
}

func TestAMissingBrowserOrDisplayIsNamed(t *testing.T) {
	need.Browser(t)
	o := options(t)
	o.Path = "/nonexistent/chromium"
	_, err := Start(t.Context(), o)
	var s *StartError
	if !errors.As(err, &s) || s.Reason != NotInstalled || s.Remedy() == "" {
		t.Errorf("no browser: %v", err)
	}
	o.Path = ""
	_, err = Start(t.Context(), o)
	if !errors.As(err, &s) || s.Reason != NoDisplay {
		t.Errorf("no display: %v", err)
	}
}

func TestABrowserThatEndsAtOnceOrNeverAnswers(t *testing.T) {
	need.Browser(t)
	script := func(body string) string {
		path := filepath.Join(t.TempDir(), "browser")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		body string
		want Reason
	}{
		{"exit 3", Exited},
		{"echo '[1:1:FATAL:zygote] No usable sandbox! Update your kernel' >&2; exit 1", NoSandboxUsable},
		{"echo 'browser: error while loading shared libraries: libnss3.so: cannot open' >&2; exit 127", MissingLibrary},
		{"exec sleep 300", TimedOut},
		{"printf 'no json\\0' >&4; exec sleep 300", Exited},
	} {
		o := options(t)
		o.Account, o.NoSandbox = nil, true
		o.Path, o.StartTimeout = script(c.body), time.Second
		_, err := Start(t.Context(), o)
		var s *StartError
		if !errors.As(err, &s) || s.Reason != c.want {
			t.Errorf("%q: %v, want %s", c.body, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := options(t)
	o.Account, o.NoSandbox, o.Path = nil, true, script("exec sleep 300")
	if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAKilledBrowserIsKnownAtOnce(t *testing.T) {
	need.Browser(t)
	o := options(t)
	o.Headless = true
	b := start(t, o)
	tab, err := b.OpenTab(t.Context(), func(*cdp.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := proto.RuntimeEvaluate{Expression: "new Promise(() => {})", AwaitPromise: true}.Call(tab.With(t.Context()))
		waiting <- err
	}()
	p, err := os.FindProcess(b.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done is not closed")
	}
	select {
	case err := <-waiting:
		if !errors.Is(err, ErrGone) {
			t.Errorf("the call under way: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call under way still waits")
	}
	if err := b.Probe(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("a later call: %v", err)
	}
	if err := tab.Close(t.Context()); err != nil {
		t.Errorf("closing a tab of a dead browser: %v", err)
	}
}

func TestAStoppedBrowserIsKilledByClose(t *testing.T) {
	need.Browser(t)
	o := options(t)
	o.Headless = true
	b := start(t, o)
	if err := b.child.Signal(19); err != nil { // SIGSTOP
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := b.Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a browser that hangs: %v", err)
	}
	began := time.Now()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < closeGrace || took > closeGrace+10*time.Second {
		t.Errorf("closing took %v", took)
	}
}

func TestTheLanguageIsPinned(t *testing.T) {
	need.Browser(t)
	o := options(t)
	o.Headless, o.Language = true, "de-DE"
	b := start(t, o)
	tab, err := b.OpenTab(t.Context(), func(*cdp.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	got, err := proto.RuntimeEvaluate{Expression: "navigator.language + ' ' + navigator.languages.join()", ReturnByValue: true}.Call(tab.With(t.Context()))
	if err != nil || got.Result.Value.Str() != "de-DE de-DE,de" {
		t.Errorf("%q %v", got.Result.Value.Str(), err)
	}
}
