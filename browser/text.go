package browser

import "strings"

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
