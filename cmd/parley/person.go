package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/control/trusted"
	"parley/guard/approve"
	"parley/internal/proc"
	"parley/tenant"
)

// A look at the questions waits this long for a new one, and somebody who has not looked for the gap is gone.
const (
	lookTime = 5 * time.Second
	lookGap  = 3 * time.Second
)

// person is whoever of this account looks at the questions of a service, in a terminal (parley approvals). An agent's
// token opens no way to it: an agent that could answer would ask itself.
type person struct {
	now func() time.Time

	mu      sync.Mutex
	broker  *approve.Broker
	looking map[string]int       // looks that wait, by tenant
	looked  map[string]time.Time // when the last one ended
	news    chan struct{}        // closed when there is another question, and replaced
}

func newPerson(now func() time.Time) *person {
	return &person{now: now, looking: map[string]int{}, looked: map[string]time.Time{}, news: make(chan struct{})}
}

// Reachable implements choke.Person.
func (p *person) Reachable(t tenant.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ever := p.looked[string(t)]
	return p.looking[string(t)] > 0 || ever && p.now().Sub(last) < lookGap
}

// Show implements choke.Person. The question is among the open ones already.
func (p *person) Show(approve.Question) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.news)
	p.news = make(chan struct{})
	return nil
}

// look gives a tenant's open questions but those that are known, as soon as there is one, or none after a while.
func (p *person) look(ctx context.Context, t string, known []string) []approve.Question {
	p.mu.Lock()
	p.looking[t]++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.looking[t]--; p.looking[t] == 0 {
			delete(p.looking, t)
		}
		p.looked[t] = p.now()
	}()
	enough := time.NewTimer(lookTime)
	defer enough.Stop()
	for {
		p.mu.Lock()
		news := p.news
		p.mu.Unlock()
		open := slices.DeleteFunc(p.broker.Open(t), func(q approve.Question) bool { return slices.Contains(known, q.ID) })
		if len(open) > 0 {
			return open
		}
		select {
		case <-news:
		case <-enough.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// personOrder is what the orders take.
type personOrder struct {
	Tenant   string           `json:"tenant"`
	Known    []string         `json:"known,omitempty"`
	Question string           `json:"question,omitempty"`
	Choice   approve.Choice   `json:"choice,omitempty"`
	Standing approve.Standing `json:"standing,omitzero"`
}

// order carries out what the person asks for.
func (p *person) order(ctx context.Context, r trusted.Request) (any, error) {
	var o personOrder
	if err := json.Unmarshal(r.Body, &o); err != nil {
		return nil, fmt.Errorf("what %s takes: %w", r.Word, err)
	}
	switch r.Word {
	case "look":
		return p.look(ctx, o.Tenant, o.Known), nil
	case "answer":
		return true, p.broker.Answer(o.Tenant, o.Question, o.Choice)
	case "standing":
		return p.broker.Standing(o.Tenant), nil
	case "revoke":
		if o.Standing.Tenant != o.Tenant {
			return nil, errors.New("that is another tenant's")
		}
		return p.broker.Revoke(o.Standing), nil
	}
	return nil, fmt.Errorf("there is no order %q", r.Word)
}

// personDirs is the beginning of the folders in which the services of a data folder listen; the service's process follows.
func personDirs(data string) string {
	return ownDir("ask", data) + "-"
}

// ownDir is a short path that this account has for a data folder and a purpose: sockets lie there.
func ownDir(what, data string) string {
	sum := sha256.Sum256([]byte(absolute(data)))
	return filepath.Join(os.TempDir(), fmt.Sprintf("parley-%s-%d-%s", what, os.Geteuid(), hex.EncodeToString(sum[:6])))
}

// openPerson lets the account's person look and answer. Folders of services that were killed are removed.
func (a *app) openPerson(data string) {
	prefix := personDirs(data)
	old, _ := filepath.Glob(prefix + "*") // the pattern is sound
	for _, dir := range old {
		n, err := strconv.Atoi(strings.TrimPrefix(dir, prefix))
		if _, gone := proc.StartTime(n); err == nil && errors.Is(gone, proc.ErrGone) {
			if err := os.RemoveAll(dir); err != nil {
				a.log.Warn("the folder of a killed service is still there", "err", err)
			}
		}
	}
	s, err := trusted.Listen(prefix+strconv.Itoa(os.Getpid()), a.guard.person.order)
	if err != nil {
		a.log.Warn("questions cannot be answered in a terminal", "err", err)
		return
	}
	a.asking = s
}

// services are the folders of the services that run on a data folder.
func services(data string) []string {
	all, _ := filepath.Glob(personDirs(data) + "*") // the pattern is sound
	slices.Sort(all)
	return all
}
