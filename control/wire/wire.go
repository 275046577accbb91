// Package wire is the layout of every message of the control endpoint, with the proofs and seals that bind them; docs/control.md is its text.
package wire

import (
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"time"
)

// Protocol names this version of the wire. It begins the label of everything that is hashed, so that no hash of one
// use can stand in for another.
const Protocol = "parley-control-1"

// The routes, both POST. A proof and a seal made for one do not fit the other.
const (
	RouteChallenge = "/control/v1/challenge"
	RouteAction    = "/control/v1/action"
)

// ProofHeader carries the proof of a request.
const ProofHeader = "Parley-Control"

// Limits of the wire.
const (
	MaxBody       = 128 << 10        // bytes of an encrypted request; of a reply too, unless it holds a picture
	MaxAnswer     = 3 << 20          // bytes of an encrypted reply with a picture
	MaxRequest    = 32 << 10         // bytes of a plaintext action
	Window        = 30 * time.Second // how far a proof's time may be from the endpoint's, either way
	ChallengeLife = 10 * time.Second // from issue to the last moment of use
	ActionTimeout = 10 * time.Second // how long an action may take before the endpoint answers without it
)

const version = 1

// Sizes in bytes of the fixed fields.
const (
	InstanceSize   = 16
	NonceSize      = 24
	IDSize         = 32
	RequestIDSize  = 16
	MACSize        = sha512.Size384
	CapabilitySize = 48
	MaxPrincipal   = 64
)

// ErrMalformed is the one answer of every parser here. What was wrong is nobody's business but the author's, who has
// the tests.
var ErrMalformed = errors.New("not a message of this protocol")

// Instance names one run of the endpoint; a restart draws another, so nothing of the old run fits the new one.
type Instance [InstanceSize]byte

// Capability is the secret a connection file holds. It never travels: it keys the proofs.
type Capability [CapabilitySize]byte

// Principal is who holds a capability: the id of a grant and its credential generation.
type Principal struct {
	ID         string // 1 to 64 of a-z 0-9 . _ -
	Generation uint64
}

// Valid says whether the id has the permitted form.
func (p Principal) Valid() bool {
	if len(p.ID) == 0 || len(p.ID) > MaxPrincipal {
		return false
	}
	for i := range len(p.ID) {
		c := p.ID[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// canon is the canonical form of a list of fields: each with its length as four big-endian bytes before it. Two
// different lists never have the same form.
func canon(label string, fields ...[]byte) []byte {
	n := 4 + len(Protocol) + 1 + len(label)
	for _, f := range fields {
		n += 4 + len(f)
	}
	out := make([]byte, 0, n)
	out = binary.BigEndian.AppendUint32(out, uint32(len(Protocol)+1+len(label)))
	out = append(append(append(out, Protocol...), ' '), label...)
	for _, f := range fields {
		out = binary.BigEndian.AppendUint32(out, uint32(len(f)))
		out = append(out, f...)
	}
	return out
}

func u64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func millis(t time.Time) []byte { return u64(uint64(t.UnixMilli())) }

// reader takes fixed fields off the front of a message. After the first that is missing it stays failed.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return make([]byte, max(n, 0))
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *reader) version() {
	if r.take(1)[0] != version {
		r.bad = true
	}
}

func (r *reader) principal() Principal {
	n := int(r.take(1)[0])
	if n == 0 || n > MaxPrincipal {
		r.bad = true
		return Principal{}
	}
	p := Principal{ID: string(r.take(n))}
	p.Generation = binary.BigEndian.Uint64(r.take(8))
	if !p.Valid() {
		r.bad = true
	}
	return p
}

// maxMillis is the last millisecond of the year 9999. Later times have no business here, and would overflow sums.
const maxMillis = 253402300799999

func (r *reader) time() time.Time {
	ms := binary.BigEndian.Uint64(r.take(8))
	if ms > maxMillis {
		r.bad = true
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// end says whether everything was there and nothing is left over.
func (r *reader) end() bool { return !r.bad && len(r.rest) == 0 }

func appendPrincipal(out []byte, p Principal) []byte {
	out = append(out, byte(len(p.ID)))
	out = append(out, p.ID...)
	return binary.BigEndian.AppendUint64(out, p.Generation)
}
