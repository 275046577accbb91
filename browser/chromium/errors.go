package chromium

import (
	"errors"
	"fmt"
	"strings"
)

// Reason says why a browser cannot start.
type Reason string

// The reasons.
const (
	NotInstalled    Reason = "not-installed"     // no browser at the places we know
	RootNoAccount   Reason = "root-no-account"   // we are root and were given no account to run it as
	NoSandboxUsable Reason = "no-sandbox-usable" // the kernel refuses namespaces and there is no setuid helper
	NoDisplay       Reason = "no-display"        // it cannot reach an X display
	MissingLibrary  Reason = "missing-library"   // the dynamic linker misses something
	ProfileInUse    Reason = "profile-in-use"    // another browser has the profile
	NoFolder        Reason = "no-folder"         // the profile's folder cannot be made or entered
	Exited          Reason = "exited"            // it ended at once and nothing we know says why
	TimedOut        Reason = "timed-out"         // it runs, but does not answer
)

// remedies say what a person can do.
var remedies = map[Reason]string{
	NotInstalled:    "install the packages chromium and chromium-sandbox, or name the program with PARLEY_CHROMIUM",
	RootNoAccount:   "run `make setup` (it makes the system user parley), or start Parley as a normal user; PARLEY_CHROMIUM_SANDBOX=0 switches the sandbox off, which lets a hostile page act as root",
	NoSandboxUsable: "install the package chromium-sandbox (its helper must be owned by root with mode 4755), or allow user namespaces; PARLEY_CHROMIUM_SANDBOX=0 switches the sandbox off, at your own risk",
	NoDisplay:       "install the package xvfb, or run headless",
	MissingLibrary:  "install the package chromium with its dependencies (apt-get install --reinstall chromium)",
	ProfileInUse:    "close the other browser that uses this profile",
	NoFolder:        "check the space and the rights of the temporary folder (TMPDIR)",
	Exited:          "run `parley doctor` to see each part started alone",
	TimedOut:        "the machine may be overloaded; run `parley doctor`",
}

// StartError says why a browser did not start, and what to do.
type StartError struct {
	Reason Reason
	Detail string
	Err    error
}

func (e *StartError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the browser cannot start (%s)", e.Reason)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if r := e.Remedy(); r != "" {
		b.WriteString("; " + r)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Remedy is what a person can do about it.
func (e *StartError) Remedy() string { return remedies[e.Reason] }

// ErrGone means that the browser has ended, so that nothing can be asked of it any more.
var ErrGone = errors.New("the browser has ended")

// symptoms are what a browser that gives up writes, most telling first.
var symptoms = []struct {
	text   string
	reason Reason
}{
	{"Running as root without --no-sandbox", RootNoAccount},
	{"No usable sandbox", NoSandboxUsable},
	{"SUID sandbox helper binary", NoSandboxUsable},
	{"setuid sandbox is not running as root", NoSandboxUsable},
	{"Failed to move to new namespace", NoSandboxUsable},
	{"error while loading shared libraries", MissingLibrary},
	{"Missing X server", NoDisplay},
	{"cannot open display", NoDisplay},
	{"The platform failed to initialize", NoDisplay},
	{"Authorization required, but no authorization protocol specified", NoDisplay},
	{"Failed to create a ProcessSingleton", ProfileInUse},
	{"profile appears to be in use", ProfileInUse},
}

// diagnose reads the end of a dead browser's messages.
func diagnose(stderr string, exit error) *StartError {
	for _, s := range symptoms {
		for line := range strings.Lines(stderr) {
			if strings.Contains(line, s.text) {
				return &StartError{Reason: s.reason, Detail: clip(strings.TrimSpace(line), 200)}
			}
		}
	}
	return &StartError{Reason: Exited, Err: exit}
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
