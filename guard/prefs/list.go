package prefs

import "strings"

// splitList splits at commas, semicolons and line ends, and leaves out what is empty.
func splitList(s string) []string {
	var out []string
	for _, e := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// cut reads "tenant=table".
func cut(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), ok
}
