package browser

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrUnknownProfile means that nobody has made a profile of this name.
var ErrUnknownProfile = errors.New("there is no profile of this name")

// Loan is a profile for a process that runs a browser of its own, as a meeting's does. Whoever inherits Lock has the
// profile, until the last copy of it is closed: no death leaves it locked.
type Loan struct {
	Name string
	Path string // what the browser writes
	Lock *os.File

	profile *Profile
}

// Lend locks a tenant's profile for a browser of the first engine, with a window. It does not make one: a profile that
// nobody has used is signed in nowhere. Its user is written down as soon as it is known, by Held.
func (m *Manager) Lend(tenant, name string) (*Loan, error) {
	if m.o.Profiles == "" {
		return nil, ErrNoProfiles
	}
	if !profileName.MatchString(name) || !profileName.MatchString(tenant) {
		return nil, ErrBadProfileName
	}
	if _, err := os.Stat(filepath.Join(m.o.Profiles, tenant, name, "profile.json")); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %q", ErrUnknownProfile, name)
		}
		return nil, fmt.Errorf("profile notes: %w", err)
	}
	p, err := takeProfile(m.o.Profiles, tenant, name, Holder{PID: os.Getpid(), Since: time.Now().UTC(), What: "meeting"}, m.o.Chromium.Account)
	if err != nil {
		return nil, err
	}
	window := true
	if err := p.fits(m.o.Engines[0], &window); err != nil {
		p.Release()
		return nil, err
	}
	if err := p.save(time.Now().UTC()); err != nil {
		p.Release()
		return nil, err
	}
	return &Loan{Name: name, Path: p.Data(), Lock: p.lock, profile: p}, nil
}

// Held notes whose the profile is, for those who are refused it.
func (l *Loan) Held(meeting string) error {
	return l.profile.note(Holder{Session: meeting, PID: os.Getpid(), Since: time.Now().UTC(), What: "meeting"})
}

// Close lets go of our copy of the lock. Whoever inherited it still has the profile; where nobody did, others may have it.
func (l *Loan) Close() error { return l.Lock.Close() }
