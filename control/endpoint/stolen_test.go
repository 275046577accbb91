package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/control/connection"
	"parley/control/dial"
	"parley/control/keys"
	"parley/control/wire"
	"parley/testkit/need"
)

// thiefEnv makes this test binary another account's process: the path of a connection file.
const thiefEnv = "PARLEY_TEST_THIEF"

// TestThief is no test: it is the other account's process of the next one.
func TestThief(t *testing.T) {
	path := os.Getenv(thiefEnv)
	if path == "" {
		return
	}
	address, end, err := connection.Read(keys.At(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		fmt.Println("THIEF cannot read:", err)
		return
	}
	c, err := dial.New(address, end)
	if err != nil {
		fmt.Println("THIEF cannot dial:", err)
		return
	}
	reply, err := c.Do(t.Context(), wire.Request{Action: "sessions"})
	fmt.Println("THIEF got", string(reply.Result), err)
}

// TestAStolenFileOnAnotherAccount: another account reads neither the file nor its key, and a copy that somebody gave it,
// with everything it asks for, opens nothing.
func TestAStolenFileOnAnotherAccount(t *testing.T) {
	need.Real(t)
	if os.Geteuid() != 0 {
		t.Skip("a second account needs root; connection.TestAStolenFileIsUseless holds the same without one")
	}
	const nobody = 65534
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, keyring := range []bool{false, true} {
		r := newRig(t, func(r *rig) { r.opt.Keyring = keyring })
		place, err := os.MkdirTemp("", "thief") // the test's own folders let nobody else in
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(place) })
		binary, loot := filepath.Join(place, "test"), filepath.Join(place, "loot")
		copyFile(t, self, binary, 0o755)
		if err := errors.Join(os.Chmod(place, 0o755), os.Mkdir(loot, 0o700)); err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join(r.dir, connection.Name), filepath.Join(loot, connection.Name), 0o600)
		if err := errors.Join(os.Chown(loot, nobody, nobody), os.Chown(filepath.Join(loot, connection.Name), nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		run := func(uid uint32, path string) string {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			c := exec.CommandContext(ctx, binary, "-test.run=^TestThief$", "-test.v")
			c.Env = []string{thiefEnv + "=" + path, "TMPDIR=/tmp", "HOME=/nonexistent"}
			c.Dir = place
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			_, said, _ := strings.Cut(string(out), "THIEF ")
			said, _, _ = strings.Cut(said, "\n")
			return said
		}
		if said := run(0, filepath.Join(r.dir, connection.Name)); !strings.HasPrefix(said, "got [] <nil>") {
			t.Fatalf("the owner itself: %q", said)
		}
		for _, path := range []string{filepath.Join(loot, connection.Name), filepath.Join(r.dir, connection.Name)} {
			if said := run(nobody, path); !strings.HasPrefix(said, "cannot read:") {
				t.Errorf("keyring %v, %s: %q", keyring, filepath.Base(filepath.Dir(path)), said)
			}
		}
		// And the owner is not fooled by a file that another account owns, or that it could write.
		if _, _, err := connection.Read(keys.At(loot), connection.Name); err == nil {
			t.Error("a file of another account is read")
		}
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Chmod(mode), out.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestNobodyElseMayReadWhatTheEndpointKeeps: every file and folder of it, by its mode.
func TestNobodyElseMayReadWhatTheEndpointKeeps(t *testing.T) {
	r := newRig(t)
	r.publish(granted(builder(1)))
	r.issue(builder(1))
	n := 0
	err := filepath.Walk(r.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		n++
		if !strings.Contains(path, "parley.db-") && info.Mode().Perm()&0o077 != 0 { // SQLite's own beside the store come and go; the folder keeps them
			t.Errorf("%s has mode %v", filepath.Base(path), info.Mode())
		}
		if info.Mode().IsRegular() && strings.Contains(path, "control") {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if bytes.Contains(raw, []byte("builder")) && !strings.Contains(filepath.Base(path), "control-") {
				t.Errorf("%s holds the grant in the clear", filepath.Base(path))
			}
		}
		return nil
	})
	if err != nil || n < 6 {
		t.Errorf("%d files, %v", n, err)
	}
}
