package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/proc"
)

// profileName is what a profile may be called: it becomes a folder.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ErrBadProfileName means that a profile's name cannot be one.
var ErrBadProfileName = errors.New("a profile's name is 1 to 64 letters, digits, '.', '_' or '-', and begins with a letter or digit")

// ProfileInUseError means that another session or process has the profile.
type ProfileInUseError struct {
	Profile string
	Holder  Holder
}

// Holder is who has a profile.
type Holder struct {
	Session string    `json:"session,omitempty"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	What    string    `json:"what,omitempty"` // "session", "keepalive", "meeting"
}

func (e *ProfileInUseError) Error() string {
	who := "another process"
	switch {
	case e.Holder.What == "meeting" && e.Holder.Session == "":
		who = "a meeting that begins"
	case e.Holder.What == "meeting":
		who = "the meeting " + e.Holder.Session
	case e.Holder.PID == os.Getpid() && e.Holder.Session != "":
		who = "session " + e.Holder.Session
	case e.Holder.PID != 0:
		who = fmt.Sprintf("process %d (session %s)", e.Holder.PID, e.Holder.Session)
	}
	s := fmt.Sprintf("the profile %q is in use by %s", e.Profile, who)
	if !e.Holder.Since.IsZero() {
		s += " since " + e.Holder.Since.UTC().Format("15:04:05 MST")
	}
	return s
}

// ProfileMismatchError means that a profile was used in another way before, which it has to stay with: sites would see
// another browser, and another family cannot read it.
type ProfileMismatchError struct {
	Profile, What, Has, Want string
}

func (e *ProfileMismatchError) Error() string {
	return fmt.Sprintf("the profile %q was made with %s %s and cannot be opened with %s", e.Profile, e.What, e.Has, e.Want)
}

// ProfileMeta is what a profile remembers.
type ProfileMeta struct {
	Engine  string    `json:"engine"`
	Family  string    `json:"family"`
	Headful bool      `json:"headful"`
	Made    time.Time `json:"made"`
	Used    time.Time `json:"used"`
}

// Profile is a named profile that we hold the lock of. No death of ours leaves it locked: the lock goes with the
// descriptor.
type Profile struct {
	Name string
	Meta ProfileMeta
	New  bool // nobody used it before

	dir  string
	lock *os.File
}

// takeProfile locks a tenant's profile, making it when it is new. Below base, which the account can enter, every
// tenant has a folder, and every profile one in it: our lock and notes, and what the browser writes.
func takeProfile(base, tenant, name string, h Holder, account *proc.Account) (_ *Profile, err error) {
	if !profileName.MatchString(name) || !profileName.MatchString(tenant) {
		return nil, ErrBadProfileName
	}
	p := &Profile{Name: name, dir: filepath.Join(base, tenant, name)}
	for _, d := range []string{base, filepath.Join(base, tenant), p.dir} {
		if err := os.MkdirAll(d, 0o711); err != nil {
			return nil, fmt.Errorf("profile folder: %w", err)
		}
	}
	if p.lock, err = os.OpenFile(filepath.Join(p.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("profile lock: %w", err)
	}
	defer func() {
		if err != nil {
			p.lock.Close()
		}
	}()
	if err := unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("profile lock: %w", err)
		}
		in := &ProfileInUseError{Profile: name}
		if raw, err := io.ReadAll(io.LimitReader(p.lock, 4096)); err == nil {
			_ = json.Unmarshal(raw, &in.Holder) // being written right now: nobody is named
		}
		return nil, in
	}
	raw, err := os.ReadFile(filepath.Join(p.dir, "profile.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.New = true
	case err != nil:
		return nil, fmt.Errorf("profile notes: %w", err)
	default:
		if err := json.Unmarshal(raw, &p.Meta); err != nil {
			return nil, fmt.Errorf("profile notes of %q are damaged: %w", name, err)
		}
	}
	if err := os.MkdirAll(p.Data(), 0o700); err != nil {
		return nil, fmt.Errorf("profile folder: %w", err)
	}
	if err := proc.Own(p.Data(), account); err != nil {
		return nil, err
	}
	// We hold the lock, so that these are of a browser that is dead.
	for _, left := range []string{"SingletonLock", "SingletonSocket", "SingletonCookie"} {
		_ = os.Remove(filepath.Join(p.Data(), left))
	}
	if err := p.note(h); err != nil {
		return nil, err
	}
	return p, nil
}

// note writes down who has the profile.
func (p *Profile) note(h Holder) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := errors.Join(p.lock.Truncate(0), writeAt(p.lock, raw)); err != nil {
		return fmt.Errorf("profile lock: %w", err)
	}
	return nil
}

func writeAt(f *os.File, raw []byte) error {
	_, err := f.WriteAt(raw, 0)
	return err
}

// Data is what the browser writes.
func (p *Profile) Data() string { return filepath.Join(p.dir, "data") }

// save writes down how the profile is used now.
func (p *Profile) save(now time.Time) error {
	if p.Meta.Made.IsZero() {
		p.Meta.Made = now
	}
	p.Meta.Used = now
	raw, err := json.Marshal(p.Meta)
	if err != nil {
		return err
	}
	tmp := filepath.Join(p.dir, "profile.json.new")
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return fmt.Errorf("profile notes: %w", err)
	}
	return os.Rename(tmp, filepath.Join(p.dir, "profile.json"))
}

// Release lets others have it.
func (p *Profile) Release() {
	_ = p.lock.Truncate(0) // who reads it next finds nobody; a leftover would do no harm
	p.lock.Close()
}

// fits checks a wanted use against what the profile remembers; nil headful means as it was.
func (p *Profile) fits(e Engine, headful *bool) error {
	if p.New {
		return nil
	}
	if p.Meta.Family != e.Family {
		return &ProfileMismatchError{p.Name, "the engine family", p.Meta.Family, e.Family}
	}
	if headful != nil && *headful != p.Meta.Headful {
		return &ProfileMismatchError{p.Name, "a browser that is", mode(p.Meta.Headful), "one that is " + mode(*headful)}
	}
	return nil
}

func mode(headful bool) string {
	if headful {
		return "headful"
	}
	return "headless"
}
