package vault

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"parley/control/wire"
)

// RefLife is how long a reference can be used.
const RefLife = 60 * time.Second

const maxRefs = 256

// ErrRef says that a reference is used, old, of another caller, another tab or another document.
var ErrRef = errors.New("the reference cannot be used here: list again")

// Place is where a reference is good.
type Place struct {
	Principal     wire.Principal
	Tab, Document string
	Policy        uint64
}

// Refs hands out references to credentials: random, for one use, at one place. Safe for concurrent use.
type Refs struct {
	mu  sync.Mutex
	out map[string]ref
}

type ref struct {
	credential string
	place      Place
	until      time.Time
}

// Make gives a new reference. Those of the same place that were not used end: only the latest list counts.
func (r *Refs) Make(now time.Time, at Place, credentials []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil {
		r.out = map[string]ref{}
	}
	for id, o := range r.out {
		if o.place == at || !now.Before(o.until) || len(r.out)+len(credentials) > maxRefs {
			delete(r.out, id)
		}
	}
	var ids []string
	for _, c := range credentials {
		id := UUID()
		r.out[id] = ref{c, at, now.Add(RefLife)}
		ids = append(ids, id)
	}
	return ids
}

// Use takes a reference: whatever comes of it, it is gone.
func (r *Refs) Use(now time.Time, at Place, id string) (credential string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.out[id]
	if ok && o.place.Principal == at.Principal { // another's reference cannot be used up
		delete(r.out, id)
	}
	if !ok || o.place != at || !now.Before(o.until) {
		return "", ErrRef
	}
	return o.credential, nil
}

// UUID draws a random id in the form of a version 4 UUID.
func UUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
