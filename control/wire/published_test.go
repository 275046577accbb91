package wire

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/mlkem"
	"crypto/mlkem/mlkemtest"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"testing"
)

func is(got []byte, sum string) bool {
	h := sha256.Sum256(got)
	return hex.EncodeToString(h[:]) == sum
}

// TestMLKEM1024Vectors holds the keys that challenges are made of, and what is sealed to them, to NIST's and Wycheproof's.
func TestMLKEM1024Vectors(t *testing.T) {
	var v struct {
		Keys []struct {
			TC        int
			Seed, Key string
		}
		Encapsulations []struct {
			TC                           int
			Seed, M, Key, Sealed, Secret string
		}
		Implicit []struct {
			TC                   int
			Seed, Sealed, Secret string
		}
		RefusedKeys []struct {
			TC  int
			Key string
		}
	}
	load(t, "mlkem1024.json", &v)
	if len(v.Keys) < 25 || len(v.Encapsulations) < 90 || len(v.Implicit) < 2 || len(v.RefusedKeys) < 1 {
		t.Fatalf("%d keys, %d encapsulations, %d implicit rejections, %d refused keys", len(v.Keys), len(v.Encapsulations), len(v.Implicit), len(v.RefusedKeys))
	}
	grow := func(seed string) *mlkem.DecapsulationKey1024 {
		k, err := mlkem.NewDecapsulationKey1024(unhex(t, seed))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for _, k := range v.Keys {
		if got := grow(k.Seed).EncapsulationKey().Bytes(); len(got) != kemKeySize || !is(got, k.Key) {
			t.Errorf("key %d: not the published one", k.TC)
		}
	}
	for _, e := range v.Encapsulations {
		key := grow(e.Seed)
		public := key.EncapsulationKey()
		if !is(public.Bytes(), e.Key) {
			t.Errorf("encapsulation %d: not the published key", e.TC)
		}
		secret, sealed, err := mlkemtest.Encapsulate1024(public, unhex(t, e.M))
		if err != nil || len(sealed) != kemSize || !is(sealed, e.Sealed) || hex.EncodeToString(secret) != e.Secret {
			t.Errorf("encapsulation %d: not the published one, %v", e.TC, err)
		}
		if back, err := key.Decapsulate(sealed); err != nil || !bytes.Equal(back, secret) {
			t.Errorf("encapsulation %d does not open: %v", e.TC, err)
		}
		sealed[e.TC%kemSize] ^= 1 // a changed one gives a secret, and another
		if back, err := key.Decapsulate(sealed); err != nil || bytes.Equal(back, secret) {
			t.Errorf("encapsulation %d, changed: the same secret, %v", e.TC, err)
		}
	}
	for _, e := range v.Implicit {
		if got, err := grow(e.Seed).Decapsulate(unhex(t, e.Sealed)); err != nil || hex.EncodeToString(got) != e.Secret {
			t.Errorf("decapsulation %d: %x, %v", e.TC, got, err)
		}
	}
	for _, k := range v.RefusedKeys {
		if _, err := mlkem.NewEncapsulationKey1024(unhex(t, k.Key)); err == nil {
			t.Errorf("key %d passes", k.TC)
		}
	}
}

// TestSymmetricVectors: HKDF and HMAC with SHA-384, and AES-256-GCM as messages are sealed with it, by Wycheproof.
func TestSymmetricVectors(t *testing.T) {
	var v struct {
		HKDF []struct {
			TC                      int
			Secret, Salt, Info, Out string
			Size                    int
		}
		HMAC []struct {
			TC                int
			Key, Message, MAC string
			Valid             bool
		}
		GCM []struct {
			TC                                    int
			Key, Nonce, Additional, Plain, Sealed string
			Valid                                 bool
		}
	}
	load(t, "symmetric.json", &v)
	if len(v.HKDF) < 70 || len(v.HMAC) < 80 || len(v.GCM) < 60 {
		t.Fatalf("%d, %d, %d", len(v.HKDF), len(v.HMAC), len(v.GCM))
	}
	for _, x := range v.HKDF {
		prk, err := hkdf.Extract(sha512.New384, unhex(t, x.Secret), unhex(t, x.Salt))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := hkdf.Expand(sha512.New384, prk, string(unhex(t, x.Info)), x.Size); err != nil || hex.EncodeToString(out) != x.Out {
			t.Errorf("HKDF %d: %x, %v", x.TC, out, err)
		}
	}
	for _, x := range v.HMAC {
		h := hmac.New(sha512.New384, unhex(t, x.Key))
		h.Write(unhex(t, x.Message))
		if got := hmac.Equal(h.Sum(nil), unhex(t, x.MAC)); got != x.Valid {
			t.Errorf("HMAC %d: %v", x.TC, got)
		}
	}
	for _, x := range v.GCM {
		key, nonce := [keySize]byte(unhex(t, x.Key)), [nonceSize]byte(unhex(t, x.Nonce))
		back, err := open(&key, &nonce, unhex(t, x.Sealed), unhex(t, x.Additional))
		if (err == nil) != x.Valid || x.Valid && !bytes.Equal(back, unhex(t, x.Plain)) {
			t.Errorf("GCM %d: opens %x, %v", x.TC, back, err)
		}
		if !x.Valid {
			continue
		}
		if got, err := seal(&key, &nonce, nil, unhex(t, x.Plain), unhex(t, x.Additional)); err != nil || hex.EncodeToString(got) != x.Sealed {
			t.Errorf("GCM %d: %x, %v", x.TC, got, err)
		}
	}
}
