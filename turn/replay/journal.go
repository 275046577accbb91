// Package replay writes down what a turn engine was told and what it did, without a word of it, and plays it
// again: under the same policy to see that nothing changed, under another to see what would have been different.
package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/transcript"
	"parley/turn"
)

// Version is the version of the journal's entries.
const Version = 2

// The bounds of a journal that is read.
const (
	maxLine  = 1 << 20
	maxLines = 2_000_000
	maxWords = 5000 // of one text
)

// A journal has a JSON object per line. The member "turn" of a line is what the engine was told and did in one step;
// the meeting's own journal has it beside what else happened, and lines without it are nobody's here.
type step struct {
	Turn []line `json:"turn"`
}

// line is one entry of a journal: what was told ("in") or done ("out"). It holds kinds, times and numbers; words
// are reduced to their class, texts to their lengths, people and texts to numbers.
type line struct {
	T float64 `json:"t"`
	K string  `json:"k"`

	// begin
	V        int               `json:"v,omitempty"`
	Policy   string            `json:"policy,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`

	// partial, final
	Seq    int64   `json:"seq,omitempty"`
	Rev    int     `json:"rev,omitempty"`
	From   float64 `json:"from,omitempty"`
	To     float64 `json:"to,omitempty"`
	Lang   string  `json:"lang,omitempty"`
	Shape  string  `json:"shape,omitempty"` // of words: a agrees, n negates, o ours, w other; then the end mark
	Before []int   `json:"before,omitempty"`
	Kept   int     `json:"kept,omitempty"` // so many words stand as in the version before …
	// … unless Before says for each word which one of that version it is, -1 for none.
	Who  *who  `json:"who,omitempty"`
	All  []who `json:"all,omitempty"`
	Echo bool  `json:"echo,omitempty"`

	// publish, chunk, complete, speak, draft
	ID     int     `json:"id,omitempty"`
	Turn   int64   `json:"turn,omitempty"`
	Stream int     `json:"stream,omitempty"`
	Index  int     `json:"index,omitempty"`
	Text   []piece `json:"text,omitempty"`
	Flag   bool    `json:"flag,omitempty"` // speculative, cancelled, interrupt, ready, on
	File   bool    `json:"file,omitempty"`

	// started, progress, prepared, ended, failed
	Utterance int     `json:"u,omitempty"`
	Piece     int     `json:"p,omitempty"`
	Length    float64 `json:"len,omitempty"`
	Played    float64 `json:"played,omitempty"`
	Prob      float64 `json:"prob,omitempty"`

	// out
	Out string `json:"out,omitempty"`
}

// who is a person as a number for the id and one for the name, 0 for none.
type who struct {
	I int `json:"i,omitempty"`
	N int `json:"n,omitempty"`
}

// piece is a sentence as a number (equal sentences have equal numbers), its length in words and characters, and
// after how many words it would be cut at a comma.
type piece struct {
	N     int `json:"n"`
	Words int `json:"w"`
	Chars int `json:"c"`
	Comma int `json:"m,omitempty"`
}

// Recorder steps an engine and writes its journal. One goroutine uses it. An error of the writer ends the
// journal, not the engine; Err tells it.
type Recorder struct {
	e     *turn.Engine
	w     io.Writer // nil: whoever steps it takes the entries
	err   error
	lines []json.RawMessage

	people  numbers
	texts   numbers
	streams numbers
	ids     numbers
	heard   map[transcript.Seq][]string // words of segments, latest version
	order   []transcript.Seq
	rest    map[string]string // of streams: what is no whole sentence yet
	chars   map[string]int
}

// heardMax is how many segments are remembered in order to compare versions.
const heardMax = 64

// takenMax bounds the entries that nobody takes.
const takenMax = 1000

