//go:build accept

package wire

import (
	"bytes"
	"crypto/mlkem"
	"crypto/mlkem/mlkemtest"
	"crypto/sha3"
	"testing"

	circl "github.com/cloudflare/circl/kem/mlkem/mlkem1024"
)

// TestTwoImplementationsOfMLKEM: ten thousand draws, among which the rare cases of ML-KEM-1024 come up that no list of
// vectors has. Keys, ciphertexts, secrets and implicit rejections of the standard library are those of circl.
func TestTwoImplementationsOfMLKEM(t *testing.T) {
	in := sha3.NewSHAKE128() // every run draws the same
	draw := func(n int) []byte {
		b := make([]byte, n)
		_, _ = in.Read(b) // never fails
		return b
	}
	for i := range 10_000 {
		seed, m, other := draw(mlkem.SeedSize), draw(32), draw(kemSize)
		ours, err := mlkem.NewDecapsulationKey1024(seed)
		if err != nil {
			t.Fatal(err)
		}
		secret, sealed, err := mlkemtest.Encapsulate1024(ours.EncapsulationKey(), m)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := ours.Decapsulate(sealed)
		if err != nil {
			t.Fatal(err)
		}
		rejected, err := ours.Decapsulate(other)
		if err != nil {
			t.Fatal(err)
		}

		public, private := circl.NewKeyFromSeed(seed)
		key := make([]byte, circl.PublicKeySize)
		public.Pack(key)
		theirSealed, theirSecret, theirOpened, theirRejected := make([]byte, kemSize), make([]byte, 32), make([]byte, 32), make([]byte, 32)
		public.EncapsulateTo(theirSealed, theirSecret, m)
		private.DecapsulateTo(theirOpened, sealed)
		private.DecapsulateTo(theirRejected, other)
		switch {
		case !bytes.Equal(key, ours.EncapsulationKey().Bytes()):
			t.Fatalf("draw %d: another key", i)
		case !bytes.Equal(theirSealed, sealed) || !bytes.Equal(theirSecret, secret):
			t.Fatalf("draw %d: sealed otherwise", i)
		case !bytes.Equal(opened, secret) || !bytes.Equal(theirOpened, secret):
			t.Fatalf("draw %d: opened otherwise", i)
		case !bytes.Equal(rejected, theirRejected) || bytes.Equal(rejected, secret):
			t.Fatalf("draw %d: rejected otherwise", i)
		}
	}
}
