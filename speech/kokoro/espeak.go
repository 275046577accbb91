package kokoro

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"parley/guard/spawn"
)

// espeakTime bounds one run of espeak-ng, which takes some ten milliseconds.
const espeakTime = 5 * time.Second

// espeak makes phonemes with espeak-ng. It is a program of its own, under another licence: it is run, never linked.
type espeak struct{ path string }

// findEspeak looks for the program.
func findEspeak() (espeak, error) {
	path, err := exec.LookPath("espeak-ng")
	if err != nil {
		return espeak{}, err
	}
	return espeak{path}, nil
}

var errLines = errors.New("espeak-ng answered with another number of lines")

// phonemes gives the phonemes of each line of words.
func (e espeak) phonemes(ctx context.Context, lines []string, a Accent) ([]string, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	out, err := e.run(ctx, lines, a)
	if errors.Is(err, errLines) && len(lines) > 1 {
		// One of the lines made two or none: ask for each by itself.
		out = nil
		for _, l := range lines {
			one, err := e.run(ctx, []string{l}, a)
			if err != nil && !errors.Is(err, errLines) {
				return nil, err
			}
			out = append(out, strings.Join(one, " "))
		}
		return out, nil
	}
	if errors.Is(err, errLines) {
		return []string{strings.Join(out, " ")}, nil
	}
	return out, err
}

func (e espeak) run(ctx context.Context, lines []string, a Accent) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, espeakTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.path, "-q", "--ipa", "-v", string(a))
	cmd.WaitDelay = time.Second
	var in, errs bytes.Buffer
	for _, l := range lines {
		in.WriteString(spelled(l))
		in.WriteByte('\n')
	}
	var spoken bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &spoken, &errs
	if err := spawn.RunCmd(spawn.Espeak, cmd, spawn.Options{}); err != nil {
		return nil, fmt.Errorf("kokoro: espeak-ng: %w: %s", err, bytes.TrimSpace(errs.Bytes()[:min(errs.Len(), 200)]))
	}
	var out []string
	for _, l := range strings.Split(strings.TrimSuffix(spoken.String(), "\n"), "\n") {
		out = append(out, fromEspeak(l, a))
	}
	if len(out) != len(lines) {
		return out, errLines
	}
	return out, nil
}

// spelled tells espeak-ng that a capital A is the letter, not the article.
func spelled(line string) string {
	words := strings.Split(line, " ")
	for i, w := range words {
		if w == "A" {
			words[i] = "[['eI]]"
		}
	}
	return strings.Join(words, " ")
}
