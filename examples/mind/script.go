package mind

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Script answers by patterns.
type Script struct{ rules []rule }

type rule struct {
	draft  bool
	when   *regexp.Regexp
	answer string
}

// ParseScript reads lines of "[draft ]pattern => answer".
func ParseScript(text string) (*Script, error) {
	s := &Script{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, answer, ok := strings.Cut(line, "=>")
		if !ok {
			return nil, fmt.Errorf("script, line %d: there is no =>", n)
		}
		pattern, draft := strings.CutPrefix(strings.TrimSpace(pattern), "draft ")
		when, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			return nil, fmt.Errorf("script, line %d: %w", n, err)
		}
		s.rules = append(s.rules, rule{draft, when, strings.TrimSpace(answer)})
	}
	return s, nil
}

// Answer gives the answer of the first pattern that fits the last line.
func (s *Script) Answer(_ context.Context, talk []Line) (string, error) {
	if len(talk) == 0 || talk[len(talk)-1].Ours {
		return "", nil
	}
	return s.find(talk[len(talk)-1].Text, false), nil
}

// Draft does the same with the patterns that may answer early.
func (s *Script) Draft(_ context.Context, _ []Line, soFar Line) (string, error) {
	return s.find(soFar.Text, true), nil
}

func (s *Script) find(text string, draft bool) string {
	for _, r := range s.rules {
		if r.draft == draft && r.when.MatchString(text) {
			return r.answer
		}
	}
	return ""
}
