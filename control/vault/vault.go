// Package vault keeps logins sealed under a passphrase, and lets one be used without ever showing it.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"parley/store"
	"parley/tenant"
)

// What callers branch on.
var (
	ErrLocked     = errors.New("the vault is locked: a person unlocks it with parley control admin unlock")
	ErrNone       = errors.New("there is no vault: a person makes one with parley control admin init-vault")
	ErrPassphrase = errors.New("this is not the vault's passphrase")
	ErrExists     = errors.New("there is a vault already")
)

// Store keeps what is sealed; *store.Store's Credentials is one.
type Store interface {
	Key(ctx context.Context, t tenant.ID) ([]byte, error)
	Init(ctx context.Context, t tenant.ID, wrapped []byte) error
	Put(ctx context.Context, t tenant.ID, m store.Credential) error
	Remove(ctx context.Context, t tenant.ID, id string) error
	List(ctx context.Context, t tenant.ID) ([]store.Credential, error)
}

// Options of a vault; zero fields mean the defaults.
type Options struct {
	// Iterations of PBKDF2-HMAC-SHA384 for a new vault; 600 000.
	Iterations int
}

// Vault is one tenant's. It is safe for concurrent use. Its key is in memory while it is unlocked, and nowhere else.
type Vault struct {
	store  Store
	tenant tenant.ID
	o      Options

	mu      sync.Mutex
	key     []byte // nil: locked
	changes uint64 // counts locks and unlocks: what was begun under one does not end under another
}

// New makes a vault that is locked.
func New(s Store, t tenant.ID, o Options) *Vault {
	if o.Iterations <= 0 {
		o.Iterations = 600_000
	}
	return &Vault{store: s, tenant: t, o: o}
}

const (
	keySize  = 32
	saltSize = 16
)

// wrapped key: u8 version ‖ u32 iterations ‖ salt(16) ‖ nonce(12) ‖ AES-256-GCM of the key.
func (v *Vault) wrap(passphrase string, key []byte) ([]byte, error) {
	out := binary.BigEndian.AppendUint32([]byte{1}, uint32(v.o.Iterations))
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails
	out = append(out, salt...)
	a, err := derived(passphrase, salt, v.o.Iterations)
	if err != nil {
		return nil, err
	}
	return seal(a, out, key, v.bound("key")), nil
}

func (v *Vault) unwrap(passphrase string, wrapped []byte) ([]byte, error) {
	const head = 1 + 4 + saltSize
	if len(wrapped) < head || wrapped[0] != 1 {
		return nil, errors.New("the vault's key is of another version")
	}
	n := binary.BigEndian.Uint32(wrapped[1:])
	if n == 0 || n > 100_000_000 {
		return nil, errors.New("the vault's key is damaged")
	}
	a, err := derived(passphrase, wrapped[5:head], int(n))
	if err != nil {
		return nil, err
	}
	key, err := open(a, wrapped[head:], append(v.bound("key"), wrapped[:head]...))
	if err != nil {
		return nil, ErrPassphrase
	}
	return key, nil
}

func derived(passphrase string, salt []byte, n int) (cipher.AEAD, error) {
	k, err := pbkdf2.Key(sha512.New384, passphrase, salt, n, keySize)
	if err != nil {
		return nil, fmt.Errorf("the vault's key: %w", err)
	}
	defer clear(k)
	return aead(k)
}

func aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal appends nonce and ciphertext to head, bound to more and head.
func seal(a cipher.AEAD, head, plain, more []byte) []byte {
	nonce := make([]byte, a.NonceSize())
	rand.Read(nonce)
	bound := append(more, head...)
	return a.Seal(append(append([]byte(nil), head...), nonce...), nonce, plain, bound)
}

func open(a cipher.AEAD, sealed, bound []byte) ([]byte, error) {
	if len(sealed) < a.NonceSize() {
		return nil, errors.New("too short")
	}
	return a.Open(nil, sealed[:a.NonceSize()], sealed[a.NonceSize():], bound)
}

