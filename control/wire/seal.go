package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/mlkem"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"

	"parley/control/sign"
)

// The two directions. The words are part of what each seal is bound to.
const (
	kindAction = "agent-request"
	kindReply  = "agent-response"
)

const (
	keySize   = 32
	nonceSize = 12
	tagSize   = 16
)

// RequestID names one action and its reply.
type RequestID [RequestIDSize]byte

// ErrUsed says that a direction's key has sealed or opened its one message already.
var ErrUsed = errors.New("this channel has carried its one message already")

// ErrSeal says that a sealed message does not open: changed, for somebody else, or of the other direction.
var ErrSeal = errors.New("the sealed message does not open")

// ErrTooLong says that a message would exceed MaxBody, or an action MaxRequest.
var ErrTooLong = errors.New("the message is longer than the wire permits")

// schedule holds what both ends derive from one encapsulated secret: a key and a nonce for each direction. A key seals
// one message, so its nonce may be derived and never repeats.
type schedule struct {
	actionKey, replyKey     [keySize]byte
	actionNonce, replyNonce [nonceSize]byte
}

// transcript binds the keys to everything both ends have seen: pins, the whole challenge, route and ciphertext.
func transcript(pins sign.Pins, challenge []byte, p Principal, kem []byte) []byte {
	sum := sha512.Sum384(canon("transcript", pins.Ed, pins.PQ, challenge, []byte(RouteAction), []byte(p.ID), u64(p.Generation), kem))
	return sum[:]
}

func derive(secret, transcript []byte) (*schedule, error) {
	prk, err := hkdf.Extract(sha512.New384, secret, transcript)
	if err != nil {
		return nil, fmt.Errorf("derive the keys: %w", err)
	}
	defer clear(prk)
	s := new(schedule)
	for _, part := range []struct {
		label string
		to    []byte
	}{{"action key", s.actionKey[:]}, {"action nonce", s.actionNonce[:]}, {"reply key", s.replyKey[:]}, {"reply nonce", s.replyNonce[:]}} {
		out, err := hkdf.Expand(sha512.New384, prk, Protocol+" "+part.label, len(part.to))
		if err != nil {
			return nil, fmt.Errorf("derive the %s: %w", part.label, err)
		}
		copy(part.to, out)
		clear(out)
	}
	return s, nil
}

func (s *schedule) wipe() { *s = schedule{} }

func bound(kind string, id RequestID) []byte {
	return canon("sealed", []byte(kind), []byte(RouteAction), id[:])
}

func aead(key *[keySize]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func seal(key *[keySize]byte, nonce *[nonceSize]byte, dst, plain, additional []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return a.Seal(dst, nonce[:], plain, additional), nil
}

func open(key *[keySize]byte, nonce *[nonceSize]byte, sealed, additional []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	plain, err := a.Open(nil, nonce[:], sealed, additional)
	if err != nil {
		return nil, ErrSeal
	}
	return plain, nil
}

// Action is a sealed action on the wire: version(1) ‖ challengeID(32) ‖ kemCiphertext(1568) ‖ requestID(16) ‖ length(4) ‖ sealed.
type Action struct {
	Challenge [IDSize]byte
	KEM       [kemSize]byte
	Request   RequestID
	Sealed    []byte // plaintext and 16 bytes of tag
}

const actionFixed = 1 + IDSize + kemSize + RequestIDSize + 4

// MaxAction is the longest sealed action there can be: MaxRequest is the limit inside.
const MaxAction = actionFixed + MaxRequest + tagSize

// Bytes is the action on the wire.
func (a *Action) Bytes() []byte {
	out := make([]byte, 0, actionFixed+len(a.Sealed))
	out = append(out, version)
	out = append(out, a.Challenge[:]...)
	out = append(out, a.KEM[:]...)
	out = append(out, a.Request[:]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(a.Sealed)))
	return append(out, a.Sealed...)
}

// ParseAction reads a sealed action; Sealed points into body.
func ParseAction(body []byte) (*Action, error) {
	if len(body) > MaxBody {
		return nil, ErrMalformed
	}
	r := reader{rest: body}
	a := new(Action)
	r.version()
	copy(a.Challenge[:], r.take(IDSize))
	copy(a.KEM[:], r.take(kemSize))
	copy(a.Request[:], r.take(RequestIDSize))
	n := binary.BigEndian.Uint32(r.take(4))
	if r.bad || n < tagSize || n > MaxBody {
		return nil, ErrMalformed
	}
	a.Sealed = r.take(int(n))
	if !r.end() {
		return nil, ErrMalformed
	}
	return a, nil
}

