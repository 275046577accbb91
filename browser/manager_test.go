package browser_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/browser/chromium"
	"parley/internal/proc"
	"parley/testkit/need"
)

// profileDir is a folder for profiles that the browser's account can enter.
func profileDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, m *browser.Manager, w browser.Want) (*browser.Session, error) {
	t.Helper()
	if w.Owner == (browser.Owner{}) {
		w.Owner = browsertest.Me
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.Open(ctx, w)
}

// cookies serves a page that says which visit it is.
func cookies(t *testing.T) string {
	return browsertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			return // the icon
		}
		n := 0
		if c, err := r.Cookie("n"); err == nil {
			n, _ = strconv.Atoi(c.Value)
		}
		http.SetCookie(w, &http.Cookie{Name: "n", Value: strconv.Itoa(n + 1), MaxAge: 3600, Path: "/"})
		fmt.Fprintf(w, "<title>visit %d</title>", n+1)
	}))
}

func TestAProfileStaysSignedInAndSessionsAreApart(t *testing.T) {
	at := cookies(t)
	dir := profileDir(t)
	m := browsertest.Manager(t, func(o *browser.Options) { o.Profiles = dir })
	a := browsertest.OpenIn(t, m, browser.Want{Profile: "work"})
	if out := browsertest.Go(t, a, at); out.Title != "visit 1" {
		t.Errorf("first visit: %q", out.Title)
	}
	b := browsertest.OpenIn(t, m, browser.Want{})
	if out := browsertest.Go(t, b, at); out.Title != "visit 1" {
		t.Errorf("a session sees another's cookies: %q", out.Title)
	}
	b.Close()

	_, err := open(t, m, browser.Want{Profile: "work"})
	var held *browser.ProfileInUseError
	if !errors.As(err, &held) || held.Holder.Session != a.ID() || held.Holder.PID != os.Getpid() || !strings.Contains(err.Error(), a.ID()) {
		t.Errorf("a profile in use: %v", err)
	}
	a.Close()
	c := browsertest.OpenIn(t, m, browser.Want{Profile: "work"})
	if out := browsertest.Go(t, c, at); out.Title != "visit 2" {
		t.Errorf("the profile forgot: %q", out.Title)
	}
	c.Close()
	// What is not a name never becomes a folder.
	for _, name := range []string{"..", "a/b", ".x", "", strings.Repeat("x", 65)} {
		if name == "" {
			continue
		}
		if _, err := open(t, m, browser.Want{Profile: name}); !errors.Is(err, browser.ErrBadProfileName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	// The mode stays as it was.
	headful := true
	var other *browser.ProfileMismatchError
	if _, err := open(t, m, browser.Want{Profile: "work", Headful: &headful}); !errors.As(err, &other) {
		t.Errorf("headful: %v", err)
	}
}

func TestAProfileOfAnotherFamilyIsRefused(t *testing.T) {
	dir := profileDir(t)
	fake := browser.Engine{Name: "fox", Family: "fox", Start: chromium.Start}
	absent := browser.Engine{Name: "absent", Family: "fox", Start: func(context.Context, chromium.Options) (*chromium.Browser, error) {
		return nil, errors.New("absent is not installed: apt-get install absent")
	}}
	m := browsertest.Manager(t, func(o *browser.Options) {
		o.Profiles, o.Engines = dir, append(browser.Engines(), fake, absent)
	})
	browsertest.OpenIn(t, m, browser.Want{Profile: "p", Engine: "fox"}).Close()
	var mismatch *browser.ProfileMismatchError
	if _, err := open(t, m, browser.Want{Profile: "p", Engine: "quiet"}); !errors.As(err, &mismatch) || mismatch.Has != "fox" {
		t.Errorf("another family: %v", err)
	}
	var unknown *browser.EngineError
	if _, err := open(t, m, browser.Want{Engine: "camoufox"}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "chromium, quiet, fox, absent") {
		t.Errorf("unknown engine: %v", err)
	}
	// There is no silent way to another engine.
	if _, err := open(t, m, browser.Want{Engine: "absent"}); err == nil || !strings.Contains(err.Error(), "apt-get install absent") {
		t.Errorf("an engine that is not installed: %v", err)
	}
	s := browsertest.OpenIn(t, m, browser.Want{Profile: "p"}) // as it was used
	if i := s.Info(0); i.Engine != "fox" {
		t.Errorf("engine %s", i.Engine)
	}
}

func TestSessionsHaveALimitAndEndWithTheirOwnerAndWhenIdle(t *testing.T) {
	m := browsertest.Manager(t, func(o *browser.Options) { o.MaxSessions, o.Idle = 2, 3*time.Second })
	// A session that is in use is not idle, however long that takes.
	held := make(chan struct{})
	using := make(chan error, 2)
	use := func(s *browser.Session) *browser.Session {
		begun := make(chan struct{})
		go func() {
			using <- s.Do(context.Background(), func(context.Context, *browser.Page) error { close(begun); <-held; return nil })
		}()
		<-begun
		return s
	}
	a := use(browsertest.OpenIn(t, m, browser.Want{}))
	other := browser.Owner{Tenant: "me", Client: "other"}
	b := use(browsertest.OpenIn(t, m, browser.Want{Owner: other}))
	time.Sleep(4 * time.Second) // longer than idle
	var full *browser.FullError
	if _, err := open(t, m, browser.Want{}); !errors.As(err, &full) || full.Max != 2 {
		t.Errorf("a third session: %v", err)
	}
	close(held)
	for range 2 {
		if err := <-using; err != nil {
			t.Errorf("a call in a session that is used: %v", err)
		}
	}
	m.Gone(other)
	select {
	case <-b.Done():
	case <-time.After(20 * time.Second):
		t.Error("the session outlives its owner")
	}
	select {
	case <-a.Done():
	case <-time.After(40 * time.Second):
		t.Error("an idle session stays")
	}
	a.Close() // waits for the end
	b.Close()
	if _, err := m.Get(browsertest.Me, a.ID()); !errors.Is(err, browser.ErrNoSession) {
		t.Errorf("after the end: %v", err)
	}
	browsertest.OpenIn(t, m, browser.Want{}) // there is room again
}

func TestASessionThatTookTooLongToOpenIsNotThere(t *testing.T) {
	began := make(chan struct{}, 1)
	slow := browser.Engine{Name: "slow", Family: "chromium", Start: func(ctx context.Context, o chromium.Options) (*chromium.Browser, error) {
		began <- struct{}{}
		time.Sleep(time.Second)
		return chromium.Start(ctx, o)
	}}
	m := browsertest.Manager(t, func(o *browser.Options) { o.Engines, o.MaxSessions = []browser.Engine{slow}, 1 })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-began; cancel() }()
	if _, err := m.Open(ctx, browser.Want{Owner: browsertest.Me}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if l := m.List(browsertest.Me); len(l) != 0 {
		t.Errorf("sessions: %+v", l)
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		s, err := open(t, m, browser.Want{})
		if err == nil {
			s.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the slot is not free again: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
		select {
		case <-began:
		default:
		}
	}
}

// TestMain lets the test binary be the service that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PARLEY_TEST_VICTIM"); dir != "" {
		victim(dir)
		return
	}
	os.Exit(m.Run())
}

// victim opens a session with a profile and a display, says what runs, and waits to be killed.
func victim(dir string) {
	o := chromium.Options{Dir: filepath.Join(dir, "run")}
	if os.Geteuid() == 0 {
		o.Account, _ = proc.Lookup("parley")
	}
	m := browser.NewManager(browser.Options{Chromium: o, Profiles: filepath.Join(dir, "profiles")})
	s, err := m.Open(context.Background(), browser.Want{Owner: browsertest.Me, Profile: "p"})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("browser", s.PID())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

func TestSIGKILLLeavesNoBrowserNoLockNoFolder(t *testing.T) {
	need.Browser(t)
	dir := profileDir(t)
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_TEST_VICTIM="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, err := fmt.Sscanf(lines.Text(), "browser %d", &pid); err == nil {
			break
		}
	}
	if pid == 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatal("the service did not start a browser")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the browser is gone", func() bool {
		started, err := proc.StartTime(pid)
		return err != nil || !proc.Alive(pid, started)
	})
	eventually(t, "the folder is empty", func() bool {
		left, err := os.ReadDir(run)
		return err == nil && len(left) == 0
	})
	m := browsertest.Manager(t, func(o *browser.Options) { o.Profiles = filepath.Join(dir, "profiles") })
	headful := true
	s, err := open(t, m, browser.Want{Profile: "p", Headful: &headful})
	if err != nil {
		t.Fatalf("the profile of the dead: %v", err)
	}
	s.Close()
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("never: %s", what)
			return
		}
	}
}

func TestOpeningAndClosingLeavesNothing(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<p>x</p><iframe src="{other}/f"></iframe>`, "/f": "frame"})
	m := browsertest.Manager(t, nil)
	cycle := func() {
		s := browsertest.OpenIn(t, m, browser.Want{})
		browsertest.Go(t, s, at)
		snapshot(t, s, browser.ReadOptions{})
		s.Close()
	}
	count := func() (fds, goroutines int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list), runtime.NumGoroutine()
	}
	cycle()
	fds, goroutines := count()
	for range 5 {
		cycle()
	}
	eventually(t, "descriptors and goroutines are as before", func() bool {
		f, g := count()
		// The test's own server keeps connections of browsers that are gone for a moment.
		ok := f <= fds+3 && g <= goroutines+4
		if !ok {
			t.Logf("%d descriptors, were %d; %d goroutines, were %d", f, fds, g, goroutines)
		}
		return ok
	})
	if n := m.Count(); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
