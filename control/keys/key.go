package keys

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

// Size is the length in bytes of the keys this package draws.
const Size = 32

// Key is a drawn secret with the number of its rotation, from 1.
type Key struct {
	Rotation uint64
	Secret   [Size]byte
}

// Wipe overwrites the secret.
func (k *Key) Wipe() { clear(k.Secret[:]) }

// ErrFormat says that a stored key is not one of ours.
var ErrFormat = errors.New("what is stored under this name is no key: remove it, and a new one is drawn")

// magic begins a stored key, then come rotation(8) and secret(32).
const magic = "parley-key-v1\n"

// Load reads a key; the error is ErrNone when none was drawn yet.
func Load(r Ring, name string) (*Key, error) {
	raw, err := r.Get(name)
	if err != nil {
		return nil, err
	}
	defer clear(raw)
	if len(raw) != len(magic)+8+Size || string(raw[:len(magic)]) != magic {
		return nil, fmt.Errorf("%s: %w", name, ErrFormat)
	}
	k := &Key{Rotation: binary.BigEndian.Uint64(raw[len(magic):])}
	copy(k.Secret[:], raw[len(magic)+8:])
	return k, nil
}

// LoadOrDraw reads a key, or draws and stores the first one.
func LoadOrDraw(r Ring, name string) (*Key, error) {
	k, err := Load(r, name)
	if errors.Is(err, ErrNone) {
		return draw(r, name, 1)
	}
	return k, err
}

// Rotate replaces a key by a new one. What was sealed with the old one is lost on purpose.
func Rotate(r Ring, name string) (*Key, error) {
	old, err := Load(r, name)
	if errors.Is(err, ErrNone) {
		return draw(r, name, 1)
	}
	if err != nil {
		return nil, err
	}
	defer old.Wipe()
	return draw(r, name, old.Rotation+1)
}

func draw(r Ring, name string, rotation uint64) (*Key, error) {
	k := &Key{Rotation: rotation}
	if _, err := rand.Read(k.Secret[:]); err != nil {
		return nil, fmt.Errorf("draw the key %s: %w", name, err)
	}
	raw := append(binary.BigEndian.AppendUint64([]byte(magic), rotation), k.Secret[:]...)
	defer clear(raw)
	if err := r.Set(name, raw); err != nil {
		k.Wipe()
		return nil, err
	}
	return k, nil
}
