package sign

import (
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// Context is the ML-DSA context string: a signature made for another use of the same key is none of ours.
const Context = "parley-control-1"

// MLDSA87 is FIPS 204's ML-DSA-87, hedged (each signature draws randomness), under Context. A private key is the packed
// form of 4896 bytes.
var MLDSA87 Scheme = mldsaScheme{context: []byte(Context)}

type mldsaScheme struct{ context []byte }

func (mldsaScheme) Generate(seed []byte) (public, private []byte, err error) {
	if len(seed) != SeedSize {
		return nil, nil, errSeed
	}
	pub, priv := mldsa87.NewKeyFromSeed((*[mldsa87.SeedSize]byte)(seed))
	return pub.Bytes(), priv.Bytes(), nil
}

func (s mldsaScheme) Sign(private, message []byte) ([]byte, error) {
	if len(private) != mldsa87.PrivateKeySize {
		return nil, errPrivate
	}
	var key mldsa87.PrivateKey
	key.Unpack((*[mldsa87.PrivateKeySize]byte)(private))
	defer func() { key = mldsa87.PrivateKey{} }()
	signature := make([]byte, mldsa87.SignatureSize)
	if err := mldsa87.SignTo(&key, message, s.context, true, signature); err != nil {
		return nil, err
	}
	return signature, nil
}

func (s mldsaScheme) Verify(public, message, signature []byte) bool {
	if len(public) != mldsa87.PublicKeySize || len(signature) != mldsa87.SignatureSize {
		return false
	}
	var key mldsa87.PublicKey
	key.Unpack((*[mldsa87.PublicKeySize]byte)(public))
	return mldsa87.Verify(&key, message, s.context, signature)
}

func (mldsaScheme) Sizes() (public, signature int) {
	return mldsa87.PublicKeySize, mldsa87.SignatureSize
}
