package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/tenant"
)

var now = time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestMain(m *testing.M) {
	// Another process on the same file: see TestSeveralProcesses.
	if dir := os.Getenv("STORE_TEST_CHILD"); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const childWrites = 60

// child opens the store while others do, counts, begins one meeting that all want, and claims keys that all want.
func child(dir string) error {
	ctx := context.Background()
	s, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	owner := fmt.Sprint(os.Getpid())
	_, existing, err := s.Meetings.Begin(ctx, Meeting{ID: "m" + owner, Tenant: "me", Platform: "room", Link: "same", Instance: owner, Requested: now}, false, 0)
	if err != nil {
		return err
	}
	mine := 0
	for i := range childWrites {
		if _, err := s.Usage.Add(ctx, "me", "writes", now, 1); err != nil {
			return err
		}
		c, err := s.Idempotency.Claim(ctx, Key{"me", "t", fmt.Sprint(i)}, "a", owner, now, time.Minute)
		if err != nil {
			return err
		}
		if c.Mine {
			mine++
		}
	}
	fmt.Printf("existing=%v mine=%d\n", existing, mine)
	return nil
}

func TestSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	out := make([]bytes.Buffer, 4)
	for i := range out {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+dir)
			cmd.Stdout, cmd.Stderr = &out[i], &out[i]
			if err := cmd.Run(); err != nil {
				t.Errorf("%v: %s", err, &out[i])
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	begun, mine := 0, 0
	for i := range out {
		var existing bool
		var n int
		if _, err := fmt.Sscanf(out[i].String(), "existing=%t mine=%d", &existing, &n); err != nil {
			t.Fatalf("%q: %v", out[i].String(), err)
		}
		if !existing {
			begun++
		}
		mine += n
	}
	if begun != 1 || mine != childWrites {
		t.Errorf("%d began the one meeting, %d of %d keys were claimed", begun, mine, childWrites)
	}
	s := open(t, dir)
	if sum, err := s.Usage.Today(t.Context(), "me", "writes", now); err != nil || sum != float64(len(out)*childWrites) {
		t.Errorf("sum %v, %v", sum, err)
	}
}

func TestFilesArePrivateAndDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%20c?d") // a path that a URL would mangle
	s := open(t, dir)
	for _, p := range []string{dir, s.Path()} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := s.db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v", pragma, got, err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMigrationsRunOnceAndKeepWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.Usage.Add(t.Context(), "me", "x", now, 1); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if sum, err := again.Usage.Today(t.Context(), "me", "x", now); sum != 1 || err != nil {
		t.Error(sum, err)
	}
	if _, err := s.db.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir)
	if KindOf(err) != Newer || !strings.Contains(err.Error(), "update parley") {
		t.Error(err)
	}
}

func TestADamagedFileIsNamedAndCanBeSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	if err := os.WriteFile(path, bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir)
	if KindOf(err) != Corrupt || !strings.Contains(err.Error(), path) {
		t.Fatal(err)
	}
	moved, err := SetAside(dir, ".damaged")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(moved); err != nil {
		t.Error(err)
	}
	open(t, dir)
}

func TestADamagedPageIsFoundAtStart(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, _, err := s.Meetings.Begin(t.Context(), Meeting{ID: fmt.Sprint("m", i), Tenant: "me", Link: fmt.Sprint(i), Data: bytes.Repeat([]byte("x"), 500)}, true, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 4096), info.Size()/2/4096*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); KindOf(err) != Corrupt {
		t.Error(err)
	}
}

func TestALockThatDoesNotEndIsNamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	other := open(t, dir)
	if _, err := other.db.Exec("PRAGMA busy_timeout = 50"); err != nil {
		t.Fatal(err)
	}
	other.db.SetMaxOpenConns(1)
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = other.Usage.Add(t.Context(), "me", "x", now, 1)
	if KindOf(err) != Locked || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
}

func TestAFullDiskIsNamedAndNothingIsHalfWritten(t *testing.T) {
	s := open(t, t.TempDir())
	s.db.SetMaxOpenConns(1)
	var pages int
	if err := s.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages+2)); err != nil {
		t.Fatal(err)
	}
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		_, _, err = s.Meetings.Begin(t.Context(), Meeting{ID: fmt.Sprint("m", n), Tenant: "me", Link: fmt.Sprint(n), Data: bytes.Repeat([]byte("x"), 3000)}, true, 0)
	}
	if KindOf(err) != Full || !strings.Contains(err.Error(), "make room") {
		t.Fatal(err)
	}
	if got, err := s.Meetings.List(t.Context(), "me", 2000); err != nil || len(got) != n-1 {
		t.Errorf("%d rows after %d good writes: %v", len(got), n-1, err)
	}
}

