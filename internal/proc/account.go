package proc

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Account is a system user that children may run as.
type Account struct {
	Name     string
	UID, GID uint32
	Groups   []uint32
	Home     string
}

// Lookup finds a system user by name.
func Lookup(name string) (*Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("system user %q: %w", name, err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("system user %q has no numeric ids", name)
	}
	a := &Account{Name: u.Username, UID: uint32(uid), GID: uint32(gid), Home: u.HomeDir}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %q: %w", name, err)
	}
	for _, g := range groups {
		id, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("groups of %q: %w", name, err)
		}
		a.Groups = append(a.Groups, uint32(id))
	}
	return a, nil
}

// RunDir makes a new folder with a short path, for sockets (their paths end at 108 bytes) and temporary
// profiles. It is 0700 and belongs to the account; the caller removes it.
//
// The folder lies in base, or in the system's temporary folder when base is empty.
func RunDir(base string, a *Account) (string, error) {
	if base == "" {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "parley-")
	if err != nil {
		return "", fmt.Errorf("run folder: %w", err)
	}
	if len(dir) > 70 {
		_ = os.Remove(dir)
		return "", fmt.Errorf("run folder %s is too long for socket paths; set TMPDIR to a shorter folder", filepath.Dir(dir))
	}
	if err := Own(dir, a); err != nil {
		_ = os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// Own gives a file or folder to the account; nil leaves it as it is.
func Own(path string, a *Account) error {
	if a == nil {
		return nil
	}
	if err := os.Chown(path, int(a.UID), int(a.GID)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a.Name, err)
	}
	return nil
}
