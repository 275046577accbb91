package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// State is how a file stands.
type State string

// The states.
const (
	OK      State = "ok"
	Missing State = "missing"
	Corrupt State = "corrupt" // another size or content than pinned
	Unread  State = "unread"  // it lies there and may not be read
)

// Item is one file of the installation.
type Item struct {
	Part     string `json:"part"` // what it belongs to: "whisper base", "kokoro", …
	File     string `json:"file"` // path below the folder
	Bytes    int64  `json:"bytes"`
	State    State  `json:"state"`
	Optional bool   `json:"optional"`         // nothing needs it
	Remedy   string `json:"remedy,omitempty"` // what to do, when it is not OK
}

// Ready tells whether everything that is not optional is there.
func Ready(items []Item) bool {
	for _, i := range items {
		if i.State != OK && !i.Optional {
			return false
		}
	}
	return len(items) > 0
}

// Status looks at the files of dir without changing anything. It trusts a file whose size and time of change are
// those of its last verification and reads the others.
func Status(dir string) []Item {
	in, err := embedded()
	if err != nil {
		return []Item{{Part: "manifest", State: Corrupt, Remedy: err.Error()}}
	}
	items, _ := in.look(context.Background(), dir, false) // without a deadline it cannot fail
	return items
}

// Verify reads every file of dir, however it looks. It fails only when ctx ends.
func Verify(ctx context.Context, dir string) ([]Item, error) {
	in, err := embedded()
	if err != nil {
		return nil, err
	}
	return in.look(ctx, dir, true)
}

// look gives an item for each target, in the same order.
func (in *installer) look(ctx context.Context, dir string, deep bool) ([]Item, error) {
	s := readStamp(dir)
	items := make([]Item, 0, len(in.targets))
	for _, t := range in.targets {
		state, err := check(ctx, dir, t, s, deep)
		if err != nil {
			return nil, err
		}
		item := Item{Part: t.part, File: t.path, Bytes: t.bytes, State: state, Optional: t.optional != ""}
		switch {
		case state == OK:
		case state == Unread:
			item.Remedy = "make it readable for this account"
		case t.optional == optSherpa:
			item.Remedy = "parley models fetch --sherpa"
		case t.optional == optEmbedder:
			item.Remedy = "parley models fetch --embedder"
		default:
			item.Remedy = "parley models fetch"
		}
		items = append(items, item)
	}
	return items, nil
}

func check(ctx context.Context, dir string, t target, s stamp, deep bool) (State, error) {
	name := filepath.Join(dir, filepath.FromSlash(t.path))
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return Unread, nil
	case !info.Mode().IsRegular() || info.Size() != t.bytes:
		return Corrupt, nil
	}
	if seen, ok := s.Files[t.path]; !deep && ok && seen == (stamped{info.Size(), info.ModTime().UnixNano(), t.sha256}) {
		return OK, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return Unread, nil
	}
	defer f.Close()
	sum, err := hashOf(ctx, f)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return Unread, nil
	case sum != t.sha256:
		return Corrupt, nil
	}
	return OK, nil
}

// hashOf reads to the end unless ctx ends before.
func hashOf(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, reading{ctx, r}, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reading is a reader that stops when its context does.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// stamp remembers what was verified, so that a later look need not read 350 MB.
type stamp struct {
	Files map[string]stamped `json:"files"`
}

type stamped struct {
	Bytes   int64  `json:"bytes"`
	Changed int64  `json:"changed"` // Unix nanoseconds
	SHA256  string `json:"sha256"`
}

const stampFile = "installed.json"

// readStamp gives an empty stamp when there is none or it cannot be understood: then everything is read again.
func readStamp(dir string) stamp {
	var s stamp
	b, err := os.ReadFile(filepath.Join(dir, stampFile))
	if err != nil || json.Unmarshal(b, &s) != nil {
		return stamp{}
	}
	return s
}

// writeStamp notes the targets whose state is OK as they lie there now.
func (in *installer) writeStamp(dir string, items []Item) error {
	s := stamp{Files: map[string]stamped{}}
	for i, t := range in.targets {
		if items[i].State != OK {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(t.path)))
		if err != nil {
			return err
		}
		s.Files[t.path] = stamped{info.Size(), info.ModTime().UnixNano(), t.sha256}
	}
	old := readStamp(dir)
	if same(old, s) {
		return nil
	}
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return writeFile(context.Background(), filepath.Join(dir, stampFile), func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

func same(a, b stamp) bool {
	if len(a.Files) != len(b.Files) {
		return false
	}
	for k, v := range a.Files {
		if b.Files[k] != v {
			return false
		}
	}
	return true
}

// writeFile makes a whole file appear at once: a temporary name, synced, renamed.
func writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), tempPrefix)
	if err != nil {
		return err
	}
	err = write(writing{ctx, f})
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// tempPrefix begins the names of files that are not finished; an installation removes those it finds.
const tempPrefix = ".part-"

type writing struct {
	ctx context.Context
	w   io.Writer
}

func (w writing) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