func (v *Vault) bound(what string) []byte {
	return []byte("parley-vault-1 " + string(v.tenant) + " " + what + "\n")
}

// Init makes a vault with a passphrase of at least 8 characters, and leaves it unlocked.
func (v *Vault) Init(ctx context.Context, passphrase string) error {
	if len([]rune(passphrase)) < 8 {
		return errors.New("a passphrase has 8 characters or more")
	}
	key := make([]byte, keySize)
	rand.Read(key)
	wrapped, err := v.wrap(passphrase, key)
	if err != nil {
		return err
	}
	if err := v.store.Init(ctx, v.tenant, wrapped); errors.Is(err, store.ErrStale) {
		return ErrExists
	} else if err != nil {
		return err
	}
	v.set(key)
	return nil
}

// Unlock opens the vault until Lock or the service's end.
func (v *Vault) Unlock(ctx context.Context, passphrase string) error {
	wrapped, err := v.store.Key(ctx, v.tenant)
	if errors.Is(err, store.ErrNotFound) {
		return ErrNone
	}
	if err != nil {
		return err
	}
	key, err := v.unwrap(passphrase, wrapped)
	if err != nil {
		return err
	}
	v.set(key)
	return nil
}

func (v *Vault) set(key []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.key)
	v.key = key
	v.changes++
}

// Lock forgets the key.
func (v *Vault) Lock() { v.set(nil) }

// State is how a vault is.
type State struct {
	Exists, Locked bool
	Changes        uint64 // new with every lock and unlock
}

// State says how it is now.
func (v *Vault) State(ctx context.Context) (State, error) {
	_, err := v.store.Key(ctx, v.tenant)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return State{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return State{Exists: err == nil, Locked: v.key == nil, Changes: v.changes}, nil
}

// Unchanged says whether the vault is open and was not locked since changes was read.
func (v *Vault) Unchanged(changes uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.key != nil && v.changes == changes
}

// Login is a credential in the clear.
type Login struct {
	User string `json:"user"`
	Pass string `json:"pass"`
}

// Wipe forgets it. Strings cannot be overwritten; what can be done is not to hold on.
func (l *Login) Wipe() { *l = Login{} }

// Add seals a login for a form and keeps it under an id.
func (v *Vault) Add(ctx context.Context, c store.Credential, l Login) error {
	a, err := v.cipher()
	if err != nil {
		return err
	}
	plain, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("keep a login: %w", err)
	}
	defer clear(plain)
	c.Sealed = seal(a, nil, plain, v.bound("login "+c.ID+" "+c.Action+" "+c.UserField+" "+c.PassField))
	return v.store.Put(ctx, v.tenant, c)
}

// Remove forgets a login.
func (v *Vault) Remove(ctx context.Context, id string) error {
	return v.store.Remove(ctx, v.tenant, id)
}

// List gives the logins there are, sealed as they are.
func (v *Vault) List(ctx context.Context) ([]store.Credential, error) {
	return v.store.List(ctx, v.tenant)
}

// Open gives a login in the clear to whoever puts it into its form, right then. The caller wipes it.
func (v *Vault) Open(c store.Credential) (Login, error) {
	a, err := v.cipher()
	if err != nil {
		return Login{}, err
	}
	plain, err := open(a, c.Sealed, v.bound("login "+c.ID+" "+c.Action+" "+c.UserField+" "+c.PassField))
	if err != nil {
		return Login{}, errors.New("the login does not open: it was changed, or moved to another form")
	}
	defer clear(plain)
	var l Login
	if err := json.Unmarshal(plain, &l); err != nil {
		return Login{}, errors.New("the login is damaged")
	}
	return l, nil
}

func (v *Vault) cipher() (cipher.AEAD, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.key == nil {
		return nil, ErrLocked
	}
	return aead(v.key)
}
