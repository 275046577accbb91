package tenant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// Hash is what is kept of a token: its SHA-256.
type Hash [sha256.Size]byte

// TokenID names a token in logs and records without giving it away: the first 12 hex digits of its hash.
type TokenID string

// NewToken makes a token of 256 random bits.
func NewToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return "parley_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// HashOf hashes a token.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// ID is the name of the token with this hash.
func (h Hash) ID() TokenID { return TokenID(hex.EncodeToString(h[:6])) }

// String is the hash in hex, for the store.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("a token's hash has %d hex digits", 2*len(h))
	}
	copy(h[:], b)
	return h, nil
}

// MinToken is the length below which a token of the operator's own making could be guessed: a service does not start with one.
const MinToken = 32

// maxToken bounds a token, so that hashing one from outside is cheap.
const maxToken = 512

// checkToken tells what is wrong with a token of the operator's own making. It never quotes it.
func checkToken(token string) error {
	if token == "" {
		return fmt.Errorf("the token is empty")
	}
	if len(token) > maxToken {
		return fmt.Errorf("the token is longer than %d characters", maxToken)
	}
	for _, r := range token {
		if r <= ' ' || r > '~' || r == ',' {
			return fmt.Errorf("the token has a character other than visible ASCII without commas")
		}
	}
	return nil
}
