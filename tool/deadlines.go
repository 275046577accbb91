package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseDeadlines reads "meeting_speak=90,meeting_join=45": seconds by tool. NewService checks the names.
func ParseDeadlines(s string) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == '\n' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, text, ok := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if !ok || name == "" || err != nil || n < 1 || n > int(MaxDeadline.Seconds()) {
			return nil, fmt.Errorf("%q: want tool=seconds, from 1 to %.0f", entry, MaxDeadline.Seconds())
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		out[name] = time.Duration(n) * time.Second
	}
	return out, nil
}