func TestPermissionsAreNamed(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may write anywhere; a folder where the file should be is refused all the same.
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, File), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), File) {
			t.Error(err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); KindOf(err) != Denied {
		t.Error(err)
	}
}

func TestMeetings(t *testing.T) {
	s, ctx := open(t, t.TempDir()), t.Context()
	m := Meeting{ID: "m1", Tenant: "me", Platform: "room", Link: LinkHash("me", "http://x/room/a"), Instance: "i", Requested: now, Data: []byte(`{"a":1}`)}
	got, existing, err := s.Meetings.Begin(ctx, m, false, 2)
	if err != nil || existing || got.State != "requested" {
		t.Fatal(got, existing, err)
	}
	second := m
	second.ID = "m2"
	if got, existing, err := s.Meetings.Begin(ctx, second, false, 1); err != nil || !existing || got.ID != "m1" || string(got.Data) != `{"a":1}` || !got.Requested.Equal(now) {
		t.Errorf("a second join: %+v %v %v", got, existing, err)
	}
	if _, _, err := s.Meetings.Begin(ctx, m, true, 0); !errors.Is(err, ErrBusyID) {
		t.Errorf("the same id: %v", err)
	}
	other := second
	other.Tenant, other.Link = "you", LinkHash("you", "http://x/room/a")
	if other.Link == m.Link {
		t.Error("two tenants in one meeting look the same")
	}
	if _, existing, err := s.Meetings.Begin(ctx, other, false, 2); err != nil || existing {
		t.Error(existing, err)
	}
	var full *FullError
	third := m
	third.ID = "m3"
	if _, _, err := s.Meetings.Begin(ctx, third, true, 2); !errors.As(err, &full) || full.Running != 2 || full.Max != 2 {
		t.Errorf("over the limit: %v", err)
	}

	third.TenantMax = 1
	if _, _, err := s.Meetings.Begin(ctx, third, true, 0); !errors.As(err, &full) || !full.OfTenant || full.Running != 1 || full.Max != 1 {
		t.Errorf("over the tenant's limit: %v", err)
	}

	got.State, got.Ended, got.Reason, got.RecordingState, got.RecordingSeconds, got.RecordingBytes = "ended", now.Add(time.Hour), "alone", "ready", 12.5, 1000
	if err := s.Meetings.Update(ctx, got); err != nil {
		t.Fatal(err)
	}
	back, err := s.Meetings.Get(ctx, "me", "m1")
	if err != nil || back.State != "ended" || !back.Ended.Equal(got.Ended) || back.RecordingSeconds != 12.5 {
		t.Errorf("%+v %v", back, err)
	}
	if _, err := s.Meetings.Get(ctx, "you", "m1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	if err := s.Meetings.Update(ctx, Meeting{ID: "m1", Tenant: "you"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	if run, err := s.Meetings.Running(ctx); err != nil || len(run) != 1 || run[0].ID != "m2" {
		t.Errorf("%+v %v", run, err)
	}
	if n, err := s.Meetings.Forget(ctx, now.Add(time.Hour)); err != nil || n != 0 {
		t.Errorf("at the boundary: %d %v", n, err)
	}
	if n, err := s.Meetings.Forget(ctx, now.Add(time.Hour+time.Millisecond)); err != nil || n != 1 {
		t.Errorf("past the boundary: %d %v", n, err)
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	s, ctx := open(t, dir), t.Context()
	h := tenant.HashOf("secret")
	l := Link{Secret: h, Kind: "recording", Tenant: "me", Target: "m1", Name: "m1.ogg", Created: now, Expires: now.Add(15 * time.Minute)}
	if err := s.Links.Add(ctx, l); err != nil {
		t.Fatal(err)
	}
	restarted := open(t, dir)
	found, err := restarted.Links.Find(ctx, h, "recording", "m1", now)
	if err != nil || found.Tenant != "me" || found.Name != "m1.ogg" || !found.Expires.Equal(l.Expires) {
		t.Fatalf("%+v %v", found, err)
	}
	for name, f := range map[string]func() error{
		"another secret": func() error {
			_, err := s.Links.Find(ctx, tenant.HashOf("x"), "recording", "m1", now)
			return err
		},
		"another kind":   func() error { _, err := s.Links.Find(ctx, h, "upload", "m1", now); return err },
		"another target": func() error { _, err := s.Links.Find(ctx, h, "recording", "m2", now); return err },
		"at its end":     func() error { _, err := s.Links.Find(ctx, h, "recording", "m1", l.Expires); return err },
		"use at its end": func() error { return s.Links.Use(ctx, h, l.Expires) },
	} {
		if err := f(); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Links.Use(ctx, h, now); err != nil {
		t.Fatal(err)
	}
	if err := restarted.Links.Use(ctx, h, now); !errors.Is(err, ErrNotFound) {
		t.Errorf("used twice: %v", err)
	}
	if _, err := s.Links.Find(ctx, h, "recording", "m1", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("used up: %v", err)
	}
	l.Secret = tenant.HashOf("other")
	if err := s.Links.Add(ctx, l); err != nil {
		t.Fatal(err)
	}
	if err := s.Links.Revoke(ctx, "you", "recording", "m1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Links.Find(ctx, l.Secret, "recording", "m1", now); err != nil {
		t.Errorf("another tenant revoked it: %v", err)
	}
	if err := s.Links.Revoke(ctx, "me", "recording", "m1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Links.Find(ctx, l.Secret, "recording", "m1", now); !errors.Is(err, ErrNotFound) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := s.Links.Sweep(ctx, now); err != nil {
		t.Error(err)
	}
}

func TestIdempotency(t *testing.T) {
	s, ctx := open(t, t.TempDir()), t.Context()
	k := Key{"me", "meeting_join", "k1"}
	claim := func(k Key, args string, at time.Time) Claim {
		t.Helper()
		c, err := s.Idempotency.Claim(ctx, k, args, "p1", at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := claim(k, "a", now); !c.Mine || !c.Same {
		t.Fatalf("%+v", c)
	}
	if c := claim(k, "a", now); c.Mine || !c.Same || c.Done || c.Owner != "p1" || !c.Lease.Equal(now.Add(time.Minute)) {
		t.Errorf("while it runs: %+v", c)
	}
	if c := claim(k, "b", now); c.Mine || c.Same {
		t.Errorf("other arguments: %+v", c)
	}
	if c := claim(Key{"you", k.Tool, k.Key}, "b", now); !c.Mine {
		t.Errorf("another tenant: %+v", c)
	}
	if c := claim(Key{"me", "meeting_speak", k.Key}, "b", now); !c.Mine {
		t.Errorf("another tool: %+v", c)
	}
	if err := s.Idempotency.Finish(ctx, k, "p2", "m1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if c := claim(k, "a", now); c.Done {
		t.Error("another process finished it")
	}
	if err := s.Idempotency.Finish(ctx, k, "p1", "m1", []byte("result")); err != nil {
		t.Fatal(err)
	}
	if c := claim(k, "a", now.Add(KeyLife-time.Millisecond)); !c.Done || string(c.Result) != "result" {
		t.Errorf("a day later: %+v", c)
	}
	if err := s.Idempotency.ForgetMeeting(ctx, "me", "m1"); err != nil {
		t.Fatal(err)
	}
	if c := claim(k, "a", now); !c.Done || len(c.Result) != 0 {
		t.Errorf("after the erasure: %+v", c)
	}
	if c := claim(k, "b", now.Add(KeyLife)); !c.Mine {
		t.Errorf("after its life: %+v", c)
	}
	if err := s.Idempotency.Release(ctx, k, "p1"); err != nil {
		t.Fatal(err)
	}
	if c := claim(k, "c", now); !c.Mine {
		t.Errorf("after the release: %+v", c)
	}
}

func TestUsageCountsPerDay(t *testing.T) {
	s, ctx := open(t, t.TempDir()), t.Context()
	for i, want := range []float64{1.5, 3} {
		if sum, err := s.Usage.Add(ctx, "me", "min", now, 1.5); err != nil || sum != want {
			t.Errorf("%d: %v %v", i, sum, err)
		}
	}
	if sum, err := s.Usage.Today(ctx, "me", "min", now.Add(24*time.Hour)); sum != 0 || err != nil {
		t.Error(sum, err)
	}
}

func TestGrants(t *testing.T) {
	s, ctx := open(t, t.TempDir()), t.Context()
	h := tenant.HashOf("the-token-itself")
	if err := s.Grants.Add(ctx, Grant{Hash: h, Tenant: "me", Label: "laptop", Created: now}); err != nil {
		t.Fatal(err)
	}
	if err := s.Grants.Revoke(ctx, h, now); err != nil {
		t.Fatal(err)
	}
	if err := s.Grants.Revoke(ctx, h, now); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if l, err := s.Grants.List(ctx); err != nil || len(l) != 1 || l[0].Hash != h || !l[0].Revoked.Equal(now) {
		t.Errorf("%+v %v", l, err)
	}
	for _, f := range []string{s.Path(), s.Path() + "-wal"} {
		if raw, err := os.ReadFile(f); err != nil || bytes.Contains(raw, []byte("the-token-itself")) {
			t.Errorf("%s holds the token: %v", f, err)
		}
	}
}
