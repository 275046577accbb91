package main

import (
	"strings"
	"testing"

	"parley/guard/spawn"
)

// TestTheDoctorTellsWhatIsNotHeld: each way in which a machine keeps programs less well is a warning with a remedy.
func TestTheDoctorTellsWhatIsNotHeld(t *testing.T) {
	veil := func(v spawn.Veil, err error) func() (spawn.Veil, error) {
		return func() (spawn.Veil, error) { return v, err }
	}
	good := spawn.Veil{Path: "/usr/bin/bwrap", Processes: true}
	for _, c := range []struct {
		what   string
		level  spawn.Level
		veil   func() (spawn.Veil, error)
		states string
		says   string
	}{
		{"all of it", spawn.Level{Landlock: 4, Seccomp: true}, veil(good, nil), "ok ok", "other processes"},
		{"no bubblewrap", spawn.Level{Landlock: 4, Seccomp: true}, veil(spawn.Veil{}, spawn.ErrNoBubblewrap), "ok warn", "install the package bubblewrap"},
		{"namespaces are refused", spawn.Level{Landlock: 4, Seccomp: true}, veil(spawn.Veil{}, &spawn.VeilError{Said: "No permissions to create new namespace"}), "ok warn", "No permissions to create new namespace"},
		{"the folder alone", spawn.Level{Landlock: 4, Seccomp: true}, veil(spawn.Veil{Path: "bwrap"}, nil), "ok ok", "not other processes"},
		{"no Landlock", spawn.Level{Seccomp: true}, veil(good, nil), "warn ok", "no program is kept from files"},
		{"no seccomp", spawn.Level{Landlock: 1}, veil(good, nil), "warn ok", "not every program is kept from the network"},
		{"neither", spawn.Level{}, veil(good, nil), "warn ok", "all rights of their user"},
	} {
		got := cageChecks(c.level, c.veil)
		states, text := "", ""
		for _, x := range got {
			states += x.State + " "
			text += x.Found + " " + x.Remedy + "\n"
			if (x.State == "ok") != (x.Remedy == "") {
				t.Errorf("%s: %+v", c.what, x)
			}
		}
		if strings.TrimSpace(states) != c.states || !strings.Contains(text, c.says) {
			t.Errorf("%s: %q %s", c.what, states, text)
		}
	}
}
