// Package keys keeps the secrets of the control endpoint where no other account can read them: a keyring, or protected files.
package keys

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Ring is a place for secrets. A desktop's keyring implements it as well as Files do; names are those of checkName, values at
// most MaxSecret bytes. It may be used by several goroutines at once.
type Ring interface {
	// Get returns a secret, or an error that is ErrNone when there is none of that name.
	Get(name string) ([]byte, error)
	// Set stores a secret: afterwards there is the new one, or still the old one, never half of either.
	Set(name string, secret []byte) error
	// Delete forgets a secret; one that is not there is no error.
	Delete(name string) error
}

// MaxSecret is the longest secret in bytes.
const MaxSecret = 64 << 10

// ErrNone says that there is no secret of that name.
var ErrNone = errors.New("there is no such secret")

// UnsafeError says that a file or folder is not protected as it must be, so nothing was read from it.
type UnsafeError struct {
	Path string
	Why  string
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s: it is not used. Remove it, or give it to this account alone (folder 0700, file 0600)", e.Path, e.Why)
}

// Files is a Ring of files with mode 0600 in a folder with mode 0700, both of this account.
type Files struct{ dir string }

// OpenFiles makes the folder if it is not there, and refuses one that others could read, own, or have put in our way.
// Folders above it must exist.
func OpenFiles(dir string) (*Files, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of keys: %w", err)
	}
	f := &Files{dir: dir}
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	return f, root.Close()
}

// At is a Ring of a folder that should be there: nothing is made, and every use checks it.
func At(dir string) *Files { return &Files{dir: dir} }

// Check says whether the folder is there and protected.
func (f *Files) Check() error {
	root, err := f.open()
	if err != nil {
		return err
	}
	return root.Close()
}

// open checks the folder anew and holds on to it, so that what is checked is what is used.
func (f *Files) open() (*os.Root, error) {
	before, err := os.Lstat(f.dir)
	if err != nil {
		return nil, fmt.Errorf("look at the folder of keys: %w", err)
	}
	if err := protected(f.dir, before, true); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of keys: %w", err)
	}
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = &UnsafeError{f.dir, "was exchanged while it was looked at"}
	}
	if err != nil {
		_ = root.Close() // the reason is err
		return nil, err
	}
	return root, nil
}

// protected says why a file or folder must not be trusted; nil when it may. A file without any name was replaced between
// finding and looking at it, which is errMoved.
func protected(path string, info fs.FileInfo, dir bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &UnsafeError{path, "is a symbolic link"}
	case dir && !info.IsDir():
		return &UnsafeError{path, "is no folder"}
	case !dir && !info.Mode().IsRegular():
		return &UnsafeError{path, "is no ordinary file"}
	case info.Mode().Perm()&0o077 != 0:
		return &UnsafeError{path, fmt.Sprintf("is open to other accounts (mode %04o)", info.Mode().Perm())}
	case !ok:
		return &UnsafeError{path, "has no known owner"}
	case int(stat.Uid) != os.Geteuid():
		return &UnsafeError{path, fmt.Sprintf("belongs to account %d", stat.Uid)}
	case !dir && stat.Nlink == 0:
		return errMoved
	case !dir && stat.Nlink > 1:
		return &UnsafeError{path, "has a second name"}
	}
	return nil
}

func checkName(name string) error {
	ok := len(name) > 0 && len(name) <= 64 && name[0] != '.'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("a secret's name takes 1 to 64 of a-z 0-9 . _ -, and no dot first: %w", fs.ErrInvalid)
	}
	return nil
}

// errMoved says that the name got another file while we looked.
var errMoved = errors.New("the file was replaced while it was read")

// Get reads a secret; the caller wipes it.
func (f *Files) Get(name string) ([]byte, error) { return f.GetLong(name, MaxSecret) }

// GetLong is Get for what has at most so many bytes.
func (f *Files) GetLong(name string, most int) ([]byte, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		// A writer replaces the file, which is no attack; one who does it over and over is not waited for.
		if secret, err := f.get(name, most); !errors.Is(err, errMoved) || try == 9 {
			return secret, err
		}
	}
}

func (f *Files) get(name string, most int) (secret []byte, err error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	// O_NOFOLLOW refuses a link, O_NONBLOCK a pipe somebody put there to make us wait.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	path := filepath.Join(f.dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, lerr := root.Lstat(name); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &UnsafeError{path, "is a symbolic link"}
		}
		return nil, fmt.Errorf("%s: %w", name, ErrNone)
	case err != nil:
		if info, lerr := root.Lstat(name); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &UnsafeError{path, "is a symbolic link"}
		}
		return nil, fmt.Errorf("open the secret %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the secret %s: %w", name, err)
	}
	// Root follows links that stay inside the folder; ours are never links.
	link, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, errMoved
	case link.Mode()&fs.ModeSymlink != 0:
		return nil, &UnsafeError{path, "is a symbolic link"}
	case !os.SameFile(link, info):
		return nil, errMoved
	}
	if err := protected(path, link, false); err != nil {
		return nil, err
	}
	secret, err = io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		clear(secret)
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	if len(secret) > most {
		clear(secret)
		return nil, &UnsafeError{path, "is longer than any secret of ours"}
	}
	return secret, nil
}

// Set writes a secret beside the old one, makes it durable, and puts it in the old one's place.
func (f *Files) Set(name string, secret []byte) error { return f.SetLong(name, secret, MaxSecret) }

// SetLong is Set for what has at most so many bytes.
func (f *Files) SetLong(name string, secret []byte, most int) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	if len(secret) > most {
		return fmt.Errorf("a secret has at most %d bytes: %w", most, fs.ErrInvalid)
	}
	root, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	temp := unfinished + rand.Text()
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("write the secret %s: %w", name, err)
	}
	_, err = file.Write(secret)
	if err == nil {
		err = file.Chmod(0o600) // whatever the umask was
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return fmt.Errorf("write the secret %s: %w", name, errors.Join(err, root.Remove(temp)))
	}
	return syncDir(root)
}

// unfinished begins the name of a secret that is being written.
const unfinished = ".new-"

// Tidy removes what writers left that were killed. Nobody else may be writing.
func (f *Files) Tidy() (err error) {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	d, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("tidy the folder of keys: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("tidy the folder of keys: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, unfinished) {
			if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("tidy the folder of keys: %w", err)
			}
		}
	}
	return nil
}

func syncDir(root *os.Root) (err error) {
	d, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("make the folder of keys durable: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("make the folder of keys durable: %w", err)
	}
	return nil
}

// Delete removes a secret's file.
func (f *Files) Delete(name string) (err error) {
	if err := checkName(name); err != nil {
		return err
	}
	root, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the secret %s: %w", name, err)
	}
	return syncDir(root)
}
