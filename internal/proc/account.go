package proc

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
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

// longestRunDir leaves room for the names of sockets: their paths end at 108 bytes.
const longestRunDir = 70

// RunDir makes a new folder with a short path, for sockets and temporary profiles. It is 0700 and belongs to the
// account; the caller removes it.
//
// The folder lies in base. When base is empty it lies in the system's temporary folder, or, where that is too deep
// for sockets or closed to the account, in the next common one.
func RunDir(base string, a *Account) (string, error) {
	bases := []string{base}
	if base == "" {
		bases = []string{os.TempDir(), "/tmp", "/var/tmp"}
	}
	var whys []error
	for _, b := range bases {
		dir, err := runDir(b, a)
		if err == nil {
			return dir, nil
		}
		whys = append(whys, err)
	}
	return "", errors.Join(whys...)
}

func runDir(base string, a *Account) (string, error) {
	if closed := closedTo(base, a); closed != "" {
		return "", fmt.Errorf("run folder: %s is closed to the user %s, who runs browser and sound; set TMPDIR to a folder that it can enter", closed, a.Name)
	}
	dir, err := os.MkdirTemp(base, "parley-")
	if err != nil {
		return "", fmt.Errorf("run folder: %w", err)
	}
	if len(dir) > longestRunDir {
		_ = os.Remove(dir)
		return "", fmt.Errorf("run folder %s is too long for socket paths; set TMPDIR to a shorter folder", filepath.Dir(dir))
	}
	if err := Own(dir, a); err != nil {
		_ = os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// closedTo names the first folder on the way to a path, itself included, that the account cannot enter.
func closedTo(path string, a *Account) string {
	path, err := filepath.Abs(path)
	if a == nil || err != nil {
		return ""
	}
	var way []string
	for p := path; ; p = filepath.Dir(p) {
		way = append(way, p)
		if p == filepath.Dir(p) {
			break
		}
	}
	for _, p := range slices.Backward(way) {
		var st syscall.Stat_t
		if syscall.Stat(p, &st) != nil {
			return "" // making the folder says what is wrong
		}
		enter := uint32(0o001)
		switch {
		case st.Uid == a.UID:
			enter = 0o100
		case st.Gid == a.GID || slices.Contains(a.Groups, st.Gid):
			enter = 0o010
		}
		if st.Mode&enter == 0 {
			return p
		}
	}
	return ""
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
