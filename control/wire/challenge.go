package wire

import (
	"crypto/mlkem"
	"crypto/rand"
	"fmt"
	"time"

	"parley/control/sign"
)

const (
	kemKeySize = mlkem.EncapsulationKeySize1024 // 1568
	kemSize    = mlkem.CiphertextSize1024       // 1568
	edSigSize  = 64
	pqSigSize  = 4627
)

// Ask is the body of a request for a challenge: version(1) ‖ clientNonce(32).
type Ask struct{ Nonce [IDSize]byte }

// AskSize is the length of an ask.
const AskSize = 1 + IDSize

// Bytes is the ask on the wire.
func (a Ask) Bytes() []byte { return append([]byte{version}, a.Nonce[:]...) }

// ParseAsk reads an ask.
func ParseAsk(body []byte) (Ask, error) {
	r := reader{rest: body}
	var a Ask
	r.version()
	copy(a.Nonce[:], r.take(IDSize))
	if !r.end() {
		return Ask{}, ErrMalformed
	}
	return a, nil
}

// Challenge is what the endpoint answers: a fresh key to seal one action to, signed by both keys of this instance.
type Challenge struct {
	Instance Instance
	ID       [IDSize]byte
	Client   [IDSize]byte // the ask's nonce, so that an old challenge does not answer a new ask
	Principal
	Issued, Expires time.Time
	KEM             [kemKeySize]byte // ML-KEM-1024 encapsulation key
	Ed              [edSigSize]byte
	PQ              [pqSigSize]byte
}

// body is everything the signatures are over:
// version(1) ‖ instance(16) ‖ id(32) ‖ clientNonce(32) ‖ idLength(1) ‖ principal ‖ generation(8) ‖ issued(8) ‖ expires(8) ‖ kemKey(1568).
func (c *Challenge) body() []byte {
	out := make([]byte, 0, 1+InstanceSize+2*IDSize+1+MaxPrincipal+24+kemKeySize+edSigSize+pqSigSize)
	out = append(out, version)
	out = append(out, c.Instance[:]...)
	out = append(out, c.ID[:]...)
	out = append(out, c.Client[:]...)
	out = appendPrincipal(out, c.Principal)
	out = append(out, millis(c.Issued)...)
	out = append(out, millis(c.Expires)...)
	return append(out, c.KEM[:]...)
}

// Bytes is the challenge on the wire: the signed part ‖ ed25519(64) ‖ mldsa87(4627).
func (c *Challenge) Bytes() []byte { return append(append(c.body(), c.Ed[:]...), c.PQ[:]...) }

// DecapsulationKey is the secret half of a challenge, as the 64-byte seed that can be overwritten.
type DecapsulationKey [mlkem.SeedSize]byte

// NewChallenge draws and signs a challenge. The endpoint keeps the returned key and the bytes until they are used once.
func NewChallenge(id *sign.Identity, instance Instance, ask Ask, p Principal, now time.Time) (*Challenge, *DecapsulationKey, error) {
	key := new(DecapsulationKey)
	if _, err := rand.Read(key[:]); err != nil {
		return nil, nil, fmt.Errorf("draw a key: %w", err)
	}
	dk, err := mlkem.NewDecapsulationKey1024(key[:])
	if err != nil {
		return nil, nil, fmt.Errorf("grow a key: %w", err)
	}
	now = time.UnixMilli(now.UnixMilli())
	c := &Challenge{Instance: instance, Client: ask.Nonce, Principal: p, Issued: now, Expires: now.Add(ChallengeLife)}
	if _, err := rand.Read(c.ID[:]); err != nil {
		return nil, nil, fmt.Errorf("draw an id: %w", err)
	}
	copy(c.KEM[:], dk.EncapsulationKey().Bytes())
	ed, pq, err := id.Sign(canon("challenge", c.body()))
	if err != nil {
		return nil, nil, fmt.Errorf("sign the challenge: %w", err)
	}
	copy(c.Ed[:], ed)
	copy(c.PQ[:], pq)
	return c, key, nil
}

// ParseChallenge reads a challenge. It believes nothing yet: see Check.
func ParseChallenge(body []byte) (*Challenge, error) {
	r := reader{rest: body}
	c := new(Challenge)
	r.version()
	copy(c.Instance[:], r.take(InstanceSize))
	copy(c.ID[:], r.take(IDSize))
	copy(c.Client[:], r.take(IDSize))
	c.Principal = r.principal()
	c.Issued = r.time()
	c.Expires = r.time()
	copy(c.KEM[:], r.take(kemKeySize))
	copy(c.Ed[:], r.take(edSigSize))
	copy(c.PQ[:], r.take(pqSigSize))
	if !r.end() {
		return nil, ErrMalformed
	}
	return c, nil
}

// Check says whether the client may seal to this challenge: both signatures by the pinned keys, and instance, ask,
// principal and lifetime as they must be.
func (c *Challenge) Check(pins sign.Pins, instance Instance, ask Ask, p Principal, now time.Time) bool {
	ok := pins.Verify(canon("challenge", c.body()), c.Ed[:], c.PQ[:])
	return ok && c.Instance == instance && c.Client == ask.Nonce && c.Principal == p &&
		c.Expires.Sub(c.Issued) == ChallengeLife &&
		now.Before(c.Expires.Add(Window)) && now.After(c.Issued.Add(-Window))
}
