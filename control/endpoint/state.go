package endpoint

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"parley/control/grant"
	"parley/control/keys"
	"parley/control/publish"
)

// stateName is the file that holds what must survive a restart, sealed.
const stateName = "published"

// kept is what survives: the publication as it came, and the highest generation seen of each grant.
type kept struct {
	Policy json.RawMessage   `json:"policy"`
	Seen   map[string]uint64 `json:"seen"`
}

func (e *Endpoint) sealer() (cipher.AEAD, []byte, error) {
	block, err := aes.NewCipher(e.stateKey.Secret[:])
	if err != nil {
		return nil, nil, err
	}
	a, err := cipher.NewGCM(block)
	bound := binary.BigEndian.AppendUint64([]byte("parley-control-state-1 "+string(e.o.Tenant.ID)+"\n"), uint64(os.Geteuid()))
	return a, bound, err
}

func (e *Endpoint) save(raw []byte, b grant.Book) error {
	plain, err := json.Marshal(kept{raw, b.Seen})
	if err != nil {
		return fmt.Errorf("keep the endpoint's state: %w", err)
	}
	defer clear(plain)
	a, bound, err := e.sealer()
	if err != nil {
		return fmt.Errorf("keep the endpoint's state: %w", err)
	}
	nonce := make([]byte, a.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return fmt.Errorf("keep the endpoint's state: %w", err)
	}
	return e.state.SetLong(stateName, a.Seal(nonce, nonce, plain, bound), maxState)
}

// markName is the file beside the keys that says which version was published last. It is written after the state: a crash
// between the two leaves a state that is newer than its mark, never older.
const (
	markName = "control-version"
	magic    = "parley-control-version-1\n"
)

func (e *Endpoint) mark(version uint64) error {
	return e.marks.Set(markName, binary.BigEndian.AppendUint64([]byte(magic), version))
}

// marked is the version that was published last; zero when none was.
func (e *Endpoint) marked() (uint64, error) {
	raw, err := e.marks.Get(markName)
	switch {
	case errors.Is(err, keys.ErrNone):
		return 0, nil
	case err != nil:
		return 0, err
	case len(raw) != len(magic)+8 || string(raw[:len(magic)]) != magic:
		return 0, errState
	}
	return binary.BigEndian.Uint64(raw[len(magic):]), nil
}

const maxState = publish.MaxPolicy + 1<<18

// load reads the state. One that does not open, is gone, or is older than what was published last, is no reason to begin
// anew: then what was revoked would come back.
func (e *Endpoint) load() error {
	last, err := e.marked()
	if err != nil {
		return err
	}
	sealed, err := e.state.GetLong(stateName, maxState)
	if errors.Is(err, keys.ErrNone) {
		if last > 0 {
			return fmt.Errorf("%w: version %d was published last, and there is no state", errState, last)
		}
		e.policy, e.book = publish.Default(), grant.Book{}
		return nil
	}
	if err != nil {
		return err
	}
	a, bound, err := e.sealer()
	if err != nil {
		return err
	}
	if len(sealed) < a.NonceSize() {
		return errState
	}
	plain, err := a.Open(nil, sealed[:a.NonceSize()], sealed[a.NonceSize():], bound)
	if err != nil {
		return errState
	}
	defer clear(plain)
	var k kept
	if err := json.Unmarshal(plain, &k); err != nil {
		return errState
	}
	p, err := publish.Parse(k.Policy, e.known)
	if err != nil {
		return fmt.Errorf("what was published before: %w", err)
	}
	if p.Version < last {
		return fmt.Errorf("%w: version %d was published last, and the state is that of version %d", errState, last, p.Version)
	}
	if p.Version > last {
		if err := e.mark(p.Version); err != nil {
			return err
		}
	}
	e.raw, e.policy = k.Policy, p
	e.book, _, err = grant.Book{Seen: k.Seen}.Reconcile(p.Grants, e.known, e.o.Now())
	return err
}

var errState = errors.New("the control endpoint's state in control-state is not the one that was kept: its key in control-keys was changed, or it was. " +
	"Removing both folders begins anew, and forgets which credentials were revoked")
