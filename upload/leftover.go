package upload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A store marks its files by its own name in their ids, and holds the lock of that name while it lives.

func lockPath(dir, instance string) string { return filepath.Join(dir, "."+instance+".lock") }

// errHeld means that another process has the lock.
var errHeld = errors.New("another process holds it")

// takeLock takes a lock without waiting. It is freed by the death of this process: no child inherits it.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, errHeld
	}
	return f, nil
}

// instanceOf is the store whose file it is; empty for anything else.
func instanceOf(id string) string {
	if len(id) < 9 || id[0] != 'f' || strings.Trim(id, "f0123456789abcde") != "" {
		return ""
	}
	return id[1:9]
}

// sweepDead deletes what stores left that live no more.
func sweepDead(dir string) (files int, err error) {
	var errs []error
	left := map[string][]string{} // folders of files, by store
	tenants, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, t := range tenants {
		name := t.Name()
		if instance, ok := strings.CutPrefix(name, "."); ok && strings.HasSuffix(name, ".lock") {
			instance = strings.TrimSuffix(instance, ".lock")
			left[instance] = append([]string{}, left[instance]...) // its lock goes too, files or none
			continue
		}
		if !t.IsDir() {
			continue
		}
		ids, err := os.ReadDir(filepath.Join(dir, name))
		errs = append(errs, err)
		for _, id := range ids {
			if instance := instanceOf(id.Name()); instance != "" {
				left[instance] = append(left[instance], filepath.Join(dir, name, id.Name()))
			}
		}
	}
	for instance, folders := range left {
		lock, err := takeLock(lockPath(dir, instance))
		if errors.Is(err, errHeld) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, f := range folders {
			if err := removeAll(f); err != nil {
				errs = append(errs, err)
				continue
			}
			files++
		}
		errs = append(errs, os.Remove(lock.Name()), lock.Close())
	}
	return files, errors.Join(errs...)
}

// removeAll deletes a file's folder, and tells of failures without the file's name.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: dir, Err: p.Err}
	}
	return err
}
