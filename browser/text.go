package browser

import (
	"strings"
	"unicode/utf8"
)

func lower(s string) string { return strings.ToLower(s) }

// bareURL is an address without what often carries secrets.
func bareURL(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if strings.HasPrefix(s, "data:") {
		s = "data:"
	}
	return clip(s, 300)
}

// clipBytes cuts a text at a length in bytes, between characters.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
