//go:build linux

package proc

import (
	"slices"
	"strings"
	"testing"
)

func TestOnlyUnchangedReadOnlyMappingsOfTheProgramAreGivenBack(t *testing.T) {
	got, err := cleanMaps(strings.NewReader(`00400000-00800000 r-xp 00000000 08:01 42                 /opt/a b/parley
Rss:                4096 kB
Anonymous:             0 kB
00800000-00900000 r--p 00400000 08:01 42                 /opt/a b/parley
Anonymous:             4 kB
00900000-00a00000 rw-p 00500000 08:01 42                 /opt/a b/parley
Anonymous:             0 kB
00a00000-00b00000 r--s 00500000 08:01 42                 /opt/a b/parley
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 08:01 7          /lib/libc.so.6
Anonymous:             0 kB
7f0000200000-7f0000300000 r--p 00000000 00:00 0
Anonymous:             0 kB
VmFlags: rd mr mw me sd
`), "/opt/a b/parley")
	if err != nil || !slices.Equal(got, []span{{0x400000, 0x800000}}) {
		t.Errorf("%x %v", got, err)
	}
}

func TestAProcessIsSettledWhenItHasGrown(t *testing.T) {
	var s Settler
	if did, err := s.Look(); err != nil || !did {
		t.Fatal("the first look settles", did, err)
	}
	s.floor = 1 << 40
	if did, err := s.Look(); err != nil || did {
		t.Error("it has not grown", did, err)
	}
	s.floor = 1
	if did, err := s.Look(); err != nil || !did || s.floor < 1<<20 {
		t.Error("it has grown", did, err, s.floor)
	}
}

func TestAProgramRunsOnAfterSettling(t *testing.T) {
	for range 3 {
		if err := Settle(); err != nil {
			t.Fatal(err)
		}
		if _, err := InSession(1); err != nil {
			t.Fatal(err)
		}
	}
}
