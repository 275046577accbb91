package keys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func open(t testing.TB) (*Files, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "keys")
	f, err := OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func TestASecretIsForThisAccountAlone(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	f, dir := open(t)
	if err := f.Set("a", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "a"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", filepath.Base(path), info.Mode(), err)
		}
	}
	if got, err := f.Get("a"); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if err := f.Set("a", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Get("a"); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := f.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if err := f.Delete("a"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	if _, err := f.Get("a"); !errors.Is(err, ErrNone) {
		t.Errorf("a deleted secret: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestWhatIsNotProtectedIsNotUsed: each way a secret can be somebody else's.
func TestWhatIsNotProtectedIsNotUsed(t *testing.T) {
	for what, spoil := range map[string]func(t *testing.T, dir string) error{
		"file for the group":   func(t *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o640) },
		"file for others":      func(t *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o604) },
		"folder for the group": func(t *testing.T, dir string) error { return os.Chmod(dir, 0o710) },
		"second name":          func(t *testing.T, dir string) error { return os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")) },
		"link out of the folder": func(t *testing.T, dir string) error {
			out := filepath.Join(t.TempDir(), "x")
			return errors.Join(os.WriteFile(out, []byte("theirs"), 0o600), os.Remove(filepath.Join(dir, "a")), os.Symlink(out, filepath.Join(dir, "a")))
		},
		"link within the folder": func(t *testing.T, dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")), os.Symlink("b", filepath.Join(dir, "a")))
		},
		"dangling link": func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a")), os.Symlink("nowhere", filepath.Join(dir, "a")))
		},
		"pipe": func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a")), syscall.Mkfifo(filepath.Join(dir, "a"), 0o600))
		},
		"folder": func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "a")), os.Mkdir(filepath.Join(dir, "a"), 0o700))
		},
		"linked folder": func(t *testing.T, dir string) error {
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		},
		"too long": func(t *testing.T, dir string) error {
			return os.WriteFile(filepath.Join(dir, "a"), make([]byte, MaxSecret+1), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			f, dir := open(t)
			if err := f.Set("a", []byte("secret")); err != nil {
				t.Fatal(err)
			}
			if err := spoil(t, dir); err != nil {
				t.Fatal(err)
			}
			got, err := f.Get("a")
			var unsafe *UnsafeError
			if !errors.As(err, &unsafe) || got != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// owned is a file of another account, as far as the system says.
type owned struct {
	fs.FileInfo
	uid   uint32
	links uint64
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid, Nlink: o.links} }

func TestTheOwnerIsChecked(t *testing.T) {
	f, dir := open(t)
	if err := f.Set("a", nil); err != nil {
		t.Fatal(err)
	}
	file, err := os.Lstat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Lstat(dir)
	if err != nil {
		t.Fatal(err)
	}
	me := uint32(os.Geteuid())
	for _, c := range []struct {
		what string
		info owned
		dir  bool
		want bool
	}{
		{"my file", owned{file, me, 1}, false, true},
		{"another's file", owned{file, me + 1, 1}, false, false},
		{"my file with two names", owned{file, me, 2}, false, false},
		{"my folder", owned{folder, me, 2}, true, true},
		{"another's folder", owned{folder, me + 1, 2}, true, false},
		{"a file for a folder", owned{file, me, 1}, true, false},
		{"a folder for a file", owned{folder, me, 1}, false, false},
	} {
		if got := protected("x", c.info, c.dir) == nil; got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

func TestNames(t *testing.T) {
	f, _ := open(t)
	for _, name := range []string{"", ".", "..", ".new", "../a", "a/b", "A", "a b", "a\x00", strings.Repeat("a", 65)} {
		if _, err := f.Get(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("get %q: %v", name, err)
		}
		if err := f.Set(name, nil); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("set %q: %v", name, err)
		}
		if err := f.Delete(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("delete %q: %v", name, err)
		}
	}
	if err := f.Set("long", make([]byte, MaxSecret+1)); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a secret too long: %v", err)
	}
	if err := f.Set(strings.Repeat("a", 64), make([]byte, MaxSecret)); err != nil {
		t.Errorf("the longest of both: %v", err)
	}
}

// TestAReaderNeverSeesHalf: while one writes, the other reads the old or the new.
func TestAReaderNeverSeesHalf(t *testing.T) {
	f, _ := open(t)
	a, b := bytes.Repeat([]byte("a"), 4096), bytes.Repeat([]byte("b"), 8192)
	if err := f.Set("k", a); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 20 {
			secret := a
			if i%2 == 0 {
				secret = b
			}
			if err := f.Set("k", secret); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		got, err := f.Get("k")
		if err != nil || !bytes.Equal(got, a) && !bytes.Equal(got, b) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	wg.Wait()
}

// TestWhatAKilledWriterLeft is removed, and nothing else.
func TestWhatAKilledWriterLeft(t *testing.T) {
	f, dir := open(t)
	if err := f.Set("kept", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{unfinished + "ABC", "new-one"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Tidy(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "kept" || left[1].Name() != "new-one" {
		t.Errorf("%v, %v", left, err)
	}
}

// A name that is looked up while its file is replaced can show the old file, which has no name left.
func TestAFileThatWasReplacedIsNoAttack(t *testing.T) {
	f, dir := open(t)
	if err := f.Set("a", nil); err != nil {
		t.Fatal(err)
	}
	file, err := os.Lstat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := protected("x", owned{file, uint32(os.Geteuid()), 0}, false); !errors.Is(err, errMoved) {
		t.Errorf("%v", err)
	}
}

func TestKeysAreDrawnKeptAndRotated(t *testing.T) {
	f, _ := open(t)
	if _, err := Load(f, "k"); !errors.Is(err, ErrNone) {
		t.Errorf("before the first: %v", err)
	}
	one, err := LoadOrDraw(f, "k")
	if err != nil || one.Rotation != 1 || one.Secret == [Size]byte{} {
		t.Fatalf("%v, %v", one, err)
	}
	same, err := LoadOrDraw(f, "k")
	if err != nil || *same != *one {
		t.Errorf("another key the second time: %v", err)
	}
	two, err := Rotate(f, "k")
	if err != nil || two.Rotation != 2 || two.Secret == one.Secret {
		t.Errorf("rotated: %v", err)
	}
	if got, err := Load(f, "k"); err != nil || *got != *two {
		t.Errorf("after rotation: %v", err)
	}
	if first, err := Rotate(f, "other"); err != nil || first.Rotation != 1 {
		t.Errorf("rotating what was not there: %v", err)
	}
	two.Wipe()
	if two.Secret != [Size]byte{} {
		t.Error("not wiped")
	}
	for _, raw := range [][]byte{nil, []byte(magic), make([]byte, len(magic)+8+Size), append([]byte(magic), make([]byte, 8+Size+1)...)} {
		if err := f.Set("bad", raw); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrDraw(f, "bad"); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", len(raw), err)
		}
	}
}

func FuzzStoredKey(f *testing.F) {
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), make([]byte, 8+Size)...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		k, err := Load(one{raw}, "k")
		if (err == nil) != (len(raw) == len(magic)+8+Size && strings.HasPrefix(string(raw), magic)) || err == nil && k == nil {
			t.Errorf("%q: %v", raw, err)
		}
	})
}

// one is a keyring with one secret.
type one struct{ secret []byte }

func (o one) Get(string) ([]byte, error) { return bytes.Clone(o.secret), nil }
func (o one) Set(string, []byte) error   { return nil }
func (o one) Delete(string) error        { return nil }
