// Package sign makes and checks the two signatures every challenge of the control endpoint carries: Ed25519 and ML-DSA-87.
package sign

import (
	"crypto/rand"
	"errors"
	"fmt"
)

// SeedSize is the length of the secret seed both schemes grow their keys from.
const SeedSize = 32

// Scheme is a signature scheme as four functions over bytes, so that another implementation (the standard library's
// ML-DSA, once it can be imported) replaces ours without touching a caller. Implementations hold no state and may be
// used by several goroutines at once.
type Scheme interface {
	// Generate grows a key pair from a seed of SeedSize bytes; the same seed gives the same pair.
	Generate(seed []byte) (public, private []byte, err error)
	// Sign signs a message. It fails only on a private key of the wrong size or shape.
	Sign(private, message []byte) ([]byte, error)
	// Verify says whether the signature is right. Keys and signatures of a wrong size are wrong, never a panic.
	Verify(public, message, signature []byte) bool
	// Sizes gives the lengths in bytes of a public key and of a signature.
	Sizes() (public, signature int)
}

// Pins are the public halves a client remembers from the connection file and believes nothing without.
type Pins struct {
	Ed []byte // Ed25519, 32 bytes
	PQ []byte // ML-DSA-87, 2592 bytes
}

// ErrPins says that a pair of pins does not have the sizes of the two schemes.
var ErrPins = errors.New("the pinned keys have the wrong size: write the connection file anew")

// Check refuses pins of a wrong size.
func (p Pins) Check() error {
	ed, _ := Ed25519.Sizes()
	pq, _ := MLDSA87.Sizes()
	if len(p.Ed) != ed || len(p.PQ) != pq {
		return ErrPins
	}
	return nil
}

// Verify says whether both signatures are right. It always checks both, so that time does not tell which one failed.
func (p Pins) Verify(message, ed, pq []byte) bool {
	a := Ed25519.Verify(p.Ed, message, ed)
	b := MLDSA87.Verify(p.PQ, message, pq)
	return a && b
}

// Identity signs for one running endpoint. It is made at start and forgotten at its end; Wipe ends it early.
type Identity struct {
	pins           Pins
	edPriv, pqPriv []byte
}

// NewIdentity draws a fresh identity from the system's randomness.
func NewIdentity() (*Identity, error) {
	var seeds [2 * SeedSize]byte
	defer clear(seeds[:])
	if _, err := rand.Read(seeds[:]); err != nil {
		return nil, fmt.Errorf("draw an identity: %w", err)
	}
	return IdentityFromSeeds(seeds[:SeedSize], seeds[SeedSize:])
}

// IdentityFromSeeds grows an identity from two seeds of SeedSize bytes each. The caller wipes the seeds.
func IdentityFromSeeds(ed, pq []byte) (*Identity, error) {
	edPub, edPriv, err := Ed25519.Generate(ed)
	if err != nil {
		return nil, fmt.Errorf("Ed25519: %w", err)
	}
	pqPub, pqPriv, err := MLDSA87.Generate(pq)
	if err != nil {
		return nil, fmt.Errorf("ML-DSA-87: %w", err)
	}
	return &Identity{pins: Pins{Ed: edPub, PQ: pqPub}, edPriv: edPriv, pqPriv: pqPriv}, nil
}

// Pins returns the public halves; the caller must not change them.
func (i *Identity) Pins() Pins { return i.pins }

// Sign signs the message with both keys. A wiped identity signs nothing.
func (i *Identity) Sign(message []byte) (ed, pq []byte, err error) {
	if ed, err = Ed25519.Sign(i.edPriv, message); err != nil {
		return nil, nil, fmt.Errorf("Ed25519: %w", err)
	}
	if pq, err = MLDSA87.Sign(i.pqPriv, message); err != nil {
		return nil, nil, fmt.Errorf("ML-DSA-87: %w", err)
	}
	return ed, pq, nil
}

// Wipe overwrites the private keys. What the runtime copied while signing is beyond reach. No Sign may run meanwhile.
func (i *Identity) Wipe() {
	clear(i.edPriv)
	clear(i.pqPriv)
	i.edPriv, i.pqPriv = nil, nil
}
