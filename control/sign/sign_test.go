package sign

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEd25519Vectors holds the scheme to RFC 8032, section 7.1, tests 1 to 3.
func TestEd25519Vectors(t *testing.T) {
	for _, v := range []struct{ seed, public, message, signature string }{
		{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
			"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
		{"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
			"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
		{"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
			"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
	} {
		pub, priv, err := Ed25519.Generate(unhex(t, v.seed))
		if err != nil || !bytes.Equal(pub, unhex(t, v.public)) {
			t.Fatalf("public key of %s: %x, %v", v.seed, pub, err)
		}
		sig, err := Ed25519.Sign(priv, unhex(t, v.message))
		if err != nil || !bytes.Equal(sig, unhex(t, v.signature)) {
			t.Errorf("signature of %s: %x, %v", v.seed, sig, err)
		}
		if !Ed25519.Verify(pub, unhex(t, v.message), sig) {
			t.Errorf("%s: its own signature is refused", v.seed)
		}
	}
}

func TestBothSignaturesMustBeRight(t *testing.T) {
	a, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	m := []byte("message")
	aEd, aPQ, err := a.Sign(m)
	if err != nil {
		t.Fatal(err)
	}
	bEd, bPQ, err := b.Sign(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		pins   Pins
		ed, pq []byte
		m      string
		want   bool
	}{
		{"both", a.Pins(), aEd, aPQ, "message", true},
		{"Ed25519 of another", a.Pins(), bEd, aPQ, "message", false},
		{"ML-DSA-87 of another", a.Pins(), aEd, bPQ, "message", false},
		{"both of another", a.Pins(), bEd, bPQ, "message", false},
		{"mixed pins", Pins{Ed: a.Pins().Ed, PQ: b.Pins().PQ}, aEd, aPQ, "message", false},
		{"another message", a.Pins(), aEd, aPQ, "messagf", false},
		{"short Ed25519", a.Pins(), aEd[:63], aPQ, "message", false},
		{"long ML-DSA-87", a.Pins(), aEd, append(append([]byte{}, aPQ...), 0), "message", false},
		{"no pins", Pins{}, aEd, aPQ, "message", false},
	} {
		if got := c.pins.Verify([]byte(c.m), c.ed, c.pq); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	if (Pins{}).Check() == nil || a.Pins().Check() != nil {
		t.Error("Check takes the wrong pins")
	}
	a.Wipe()
	if _, _, err := a.Sign(m); err == nil {
		t.Error("a wiped identity still signs")
	}
}

func TestWrongSeedsAndKeys(t *testing.T) {
	for name, s := range map[string]Scheme{"Ed25519": Ed25519, "ML-DSA-87": MLDSA87} {
		for _, n := range []int{0, 31, 33} {
			if _, _, err := s.Generate(make([]byte, n)); err == nil {
				t.Errorf("%s: a seed of %d bytes passes", name, n)
			}
			if _, err := s.Sign(make([]byte, n), nil); err == nil {
				t.Errorf("%s: a private key of %d bytes signs", name, n)
			}
		}
	}
}
