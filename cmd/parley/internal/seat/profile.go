package seat

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"parley/browser"
	"parley/meeting/wire"
	"parley/tenant"
	"parley/tool"
)

// Profiles lends a tenant's browser profiles.
type Profiles interface {
	Lend(tenant, name string) (*browser.Loan, error)
}

// firstFile is the descriptor of the worker's first inherited file: the two pipes come before it.
const firstFile = 5

// lend gives what takes a profile for the process of a meeting, so that no moment is left in which nobody has it.
func (s *Seat) lend(t tenant.ID, name string) func(string, *wire.Start) ([]*os.File, func(), error) {
	if name == "" {
		return nil
	}
	return func(id string, start *wire.Start) ([]*os.File, func(), error) {
		loan, err := s.o.Profiles.Lend(string(t), name)
		if err != nil {
			return nil, nil, err
		}
		if err := loan.Held(id); err != nil {
			return nil, nil, errors.Join(err, loan.Close())
		}
		start.Profile = &wire.Profile{Name: loan.Name, Path: loan.Path, FD: firstFile}
		return []*os.File{loan.Lock}, func() { _ = loan.Close() }, nil // the worker has its own copy, or nobody has
	}
}

// profileError words why a profile cannot be had; nil where the error is about something else.
func profileError(err error, name string) error {
	var inUse *browser.ProfileInUseError
	var mismatch *browser.ProfileMismatchError
	switch {
	case errors.As(err, &inUse):
		e := tool.Fail(tool.CodeProfileInUse, "profile", name).Because(err)
		e.Text = asSentence(strings.TrimSuffix(inUse.Error(), "."))
		e.Remedy = "Close what has it and join again, or join without it, as a guest."
		return e
	case errors.As(err, &mismatch):
		return tool.Fail(tool.CodeProfileMismatch, "profile", name, "what", mismatch.Error()).Because(err)
	case errors.Is(err, browser.ErrUnknownProfile), errors.Is(err, browser.ErrBadProfileName), errors.Is(err, browser.ErrNoProfiles):
		e := tool.Fail(tool.CodeProfileUnknown, "profile", name).Because(err)
		e.Remedy = fmt.Sprintf("Make it once: session_open {profile: %q}, request_human so that a person signs in, session_close.", name)
		return e
	}
	return nil
}