// Opener is the client's half of the channel after its action: it opens the one reply. It belongs to one goroutine.
type Opener struct {
	keys    *schedule
	request RequestID
}

// SealAction seals one action to a challenge the client has checked, and returns what opens the reply. plain is at most
// MaxRequest bytes.
func SealAction(pins sign.Pins, c *Challenge, request RequestID, plain []byte) (*Action, *Opener, error) {
	if len(plain) > MaxRequest {
		return nil, nil, ErrTooLong
	}
	ek, err := mlkem.NewEncapsulationKey1024(c.KEM[:])
	if err != nil {
		return nil, nil, ErrMalformed
	}
	secret, kem := ek.Encapsulate()
	defer clear(secret)
	return sealAction(pins, c, request, plain, secret, kem)
}

func sealAction(pins sign.Pins, c *Challenge, request RequestID, plain, secret, kem []byte) (*Action, *Opener, error) {
	keys, err := derive(secret, transcript(pins, c.Bytes(), c.Principal, kem))
	if err != nil {
		return nil, nil, err
	}
	a := &Action{Challenge: c.ID, Request: request}
	copy(a.KEM[:], kem)
	if a.Sealed, err = seal(&keys.actionKey, &keys.actionNonce, nil, plain, bound(kindAction, request)); err != nil {
		return nil, nil, err
	}
	clear(keys.actionKey[:])
	return a, &Opener{keys: keys, request: request}, nil
}

// Open opens the reply and forgets the keys, whether it opened or not.
func (o *Opener) Open(body []byte) ([]byte, error) {
	if o.keys == nil {
		return nil, ErrUsed
	}
	keys := o.keys
	o.keys = nil
	defer keys.wipe()
	if len(body) > MaxAnswer {
		return nil, ErrMalformed
	}
	r := reader{rest: body}
	r.version()
	var id RequestID
	copy(id[:], r.take(RequestIDSize))
	n := binary.BigEndian.Uint32(r.take(4))
	if r.bad || n < tagSize || n > MaxAnswer {
		return nil, ErrMalformed
	}
	sealed := r.take(int(n))
	if !r.end() || id != o.request {
		return nil, ErrMalformed
	}
	return open(&keys.replyKey, &keys.replyNonce, sealed, bound(kindReply, id))
}

// Sealer is the endpoint's half after it opened an action: it seals the one reply. It belongs to one goroutine.
type Sealer struct {
	keys    *schedule
	request RequestID
}

// OpenAction opens a sealed action with the secret half of the challenge it answers; challenge is that challenge's
// bytes. The caller wipes the key.
func OpenAction(pins sign.Pins, key *DecapsulationKey, challenge []byte, p Principal, a *Action) ([]byte, *Sealer, error) {
	dk, err := mlkem.NewDecapsulationKey1024(key[:])
	if err != nil {
		return nil, nil, fmt.Errorf("grow the key: %w", err)
	}
	// A changed ciphertext gives another secret, not an error: the seal is what refuses it.
	secret, err := dk.Decapsulate(a.KEM[:])
	if err != nil {
		return nil, nil, ErrSeal
	}
	defer clear(secret)
	keys, err := derive(secret, transcript(pins, challenge, p, a.KEM[:]))
	if err != nil {
		return nil, nil, err
	}
	plain, err := open(&keys.actionKey, &keys.actionNonce, a.Sealed, bound(kindAction, a.Request))
	if err != nil || len(plain) > MaxRequest {
		keys.wipe()
		clear(plain)
		return nil, nil, ErrSeal
	}
	clear(keys.actionKey[:])
	return plain, &Sealer{keys: keys, request: a.Request}, nil
}

const replyFixed = 1 + RequestIDSize + 4 + tagSize

// MaxReply is the longest plaintext of a reply.
const MaxReply = MaxAnswer - replyFixed

// Seal seals the reply: version(1) ‖ requestID(16) ‖ length(4) ‖ sealed. It works once, and forgets the keys.
func (s *Sealer) Seal(plain []byte) ([]byte, error) {
	if s.keys == nil {
		return nil, ErrUsed
	}
	if len(plain) > MaxReply {
		return nil, ErrTooLong
	}
	keys := s.keys
	s.keys = nil
	defer keys.wipe()
	out := make([]byte, 0, replyFixed+len(plain))
	out = append(out, version)
	out = append(out, s.request[:]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(plain)+tagSize))
	return seal(&keys.replyKey, &keys.replyNonce, out, plain, bound(kindReply, s.request))
}

// Drop forgets the keys without a reply: what was to be said is withheld for good.
func (s *Sealer) Drop() {
	if s.keys != nil {
		s.keys.wipe()
		s.keys = nil
	}
}
