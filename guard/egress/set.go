package egress

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"parley/tenant"
)

// Set keeps a proxy for each tenant that has a list of hosts. Safe for concurrent use.
type Set struct {
	Rules map[tenant.ID]Rules
	// UID and Own are those of Options.
	UID *int
	Own []int
	Log *slog.Logger

	mu      sync.Mutex
	closed  bool
	proxies map[tenant.ID]*Proxy
}

// Proxy is the way out of a tenant's browsers, made the first time; empty for a tenant that may go anywhere. An error
// means that there is no way out at all.
func (s *Set) Proxy(t string) (string, error) {
	id := tenant.ID(t)
	rules, confined := s.Rules[id]
	if !confined {
		return "", nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errors.New("the service is shutting down")
	}
	if p := s.proxies[id]; p != nil {
		return p.Address(), nil
	}
	p, err := Listen(Options{Tenant: t, Rules: rules, UID: s.UID, Own: s.Own, Log: s.Log})
	if err != nil {
		return "", fmt.Errorf("tenant %s has a list of hosts, and its proxy does not start: %w", t, err)
	}
	if s.proxies == nil {
		s.proxies = map[tenant.ID]*Proxy{}
	}
	s.proxies[id] = p
	return p.Address(), nil
}

// Close ends all of them.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	all := s.proxies
	s.proxies = nil
	s.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
