package seat

import (
	"strings"
	"testing"

	"parley/meeting/wire"
)

// Only what was given up for good is a loss, and each says what is missing.
func TestLosses(t *testing.T) {
	for _, c := range []struct {
		fault wire.Fault
		want  string
	}{
		{wire.Fault{Part: "recorder", Kind: "died", Action: "restarted"}, ""},
		{wire.Fault{Part: "voice", Kind: "utterance-failed", Action: "gave-up"}, ""},
		{wire.Fault{Part: "recorder", Kind: "died", Action: "gave-up"}, "The recording broke off (died)"},
		{wire.Fault{Part: "disk", Kind: "disk-full", Action: "gave-up"}, "Make room"},
		{wire.Fault{Part: "disk", Kind: "delete-failed", Action: "gave-up"}, "could not be removed"},
		{wire.Fault{Part: "speech", Kind: "unfinished", Action: "gave-up"}, "last words may be missing"},
		{wire.Fault{Part: "speech", Kind: "auth", Action: "gave-up"}, "broke off (auth)"},
	} {
		got := strings.Join(losses([]*wire.Fault{&c.fault}), " ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.fault, got, c.want)
		}
	}
}
