package keys

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
)

// Place says where a key lies, in the words of a connection file: "kernel:<description>" or "files:<absolute path>".
type Place string

// ErrPlace says that a place is none of the two.
var ErrPlace = errors.New("the key's place must be kernel:<description> or files:<absolute path>")

// Best is the kernel's keyring where there is one, and else protected files in dir. What it gives is the ring and the
// place of a key of that name in it.
func Best(dir, name string) (Ring, Place, error) {
	sum := sha256.Sum256([]byte(dir))
	if k, err := OpenKernel("parley-" + hex.EncodeToString(sum[:8])); err == nil {
		return k, Place("kernel:" + k.Description(name)), nil
	}
	return Protected(dir, name)
}

// Protected is the ring of files in dir.
func Protected(dir, name string) (Ring, Place, error) {
	f, err := OpenFiles(dir)
	if err != nil {
		return nil, "", err
	}
	abs, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return nil, "", err
	}
	return f, Place("files:" + abs), nil
}

// Open gives the ring and the name that a place speaks of. It makes nothing.
func (p Place) Open() (Ring, string, error) {
	kind, where, _ := strings.Cut(string(p), ":")
	switch kind {
	case "kernel":
		prefix, name, ok := strings.Cut(where, ":")
		if !ok || checkName(prefix) != nil || checkName(name) != nil {
			return nil, "", ErrPlace
		}
		return &Kernel{prefix}, name, nil
	case "files":
		name := filepath.Base(where)
		if !filepath.IsAbs(where) || filepath.Clean(where) != where || checkName(name) != nil {
			return nil, "", ErrPlace
		}
		return &Files{dir: filepath.Dir(where)}, name, nil
	}
	return nil, "", ErrPlace
}
