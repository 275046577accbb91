package seat

import (
	"slices"
	"strings"
	"unicode"
)

// maxName is how many characters of a display name the shortest of the platforms shows. What is longer is cut here,
// not there: a platform would cut the end, which is where a name says that it is a machine's.
const maxName = 60

// machineWords say that a name is a machine's.
var machineWords = []string{"ai", "bot", "notetaker", "assistant", "recorder", "agent", "ki", "ии", "ші", "robot", "notiz-ki", "scribe"}

// machineSuffix is added to a name that does not say so.
const machineSuffix = " (AI notetaker)"

// displayName is the name that we carry: in one line, no longer than maxName, and saying that it is a machine's.
// A name with nothing to see in it gives the other one.
func displayName(name, other string) string {
	if name = oneLine(name); name == "" {
		name = oneLine(other)
	}
	name = clip(name, maxName)
	for _, w := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains(machineWords, w) {
			return name
		}
	}
	return clip(name, maxName-len(machineSuffix)) + machineSuffix
}

// oneLine takes out what is not shown or turns the text around it: control, format and direction characters.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d': // joiners, which some scripts and emoji need
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n]))
	}
	return s
}
