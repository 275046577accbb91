package seat

import (
	"strings"
	"testing"
)

func TestANameAlwaysSaysThatItIsAMachines(t *testing.T) {
	long := strings.Repeat("N", 78)
	for in, want := range map[string]string{
		"":                         "Parley (AI notetaker)",
		" \u202e\x00 ":             "Parley (AI notetaker)",
		"Ada":                      "Ada (AI notetaker)",
		"Ada's bot":                "Ada's bot",
		"Said":                     "Said (AI notetaker)", // "ai" within a word says nothing
		long:                       long[:45] + " (AI notetaker)",
		long[:57] + " bot":         long[:45] + " (AI notetaker)", // the platform would cut the word
		long[:56] + " bot":         long[:56] + " bot",
		"\u202eevil\x1b[31m\n <b>": "evil[31m <b> (AI notetaker)",
		"मनु\u200dष्य":             "मनु\u200dष्य (AI notetaker)",
	} {
		if got := displayName(in, "Parley (AI notetaker)"); got != want || len([]rune(got)) > maxName {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