// NewRecorder writes the journal's beginning. policy is the engine's. Without a writer the entries are for Take.
func NewRecorder(e *turn.Engine, policy turn.Policy, w io.Writer) *Recorder {
	r := &Recorder{e: e, w: w, heard: map[transcript.Seq][]string{}, rest: map[string]string{}, chars: map[string]int{}}
	r.write(line{K: "begin", V: Version, Policy: policy.Name(), Settings: settingsOf(e.Settings())})
	r.flush()
	return r
}

// Take gives the entries since the last call, for the member "turn" of a line of a larger journal.
func (r *Recorder) Take() []json.RawMessage {
	taken := r.lines
	r.lines = nil
	return taken
}

// flush writes the entries of a step as one line.
func (r *Recorder) flush() {
	if r.w == nil || len(r.lines) == 0 || r.err != nil {
		return
	}
	raw, err := json.Marshal(struct {
		Turn []json.RawMessage `json:"turn"`
	}{r.Take()})
	if err == nil {
		_, err = r.w.Write(append(raw, '\n'))
	}
	r.err = err
}

// Err is the first error of the writer.
func (r *Recorder) Err() error { return r.err }

func (r *Recorder) write(l line) {
	raw, err := json.Marshal(l)
	if err != nil || len(r.lines) >= takenMax {
		return // a line holds numbers and short words: it can be written
	}
	r.lines = append(r.lines, raw)
}

// Step is the engine's Step, written down.
func (r *Recorder) Step(now time.Duration, ev turn.Event) []turn.Effect {
	if l, ok := r.in(now, ev); ok {
		l.T = now.Seconds()
		r.write(l)
	}
	effects := r.e.Step(now, ev)
	for _, eff := range effects {
		r.write(line{T: now.Seconds(), K: "out", Out: Summary(eff)})
	}
	r.flush()
	return effects
}

// Deadline is the engine's.
func (r *Recorder) Deadline() (time.Duration, bool) { return r.e.Deadline() }

// settingsOf are the settings without the texts among them.
func settingsOf(s turn.Settings) map[string]string {
	out := map[string]string{}
	for _, a := range turn.All {
		v, _ := s.Get(a.Name)
		if a.Name == "ack_phrases" {
			v = fmt.Sprint(len(turn.Phrases(s)))
		}
		out[a.Name] = v
	}
	return out
}

// numbers gives each different string a number from 1 on.
type numbers map[string]int

// numbersMax bounds a journal's memory of strings; those beyond share one number.
const numbersMax = 100_000

func (n *numbers) of(s string) int {
	if s == "" {
		return 0
	}
	if *n == nil {
		*n = numbers{}
	}
	if i, ok := (*n)[s]; ok {
		return i
	}
	if len(*n) >= numbersMax {
		return numbersMax + 1
	}
	(*n)[s] = len(*n) + 1
	return len(*n)
}

// Errors of reading.
var (
	ErrFormat  = errors.New("replay: this is no journal")
	ErrVersion = errors.New("replay: the journal is of another version")
)

// read gives the lines of a journal, the beginning first. A torn last line is left out.
func read(src io.Reader) ([]line, error) {
	br := bufio.NewScanner(src)
	br.Buffer(make([]byte, 0, 64<<10), maxLine)
	var out []line
	for br.Scan() {
		var s step
		if err := json.Unmarshal(br.Bytes(), &s); err != nil {
			if len(out) == 0 {
				return nil, ErrFormat
			}
			break
		}
		if len(out) == 0 && len(s.Turn) > 0 {
			if first := s.Turn[0]; first.K != "begin" {
				return nil, ErrFormat
			} else if first.V != Version {
				return nil, fmt.Errorf("%w (%d, want %d)", ErrVersion, first.V, Version)
			}
		}
		if len(out)+len(s.Turn) > maxLines {
			return nil, fmt.Errorf("replay: more than %d entries", maxLines)
		}
		out = append(out, s.Turn...)
	}
	if err := br.Err(); err != nil {
		return nil, fmt.Errorf("replay: read: %w", err)
	}
	if len(out) == 0 {
		return nil, ErrFormat
	}
	return out, nil
}
