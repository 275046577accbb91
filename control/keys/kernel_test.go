package keys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

func TestTheKernelsKeyring(t *testing.T) {
	k, err := OpenKernel("parley-test-" + strconv.Itoa(os.Getpid()))
	var refused syscall.Errno
	if errors.As(err, &refused) {
		t.Skipf("NOT SHOWN: this kernel, or this container, allows no keyring: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenKernel("Upper"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a prefix that is no name: %v", err)
	}
	if _, err := k.Get("a"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	for _, secret := range [][]byte{{1, 2, 3}, bytes.Repeat([]byte{7}, 4000)} {
		if err := k.Set("a", secret); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Get("a"); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	p := Place("kernel:" + k.Description("a"))
	r, name, err := p.Open()
	if err != nil || name != "a" {
		t.Fatal(err)
	}
	if got, err := r.Get(name); err != nil || len(got) != 4000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for range 2 {
		if err := k.Delete("a"); err != nil {
			t.Error(err)
		}
	}
	if _, err := k.Get("a"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

func TestPlacesOfKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	ring, place, err := Protected(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := ring.Set("x", []byte{9}); err != nil {
		t.Fatal(err)
	}
	other, name, err := place.Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := other.Get(name); err != nil || !bytes.Equal(got, []byte{9}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []Place{"", "x", "files:", "files:relative/x", "files:/a/../b", "files:/a/.hidden", "kernel:", "kernel:a", "kernel:A:b", "https://x", "files:/"} {
		if _, _, err := bad.Open(); !errors.Is(err, ErrPlace) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
