package endpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"parley/control/connection"
	"parley/control/tabs/fake"
	"parley/control/wire"
)

func TestTheFirstRun(t *testing.T) {
	r := newRig(t)
	info, err := os.Stat(filepath.Join(r.dir, connection.Name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	id := r.browser.Open("https://a.example/", "A page")
	type session struct {
		ID, Title  string
		Foreground bool
	}
	list := got[[]session](r, "sessions", nil)
	if len(list) != 1 || list[0] != (session{id, "A page", true}) {
		t.Errorf("%+v", list)
	}
	r.no(wire.CodeDenied, "tabs:create", m{})                    // not offered at first
	r.no(wire.CodeInvalid, "cookies", m{})                       // no such action
	r.no(wire.CodeInvalid, "read", m{"sessionId": "1"})          // no UUID
	r.no(wire.CodeDenied, "read", m{"sessionId": fake.UUID(77)}) // no such tab
}
