package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tenant"
)

// Limits of a vault.
const (
	TTL        = 2 * time.Hour
	MaxEntries = 64
)

// Vault holds the secrets that were read in one browser session. Values live in its memory alone and are
// overwritten when they go. It belongs beside the page: the half that answers clients has a Sealer, which holds
// nothing. Safe for concurrent use.
type Vault struct {
	mint *mint

	mu      sync.Mutex
	closed  bool
	entries map[string]*entry // by id
	order   []string          // oldest first
}

type entry struct {
	handle Handle
	value  []byte
	until  time.Time
}

func (e *entry) wipe() { clear(e.value) }

// NewVault makes an empty one.
func NewVault() *Vault { return &Vault{mint: newMint(), entries: map[string]*entry{}} }

// Seal replaces the secrets of a text that was read on a host, and keeps them. It is strict: brackets in the text
// that are no handle of this vault are a page's forgery and are rewritten. A secret it holds already is replaced
// wherever it stands, also where nothing around it says what it is.
func (v *Vault) Seal(now time.Time, host, text string) string {
	host = hostName(host)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expire(now)
	text = strict(text, func(h Handle) bool { e := v.entries[h.ID]; return e != nil && e.handle == h })
	text = v.mask(text)
	return replace(text, Find(text), func(f Finding, value string) Handle { return v.keep(now, f.Kind, host, value) })
}

// Put keeps a secret that the caller brought or a person typed, so that Seal masks it from then on.
func (v *Vault) Put(now time.Time, kind Kind, host string, value []byte) Handle {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expire(now)
	return v.keep(now, kind, hostName(host), string(value))
}

func (v *Vault) keep(now time.Time, kind Kind, host, value string) Handle {
	h := Handle{kind, v.mint.id(kind, "", host, []byte(value)), host}
	if v.closed {
		return h
	}
	if e := v.entries[h.ID]; e != nil {
		e.until = now.Add(TTL)
		v.order = append(slices.DeleteFunc(v.order, func(id string) bool { return id == h.ID }), h.ID)
		return h
	}
	for len(v.order) >= MaxEntries {
		v.drop(v.order[0])
	}
	v.entries[h.ID] = &entry{h, []byte(value), now.Add(TTL)}
	v.order = append(v.order, h.ID)
	return h
}

func (v *Vault) drop(id string) {
	v.entries[id].wipe()
	delete(v.entries, id)
	v.order = slices.DeleteFunc(v.order, func(o string) bool { return o == id })
}

func (v *Vault) expire(now time.Time) {
	for _, id := range slices.Clone(v.order) {
		if !now.Before(v.entries[id].until) {
			v.drop(id)
		}
	}
}

// minMask is how long a value has to be for Seal to look for it in other texts: a PIN would be found everywhere.
const minMask = 6

func (v *Vault) mask(text string) string {
	for _, id := range v.order {
		e := v.entries[id]
		if len(e.value) < minMask || !strings.Contains(text, string(e.value)) {
			continue
		}
		text = maskOutside(text, string(e.value), e.handle.String())
	}
	return text
}

// maskOutside replaces a value everywhere but inside handles, whose own parts may be equal to it by chance.
func maskOutside(text, value, with string) string {
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, open)
		if i < 0 {
			break
		}
		b.WriteString(strings.ReplaceAll(text[:i], value, with))
		n := max(handleLen(text[i:]), len(open))
		b.WriteString(text[i : i+n])
		text = text[i+n:]
	}
	return b.String() + strings.ReplaceAll(text, value, with)
}

// Close forgets everything.
func (v *Vault) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	for _, e := range v.entries {
		e.wipe()
	}
	clear(v.entries)
	v.order = nil
}

// Refusals of a release. Their texts begin with the code the agent gets.
var (
	ErrNotReleasable = errors.New("SECRET_NOT_RELEASABLE: a sealed secret can only be typed into a field")
	ErrExpired       = errors.New("SECRET_EXPIRED: the secret is not held any more; read it again")
)

// PlaceError is a handle in an argument that does not type. It is ErrNotReleasable.
type PlaceError struct{ Argument, Tool string }

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%v (%s of %s)", ErrNotReleasable, e.Argument, e.Tool)
}

func (e *PlaceError) Unwrap() error { return ErrNotReleasable }

// Place is an argument of a tool.
type Place struct{ Tool, Argument string }

// places are the only ones where a handle becomes its value: those that type into a page.
var places = []Place{
	{"type", "value"}, {"fill_form", "fields[].value"},
	{"page.fillInput", "value"}, {"page.typeText", "text"},
}

