package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"os"
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

func load(t testing.TB, file string, to any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

// TestSHA384AndHMACVectors: FIPS 180-4's example "abc", and RFC 4231, sections 4.2, 4.3 and 4.4.
func TestSHA384AndHMACVectors(t *testing.T) {
	sum := sha512.Sum384([]byte("abc"))
	if want := unhex(t, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"); !bytes.Equal(sum[:], want) {
		t.Errorf("SHA-384 of abc: %x", sum)
	}
	for _, v := range []struct {
		key, data []byte
		mac       string
	}{
		{bytes.Repeat([]byte{0x0b}, 20), []byte("Hi There"), "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6"},
		{[]byte("Jefe"), []byte("what do ya want for nothing?"), "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"},
		{bytes.Repeat([]byte{0xaa}, 20), bytes.Repeat([]byte{0xdd}, 50), "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b2a5ab39dc13814b94e3ab6e101a34f27"},
	} {
		h := hmac.New(sha512.New384, v.key)
		h.Write(v.data)
		if got := h.Sum(nil); !bytes.Equal(got, unhex(t, v.mac)) {
			t.Errorf("HMAC-SHA384 of %q: %x", v.data, got)
		}
	}
}

// TestAESGCMVectors: test cases 13, 14 and 16 of the GCM specification submitted to NIST (McGrew and Viega, appendix B).
func TestAESGCMVectors(t *testing.T) {
	for _, v := range []struct{ key, nonce, plain, additional, cipher string }{
		{"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
		{"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000", "00000000000000000000000000000000", "",
			"cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
		{"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
			"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
			"feedfacedeadbeeffeedfacedeadbeefabaddad2",
			"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"},
	} {
		key, nonce := [keySize]byte(unhex(t, v.key)), [nonceSize]byte(unhex(t, v.nonce))
		got, err := seal(&key, &nonce, nil, unhex(t, v.plain), unhex(t, v.additional))
		if err != nil || !bytes.Equal(got, unhex(t, v.cipher)) {
			t.Errorf("seal: %x, %v", got, err)
		}
		back, err := open(&key, &nonce, got, unhex(t, v.additional))
		if err != nil || !bytes.Equal(back, unhex(t, v.plain)) {
			t.Errorf("open: %x, %v", back, err)
		}
	}
}
