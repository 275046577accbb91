package sign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// published are the vectors of testdata/mldsa87.json, whose source says where they come from.
type published struct {
	Keys []struct {
		TC                    int
		Seed, Public, Private string
	}
	Signatures []struct {
		TC                                              int
		What, Seed, Public, Message, Context, Signature string
	}
	Refused []struct {
		TC    int
		What  string
		Of    int
		Patch []struct {
			At    int
			Bytes string
		}
	}
}

func is(t *testing.T, got []byte, sum string) bool {
	t.Helper()
	h := sha256.Sum256(got)
	return hex.EncodeToString(h[:]) == sum
}

// TestMLDSA87Vectors holds the scheme to NIST's key generation and to Wycheproof's signatures: the deterministic form of
// each is the published one, the scheme takes it under its context and no other, and refuses what Wycheproof made of it.
func TestMLDSA87Vectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/mldsa87.json")
	if err != nil {
		t.Fatal(err)
	}
	var v published
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Keys) < 25 || len(v.Signatures) < 60 || len(v.Refused) < 15 {
		t.Fatalf("%d keys, %d signatures, %d refused", len(v.Keys), len(v.Signatures), len(v.Refused))
	}
	for _, k := range v.Keys {
		public, private, err := MLDSA87.Generate(unhex(t, k.Seed))
		if err != nil || !is(t, public, k.Public) || !is(t, private, k.Private) {
			t.Errorf("key %d: not the published one, %v", k.TC, err)
		}
	}
	type made struct{ public, message, context, signature []byte }
	all := map[int]made{}
	for _, s := range v.Signatures {
		m := made{message: unhex(t, s.Message), context: unhex(t, s.Context), signature: make([]byte, mldsa87.SignatureSize)}
		scheme := mldsaScheme{context: m.context}
		var private []byte
		if m.public, private, err = scheme.Generate(unhex(t, s.Seed)); err != nil || !is(t, m.public, s.Public) {
			t.Errorf("signature %d: not the published key, %v", s.TC, err)
		}
		var key mldsa87.PrivateKey
		key.Unpack((*[mldsa87.PrivateKeySize]byte)(private))
		if err := mldsa87.SignTo(&key, m.message, m.context, false, m.signature); err != nil || !is(t, m.signature, s.Signature) {
			t.Errorf("signature %d (%s): not the published one, %v", s.TC, s.What, err)
		}
		if !scheme.Verify(m.public, m.message, m.signature) {
			t.Errorf("signature %d (%s) is refused", s.TC, s.What)
		}
		if MLDSA87.Verify(m.public, m.message, m.signature) {
			t.Errorf("signature %d (%s) passes under our context", s.TC, s.What)
		}
		ours, err := scheme.Sign(private, m.message)
		if err != nil || !scheme.Verify(m.public, m.message, ours) || bytes.Equal(ours, m.signature) {
			t.Errorf("signature %d: ours is refused, or draws nothing: %v", s.TC, err)
		}
		all[s.TC] = m
	}
	for _, r := range v.Refused {
		m, ok := all[r.Of]
		if !ok {
			t.Fatalf("refused %d: there is no signature %d", r.TC, r.Of)
		}
		bad := bytes.Clone(m.signature)
		for _, p := range r.Patch {
			copy(bad[p.At:], unhex(t, p.Bytes))
		}
		if bytes.Equal(bad, m.signature) || (mldsaScheme{context: m.context}).Verify(m.public, m.message, bad) {
			t.Errorf("refused %d (%s) passes", r.TC, r.What)
		}
	}
}
