// Package connection writes and reads the file that pairs a local client with the control endpoint: address, pinned keys and a sealed capability.
package connection

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"parley/control/client"
	"parley/control/keys"
	"parley/control/sign"
	"parley/control/wire"
)

// Name is the file's usual name in the data folder.
const Name = "control.json"

// Format is the only format there is. A capability in the clear has none, and is refused.
const Format = "parley-control-sealed-v1"

// PairingKey names the key that seals the capability. It lies in the same account's keyring or folder of keys, never
// beside the connection file: the file alone opens nothing.
const PairingKey = "control-pairing"

// ErrFormat says that the file is not a connection file of this version.
var ErrFormat = errors.New("not a connection file of this version: pair anew")

// ErrSealed says that the capability does not open here: another account's file, a rotated key, or a changed file.
var ErrSealed = errors.New("the capability does not open for this account: pair anew")

// ErrAddress says that the address is not a literal loopback address with a port.
var ErrAddress = errors.New("the address must be 127.0.0.1 or [::1] with a port")

// file is the JSON text, with bytes in base64 (standard alphabet, padded).
type file struct {
	Format     string `json:"format"`
	Protocol   string `json:"protocol"`
	Address    string `json:"address"`
	Instance   []byte `json:"instance"`
	Principal  string `json:"principal"`
	Generation uint64 `json:"generation,string"`
	Ed25519    []byte `json:"ed25519"`
	MLDSA87    []byte `json:"mldsa87"`
	Key        string `json:"key"`    // where the sealing key lies, as keys.Place
	Sealed     []byte `json:"sealed"` // nonce(12) ‖ AES-256-GCM of the capability(48)
}

// bound is what the seal is bound to: every other field, and the account. Each field has its length before it.
func (f *file) bound(uid int) []byte {
	var out []byte
	for _, b := range [][]byte{[]byte(f.Format), []byte(f.Protocol), []byte(f.Address), f.Instance, []byte(f.Principal),
		binary.BigEndian.AppendUint64(nil, f.Generation), f.Ed25519, f.MLDSA87, []byte(f.Key), binary.BigEndian.AppendUint64(nil, uint64(uid))} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	return out
}

// CheckAddress refuses names, other machines, wildcards and zones: only a literal loopback address will do.
func CheckAddress(address string) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().IsLoopback() || a.Addr().Is4In6() || a.Addr().Zone() != "" || a.Port() == 0 || a.String() != address {
		return fmt.Errorf("%q: %w", address, ErrAddress)
	}
	return nil
}

func aead(key *keys.Key) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key.Secret[:])
	if err != nil {
		return nil, fmt.Errorf("seal the capability: %w", err)
	}
	return cipher.NewGCM(block)
}

// Encode is the file's text for this account.
func Encode(address string, e client.Endpoint, place keys.Place, key *keys.Key) ([]byte, error) {
	return encode(address, e, place, key, os.Geteuid())
}

func encode(address string, e client.Endpoint, place keys.Place, key *keys.Key, uid int) ([]byte, error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	if err := e.Pins.Check(); err != nil {
		return nil, err
	}
	f := &file{Format: Format, Protocol: wire.Protocol, Address: address, Instance: e.Instance[:], Principal: e.Principal.ID,
		Generation: e.Principal.Generation, Ed25519: e.Pins.Ed, MLDSA87: e.Pins.PQ, Key: string(place)}
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, a.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal the capability: %w", err)
	}
	f.Sealed = a.Seal(nonce, nonce, e.Capability[:], f.bound(uid))
	out, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the connection: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads a text that Encode made for this account with this key.
func Decode(text []byte, key *keys.Key) (address string, e client.Endpoint, err error) {
	return decode(text, key, os.Geteuid())
}

func decode(text []byte, key *keys.Key, uid int) (string, client.Endpoint, error) {
	var none client.Endpoint
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	f := new(file)
	if err := d.Decode(f); err != nil {
		return "", none, ErrFormat
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", none, ErrFormat
	}
	e := client.Endpoint{Pins: sign.Pins{Ed: f.Ed25519, PQ: f.MLDSA87}, Principal: wire.Principal{ID: f.Principal, Generation: f.Generation}}
	if f.Format != Format || f.Protocol != wire.Protocol || len(f.Instance) != wire.InstanceSize || !e.Principal.Valid() || e.Pins.Check() != nil {
		return "", none, ErrFormat
	}
	copy(e.Instance[:], f.Instance)
	if err := CheckAddress(f.Address); err != nil {
		return "", none, err
	}
	a, err := aead(key)
	if err != nil {
		return "", none, err
	}
	if len(f.Sealed) != a.NonceSize()+wire.CapabilitySize+a.Overhead() {
		return "", none, ErrFormat
	}
	plain, err := a.Open(nil, f.Sealed[:a.NonceSize()], f.Sealed[a.NonceSize():], f.bound(uid))
	if err != nil {
		return "", none, ErrSealed
	}
	defer clear(plain)
	e.Capability = new(wire.Capability)
	copy(e.Capability[:], plain)
	return f.Address, e, nil
}

// Write puts the connection file into a protected folder, whole or not at all.
func Write(dir *keys.Files, name, address string, e client.Endpoint, place keys.Place, key *keys.Key) error {
	text, err := Encode(address, e, place, key)
	if err != nil {
		return err
	}
	return dir.Set(name, text)
}

// Read reads the connection file from a protected folder, with the key from the place it names. What it names may be dead,
// or another's port by now: only a challenge signed by the pinned keys is to be believed.
func Read(dir *keys.Files, name string) (address string, e client.Endpoint, err error) {
	text, err := dir.Get(name)
	if err != nil {
		return "", client.Endpoint{}, fmt.Errorf("read the connection: %w", err)
	}
	var f struct {
		Key keys.Place `json:"key"`
	}
	if json.Unmarshal(text, &f) != nil {
		return "", client.Endpoint{}, ErrFormat
	}
	ring, keyName, err := f.Key.Open()
	if err != nil {
		return "", client.Endpoint{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	key, err := keys.Load(ring, keyName)
	if err != nil {
		return "", client.Endpoint{}, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	defer key.Wipe()
	return Decode(text, key)
}

// Remove deletes the connection file at the endpoint's end.
func Remove(dir *keys.Files, name string) error { return dir.Delete(name) }
