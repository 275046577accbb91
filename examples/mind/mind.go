// Package mind is what the example agents think with: a language model behind one method, and a script that stands in
// for it.
package mind

import (
	"context"
	_ "embed"
	"fmt"
	"os"
)

// Line is something that was said.
type Line struct {
	Who  string // empty: nobody knows
	Text string
	Ours bool
}

// Mind decides what to say.
type Mind interface {
	// Answer gives what to say after the last line of the talk; empty: nothing, it was not for us. It ends with its
	// context: the speaker went on, or somebody else speaks.
	Answer(ctx context.Context, talk []Line) (string, error)
}

// Drafter is a Mind that can answer before the question is over.
type Drafter interface {
	// Draft gives the answer to what is being said, as far as it was said; empty: not yet.
	Draft(ctx context.Context, talk []Line, soFar Line) (string, error)
}

//go:embed script.txt
var script string

// FromEnv is the language model that LLM_URL names (with LLM_MODEL, and LLM_API_KEY where it wants one), or, without
// LLM_URL, the script: that of the file LLM_SCRIPT names, or a small one of our own.
func FromEnv(getenv func(string) string) (Mind, error) {
	if url := getenv("LLM_URL"); url != "" {
		return &Model{URL: url, Name: getenv("LLM_MODEL"), Key: getenv("LLM_API_KEY")}, nil
	}
	text := script
	if path := getenv("LLM_SCRIPT"); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("LLM_SCRIPT: %w", err)
		}
		text = string(b)
	}
	return ParseScript(text)
}
