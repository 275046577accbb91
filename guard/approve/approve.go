// Package approve asks a person about a call and binds the answer to exactly that call.
package approve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// TTL is how long a question waits, and how long an answer that nobody used holds.
const TTL = 120 * time.Second

// maxOpen bounds the questions of a tenant that wait at once; one more is a no, since a person who is asked
// everything reads nothing.
const maxOpen = 16

// Call is what an approval is bound to. Anything in it that changes needs a new one.
type Call struct {
	Tenant, Action string
	// Arguments is the call's own JSON; spelling and order do not matter, values do.
	Arguments json.RawMessage
	// Session is the browser session or meeting; Document the generation of the page the call acts on, new with
	// every navigation.
	Session, Document string
	// Host of the page or target, for Always.
	Host string
}

// Digest names a call.
func (c Call) Digest() (string, error) {
	var v any
	if len(c.Arguments) > 0 {
		d := json.NewDecoder(bytes.NewReader(c.Arguments))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return "", fmt.Errorf("approval: arguments: %w", err)
		}
	}
	canonical, err := json.Marshal([]any{c.Tenant, c.Action, v, c.Session, c.Document, c.Host}) // members sorted
	if err != nil {
		return "", fmt.Errorf("approval: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// Choice is what a person says.
type Choice string

// The choices.
const (
	Once   Choice = "once"
	No     Choice = "deny"
	Always Choice = "always" // for this action on this host and the rules that asked, until revoked
)

// Question is what a person sees. It has no argument in it that a page could have written.
type Question struct {
	ID     string    `json:"question_id"`
	Tenant string    `json:"tenant"`
	Action string    `json:"action"`
	Host   string    `json:"host,omitempty"`
	Rules  []string  `json:"rules"`
	Title  string    `json:"title"`
	Until  time.Time `json:"until"`
	Digest string    `json:"digest"`
}

// Standing is an Always that holds. Rules are those the person was asked about, sorted, with blanks between: a yes to sending
// forms on a site is none to typing there what was read elsewhere.
type Standing struct {
	Tenant, Action, Host, Rules string
}

func standing(c Call, rules []string) Standing {
	return Standing{c.Tenant, c.Action, strings.ToLower(c.Host), strings.Join(slices.Sorted(slices.Values(rules)), " ")}
}

// Broker keeps questions and answers. Safe for concurrent use.
type Broker struct {
	now  func() time.Time
	show func(Question) error

	mu       sync.Mutex
	closed   bool
	open     map[string]*asked    // by question
	granted  map[string]time.Time // digests a person said yes to, until when
	denied   map[string]time.Time // and no
	used     map[string]time.Time // yes, and the call is being made
	standing []Standing
}

type asked struct {
	q      Question
	call   Standing
	answer chan bool // buffered
}

// New makes a broker. Show puts a question before a person; an error of it is a no. Now is the clock; nil: time.Now.
func New(show func(Question) error, now func() time.Time) *Broker {
	if now == nil {
		now = time.Now
	}
	return &Broker{now: now, show: show, open: map[string]*asked{}, granted: map[string]time.Time{}, denied: map[string]time.Time{}, used: map[string]time.Time{}}
}

// Refusals.
var (
	ErrUnknown = errors.New("there is no such question, or it was answered")
	ErrClosed  = errors.New("nobody can be asked any more")
)

// Ask puts a question and returns at once; the answer comes through Take, for clients that call again.
func (b *Broker) Ask(c Call, title string, rules []string) (Question, error) {
	a, err := b.ask(c, title, rules)
	if err != nil {
		return Question{}, err
	}
	return a.q, nil
}

func (b *Broker) ask(c Call, title string, rules []string) (*asked, error) {
	digest, err := c.Digest()
	if err != nil {
		return nil, err
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	now := b.now()
	a := &asked{answer: make(chan bool, 1), call: standing(c, rules),
		q: Question{ID: hex.EncodeToString(id[:]), Tenant: c.Tenant, Action: c.Action, Host: c.Host, Rules: slices.Clone(rules), Title: title, Until: now.Add(TTL), Digest: digest}}
	b.mu.Lock()
	b.expire(now)
	waiting := 0
	for _, o := range b.open {
		if o.q.Tenant == c.Tenant {
			waiting++
		}
	}
	switch {
	case b.closed:
		err = ErrClosed
	case waiting >= maxOpen:
		err = fmt.Errorf("%d questions wait already", waiting)
	default:
		b.open[a.q.ID] = a
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := b.show(a.q); err != nil {
		b.mu.Lock()
		delete(b.open, a.q.ID)
		b.mu.Unlock()
		return nil, fmt.Errorf("the question could not be shown: %w", err)
	}
	return a, nil
}

// Approve asks and waits for the answer. No answer in time, a closed broker, and an error are a no.
func (b *Broker) Approve(ctx context.Context, c Call, title string, rules []string) bool {
	if b.Take(c, rules) {
		return true
	}
	a, err := b.ask(c, title, rules)
	if err != nil {
		return false
	}
	defer func() {
		b.mu.Lock()
		delete(b.open, a.q.ID)
		b.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, TTL)
	defer cancel()
	select {
	case yes := <-a.answer:
		return yes && b.Take(c, rules)
	case <-ctx.Done():
		return false
	}
}

// Answer is what a person said. A question is answered once.
func (b *Broker) Answer(tenant, question string, choice Choice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.expire(now)
	a := b.open[question]
	if a == nil || a.q.Tenant != tenant {
		return ErrUnknown
	}
	switch choice {
	case Once:
		b.granted[a.q.Digest] = now.Add(TTL)
	case Always:
		if a.call.Host == "" {
			return errors.New("always needs a host: this call has none")
		}
		if !slices.Contains(b.standing, a.call) {
			b.standing = append(b.standing, a.call)
		}
	case No:
		b.denied[a.q.Digest] = now.Add(TTL)
	default:
		return fmt.Errorf("%.20q is none of once, always, deny", string(choice))
	}
	delete(b.open, question)
	a.answer <- choice != No
	return nil
}

// Take uses an approval of exactly this call, if there is one: a yes once is used up, an always stays. Rules are those that
// ask now; an always counts where each of them was asked about.
func (b *Broker) Take(c Call, rules []string) bool {
	digest, err := c.Digest()
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.expire(b.now())
	if _, ok := b.granted[digest]; ok {
		delete(b.granted, digest)
		b.used[digest] = b.now().Add(TTL)
		return true
	}
	return b.stands(c, rules)
}

// Holds tells whether the call that is being made was approved as it is now: a page that went elsewhere since makes it another.
func (b *Broker) Holds(c Call, rules []string) bool {
	digest, err := c.Digest()
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(b.now())
	_, ok := b.used[digest]
	return !b.closed && (ok || b.stands(c, rules))
}

// stands tells whether an always covers a call. The lock is held.
func (b *Broker) stands(c Call, rules []string) bool {
	if c.Host == "" {
		return false
	}
	now, asked, found := standing(c, rules), []string{}, false
	for _, s := range b.standing {
		if s.Tenant == now.Tenant && s.Action == now.Action && s.Host == now.Host {
			asked, found = append(asked, strings.Fields(s.Rules)...), true
		}
	}
	return found && !slices.ContainsFunc(rules, func(r string) bool { return !slices.Contains(asked, r) })
}

// Denied tells whether a person said no to exactly this call a moment ago: it is not put before them again.
func (b *Broker) Denied(c Call) bool {
	digest, err := c.Digest()
	if err != nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(b.now())
	_, no := b.denied[digest]
	return no || b.closed
}

func (b *Broker) expire(now time.Time) {
	for d, until := range b.granted {
		if !now.Before(until) {
			delete(b.granted, d)
		}
	}
	for d, until := range b.used {
		if !now.Before(until) {
			delete(b.used, d)
		}
	}
	for d, until := range b.denied {
		if !now.Before(until) {
			delete(b.denied, d)
		}
	}
	for id, a := range b.open {
		if !now.Before(a.q.Until) {
			delete(b.open, id)
		}
	}
}

// Open lists a tenant's questions that wait, the oldest first.
func (b *Broker) Open(tenant string) []Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(b.now())
	var out []Question
	for _, a := range b.open {
		if a.q.Tenant == tenant {
			out = append(out, a.q)
		}
	}
	slices.SortFunc(out, func(x, y Question) int { return x.Until.Compare(y.Until) })
	return out
}

// Standing lists a tenant's always.
func (b *Broker) Standing(tenant string) []Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.standing), func(s Standing) bool { return s.Tenant != tenant })
}

// Revoke ends an always.
func (b *Broker) Revoke(s Standing) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.standing)
	b.standing = slices.DeleteFunc(b.standing, func(o Standing) bool { return o == s })
	return len(b.standing) < n
}

// Close says no to everything that waits, and to everything from now on.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, a := range b.open {
		a.answer <- false
	}
	clear(b.open)
	clear(b.granted)
	clear(b.denied)
	clear(b.used)
}