// Hosts tells where the handles in a text were read, for the policy. Handles the vault does not hold are skipped:
// Release refuses them.
func (v *Vault) Hosts(now time.Time, text string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expire(now)
	var hosts []string
	eachHandle(text, func(h Handle, _ string) {
		if e := v.entries[h.ID]; e != nil && e.handle == h {
			hosts = append(hosts, h.Host)
		}
	})
	return hosts
}

// Release is the one place where handles become values, one step before the keys are struck. The bytes are the
// caller's to overwrite. A text with no handle comes back as it is; one with a handle in another place, or with a
// handle that this vault did not make or does not hold any more, is refused.
func (v *Vault) Release(now time.Time, at Place, text string) ([]byte, error) {
	if !HasHandle(text) {
		return []byte(text), nil
	}
	if !slices.Contains(places, at) {
		return nil, fmt.Errorf("%w (%s of %s)", ErrNotReleasable, at.Argument, at.Tool)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expire(now)
	var out bytes.Buffer
	for text != "" {
		i := strings.Index(text, open)
		if i < 0 {
			break
		}
		out.WriteString(text[:i])
		text = text[i:]
		n := handleLen(text)
		if n == 0 {
			return nil, fmt.Errorf("%w: this is no handle of ours", ErrExpired)
		}
		h, _ := ParseHandle(text[:n])
		e := v.entries[h.ID]
		if e == nil || e.handle != h {
			clear(out.Bytes())
			return nil, ErrExpired
		}
		out.Write(e.value)
		text = text[n:]
	}
	out.WriteString(text)
	return out.Bytes(), nil
}

// HasHandle tells whether a text holds anything that could be a handle.
func HasHandle(text string) bool { return strings.Contains(text, open) }

func eachHandle(text string, f func(Handle, string)) {
	for {
		i := strings.Index(text, open)
		if i < 0 {
			return
		}
		text = text[i:]
		n := handleLen(text)
		if n == 0 {
			text = text[len(open):]
			continue
		}
		h, _ := ParseHandle(text[:n])
		f(h, text[:n])
		text = text[n:]
	}
}

// CheckArgs looks at every string of a call's arguments, names of members included, and refuses a handle anywhere
// but where it can be released. It is for every tool, before its handler runs.
func CheckArgs(tool string, arguments json.RawMessage) error {
	if !HasHandle(string(arguments)) && !strings.Contains(string(arguments), `\u27e6`) && !strings.Contains(string(arguments), `\u27E6`) {
		return nil
	}
	var v any
	if err := json.Unmarshal(arguments, &v); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return walk(tool, "", v)
}

func walk(tool, path string, v any) error {
	switch v := v.(type) {
	case string:
		if HasHandle(v) && !slices.Contains(places, Place{tool, path}) {
			return &PlaceError{Argument: path, Tool: tool}
		}
	case []any:
		for _, item := range v {
			if err := walk(tool, path+"[]", item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range v {
			at := name
			if path != "" {
				at = path + "." + name
			}
			if HasHandle(name) {
				return &PlaceError{Argument: "a name", Tool: tool}
			}
			if err := walk(tool, at, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// Vaults are the vaults of a service's browser sessions. Safe for concurrent use.
type Vaults struct {
	mu  sync.Mutex
	all map[vaultKey]*Vault
}

type vaultKey struct {
	tenant  tenant.ID
	session string
}

// Of gives the vault of a tenant's session and makes it the first time. No session sees another's.
func (s *Vaults) Of(t tenant.ID, session string) *Vault {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := vaultKey{t, session}
	if s.all[k] == nil {
		if s.all == nil {
			s.all = map[vaultKey]*Vault{}
		}
		s.all[k] = NewVault()
	}
	return s.all[k]
}

// Sweep forgets the vaults of sessions that are gone.
func (s *Vaults) Sweep(alive func(t tenant.ID, session string) bool) {
	s.mu.Lock()
	var gone []vaultKey
	for k := range s.all {
		if !alive(k.tenant, k.session) {
			gone = append(gone, k)
		}
	}
	s.mu.Unlock()
	for _, k := range gone {
		s.End(k.tenant, k.session)
	}
}

// End forgets a session's secrets.
func (s *Vaults) End(t tenant.ID, session string) {
	s.mu.Lock()
	k := vaultKey{t, session}
	v := s.all[k]
	delete(s.all, k)
	s.mu.Unlock()
	if v != nil {
		v.Close()
	}
}

// Close forgets all of them.
func (s *Vaults) Close() {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for _, v := range all {
		v.Close()
	}
}
