package agents

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"strings"

	"parley/guard/fence"
)

//go:embed question.md
var questionFrame string

// MaxTranscript bounds the text that a question is answered from; the end of a longer one is taken, since most
// questions are about what was said last.
const MaxTranscript = 96 << 10

// Answer puts a question about a text to the program. The text stands inside the fence; what comes back was written by
// a model that read it, and is as untrusted as the text itself. Cut tells that only the end of the text was read.
func (r *Runner) Answer(ctx context.Context, question, text string) (answer string, cut bool, err error) {
	if over := len(text) - MaxTranscript; over > 0 {
		text, cut = strings.ToValidUTF8(text[over:], ""), true
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	var b [16]byte
	rand.Read(b[:]) // never fails
	var f fence.Fence
	prompt := "The question: " + f.Clean(question) + "\n\n" + f.Wrap(hex.EncodeToString(b[:]), f.Clean(text))
	answer, err = r.Do(ctx, Task{Kind: Question, Prompt: prompt, System: questionFrame})
	return answer, cut, err
}
