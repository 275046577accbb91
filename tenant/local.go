package tenant

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LocalTokenFile is the file in the data folder that holds the first token, for clients on this machine.
const LocalTokenFile = "token"

// LocalToken reads the token file of a data folder, or makes it (0600) where it is missing. Made tells which.
// Several processes may call it at once: one of them makes the file, all get the same token.
// Deleting the file and starting again makes a new token; the old one is then worth nothing.
func LocalToken(dir string) (token string, made bool, err error) {
	path := filepath.Join(dir, LocalTokenFile)
	for range 3 {
		token, err = readToken(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return token, false, err
		}
		token = NewToken()
		err = writeToken(path, token)
		if err == nil {
			return token, true, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", false, err
		}
	}
	return "", false, fmt.Errorf("%s comes and goes: is another program removing it?", path)
}

// ReadLocalToken reads the token file of a data folder without making it.
func ReadLocalToken(dir string) (string, error) { return readToken(filepath.Join(dir, LocalTokenFile)) }

func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it, or delete it and start again to get a new token", path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimRight(string(b), "\r\n")
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("%s: %w: delete it and start again to get a new one", path, err)
	}
	return token, nil
}

// writeToken makes the whole file appear at once, and only where there is none.
func writeToken(path, token string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // 0600
	if err != nil {
		return fmt.Errorf("making the token file: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, token+"\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing the token file: %w", err)
	}
	return os.Link(f.Name(), path)
}
