package keys

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

func TestTheKernelsKeyring(t *testing.T) {
	k, err := OpenKernel("parley-test-" + filepath.Base(filepath.Dir(t.TempDir()))[:8])
	if err != nil {
		t.Skipf("this kernel, or this container, has no keyring: %v", err)
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
