package wire

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"time"
)

// Proof shows that a request comes from the holder of a capability and was not changed on its way.
type Proof struct {
	Principal
	At    time.Time // whole milliseconds
	Nonce [NonceSize]byte
	MAC   [MACSize]byte
}

// strict refuses what the usual decoder lets pass: line breaks and stray bits in the last letter.
var strict = base64.RawURLEncoding.Strict()

// maxProof is the longest header that can be a proof; longer ones are not even decoded.
var maxProof = strict.EncodedLen(1 + 1 + MaxPrincipal + 8 + 8 + NonceSize + MACSize)

// Prove makes the proof for one request: its MAC is over the canonical form of instance, route, principal, generation,
// time, nonce and the SHA-384 of the exact body.
func Prove(key *Capability, instance Instance, route string, p Principal, at time.Time, nonce [NonceSize]byte, body []byte) Proof {
	proof := Proof{Principal: p, At: time.UnixMilli(at.UnixMilli()), Nonce: nonce}
	proof.MAC = proof.mac(key, instance, route, body)
	return proof
}

// Verify says whether the MAC is right, in a time that does not depend on where it is wrong. It says nothing about time
// and replay.
func (p Proof) Verify(key *Capability, instance Instance, route string, body []byte) bool {
	want := p.mac(key, instance, route, body)
	return hmac.Equal(want[:], p.MAC[:])
}

func (p Proof) mac(key *Capability, instance Instance, route string, body []byte) (out [MACSize]byte) {
	digest := sha512.Sum384(body)
	h := hmac.New(sha512.New384, key[:])
	h.Write(canon("proof", instance[:], []byte(route), []byte(p.ID), u64(p.Generation), millis(p.At), p.Nonce[:], digest[:]))
	h.Sum(out[:0])
	return out
}

// Header is the proof as the header's value: base64url without padding over
// version(1) ‖ idLength(1) ‖ id ‖ generation(8) ‖ milliseconds(8) ‖ nonce(24) ‖ mac(48).
func (p Proof) Header() string {
	out := appendPrincipal([]byte{version}, p.Principal)
	out = append(out, millis(p.At)...)
	out = append(out, p.Nonce[:]...)
	out = append(out, p.MAC[:]...)
	return strict.EncodeToString(out)
}

// ParseProof reads a header's value. There is exactly one value for each proof.
func ParseProof(header string) (Proof, error) {
	if len(header) > maxProof {
		return Proof{}, ErrMalformed
	}
	for i := range len(header) { // the decoder skips CR and LF even when strict
		if header[i] == '\r' || header[i] == '\n' {
			return Proof{}, ErrMalformed
		}
	}
	raw, err := strict.DecodeString(header)
	if err != nil {
		return Proof{}, ErrMalformed
	}
	r := reader{rest: raw}
	var p Proof
	r.version()
	p.Principal = r.principal()
	p.At = r.time()
	copy(p.Nonce[:], r.take(NonceSize))
	copy(p.MAC[:], r.take(MACSize))
	if !r.end() {
		return Proof{}, ErrMalformed
	}
	return p, nil
}
