package connection

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/control/client"
	"parley/control/keys"
	"parley/control/sign"
	"parley/control/wire"
)

func endpoint(t testing.TB) client.Endpoint {
	t.Helper()
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return client.Endpoint{Pins: id.Pins(), Instance: wire.Instance{1}, Principal: wire.Principal{ID: "agent", Generation: 1<<63 + 1}, Capability: &wire.Capability{1, 2, 3}}
}

const (
	address = "127.0.0.1:41234"
	place   = keys.Place("files:/home/someone/keys/control-pairing")
)

func TestAConnectionFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	f, err := keys.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	ring, place, err := keys.Protected(filepath.Join(t.TempDir(), "keys"), PairingKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.LoadOrDraw(ring, PairingKey)
	if err != nil {
		t.Fatal(err)
	}
	e := endpoint(t)
	if err := Write(f, Name, address, e, place, key); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, e.Capability[:]) || !bytes.Contains(raw, []byte(Format)) {
		t.Error("the capability is in the clear, or the format is missing")
	}
	if info, err := os.Stat(filepath.Join(dir, Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	got, back, err := Read(f, Name)
	if err != nil || got != address || back.Principal != e.Principal || back.Instance != e.Instance || *back.Capability != *e.Capability ||
		!bytes.Equal(back.Pins.Ed, e.Pins.Ed) || !bytes.Equal(back.Pins.PQ, e.Pins.PQ) {
		t.Errorf("read back: %v", err)
	}
	// Without its key, and with another in its place, the file opens nothing.
	if _, err := keys.Rotate(ring, PairingKey); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(f, Name); !errors.Is(err, ErrSealed) {
		t.Errorf("after rotation: %v", err)
	}
	if err := ring.Delete(PairingKey); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(f, Name); !errors.Is(err, ErrSealed) {
		t.Errorf("without the key: %v", err)
	}
	if err := Remove(f, Name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(f, Name); !errors.Is(err, keys.ErrNone) {
		t.Errorf("after removal: %v", err)
	}
}

// TestAStolenFileIsUseless: another account has neither the key nor the account the seal is bound to.
func TestAStolenFileIsUseless(t *testing.T) {
	key, other := &keys.Key{Secret: [keys.Size]byte{1}}, &keys.Key{Secret: [keys.Size]byte{2}}
	text, err := encode(address, endpoint(t), place, key, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := decode(text, key, 1000); err != nil {
		t.Fatalf("the owner: %v", err)
	}
	if _, _, err := decode(text, key, 1001); !errors.Is(err, ErrSealed) {
		t.Errorf("another account with the key: %v", err)
	}
	if _, _, err := decode(text, other, 1000); !errors.Is(err, ErrSealed) {
		t.Errorf("the account after the key was rotated: %v", err)
	}
}

func TestEveryFieldIsBound(t *testing.T) {
	key := &keys.Key{Secret: [keys.Size]byte{1}}
	text, err := encode(address, endpoint(t), place, key, 1000)
	if err != nil {
		t.Fatal(err)
	}
	n, step := 0, 1
	if testing.Short() {
		step = 7
	}
	changed := bytes.Clone(text)
	for i := 0; i < len(text); i += step {
		for bit := range 7 {
			changed[i] ^= 1 << bit
			a, e, err := decode(changed, key, 1000)
			if err == nil {
				// White space is the one thing that may change.
				again, b, err := decode(text, key, 1000)
				if err != nil || a != again || e.Principal != b.Principal || e.Instance != b.Instance || *e.Capability != *b.Capability ||
					!bytes.Equal(e.Pins.Ed, b.Pins.Ed) || !bytes.Equal(e.Pins.PQ, b.Pins.PQ) {
					t.Errorf("byte %d bit %d: a changed file is read", i, bit)
				}
			}
			changed[i] ^= 1 << bit
			n++
		}
	}
	t.Logf("%d changed files", n)
	for what, bad := range map[string]string{
		"other format":   strings.Replace(string(text), Format, "parley-control-v1", 1),
		"other protocol": strings.Replace(string(text), wire.Protocol, "parley-control-2", 1),
		"plaintext":      strings.Replace(string(text), `"sealed"`, `"token"`, 1),
		"more":           string(text) + "{}",
		"empty":          "",
	} {
		if _, _, err := decode([]byte(bad), key, 1000); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestOnlyLiteralLoopback(t *testing.T) {
	for a, want := range map[string]bool{
		"127.0.0.1:1": true, "127.0.0.1:65535": true, "[::1]:80": true, "127.255.0.1:80": true,
		"localhost:80": false, "0.0.0.0:80": false, "[::]:80": false, "192.168.0.1:80": false, "127.1:80": false, "127.0.0.1": false,
		"127.0.0.1:0": false, "127.0.0.1:080": false, "[::ffff:127.0.0.1]:80": false, "[::1%lo]:80": false, "2130706433:80": false, "127.0.0.1:80/x": false, "": false,
	} {
		if got := CheckAddress(a) == nil; got != want {
			t.Errorf("%q: %v", a, got)
		}
	}
	if _, err := Encode("localhost:80", endpoint(t), place, &keys.Key{}); !errors.Is(err, ErrAddress) {
		t.Errorf("written with a name: %v", err)
	}
}

func FuzzConnection(f *testing.F) {
	key := &keys.Key{}
	text, err := encode(address, endpoint(f), place, key, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"` + Format + `"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, e, err := decode(text, key, 1)
		if err == nil && (CheckAddress(a) != nil || e.Capability == nil || !e.Principal.Valid()) {
			t.Errorf("%q is read", text)
		}
	})
}
