package sign

import (
	"crypto/ed25519"
	"errors"
)

var (
	errSeed    = errors.New("a seed has 32 bytes")
	errPrivate = errors.New("not a private key of this scheme, or it was wiped")
)

// Ed25519 is RFC 8032's pure Ed25519.
var Ed25519 Scheme = edScheme{}

type edScheme struct{}

func (edScheme) Generate(seed []byte) (public, private []byte, err error) {
	if len(seed) != SeedSize {
		return nil, nil, errSeed
	}
	priv := ed25519.NewKeyFromSeed(seed)
	pub := make([]byte, ed25519.PublicKeySize)
	copy(pub, priv[SeedSize:])
	return pub, priv, nil
}

func (edScheme) Sign(private, message []byte) ([]byte, error) {
	if len(private) != ed25519.PrivateKeySize {
		return nil, errPrivate
	}
	return ed25519.Sign(private, message), nil
}

func (edScheme) Verify(public, message, signature []byte) bool {
	return len(public) == ed25519.PublicKeySize && len(signature) == ed25519.SignatureSize && ed25519.Verify(public, message, signature)
}

func (edScheme) Sizes() (public, signature int) { return ed25519.PublicKeySize, ed25519.SignatureSize }
