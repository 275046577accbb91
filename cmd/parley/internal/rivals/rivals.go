// Package rivals measures browser tools side by side: ours and others' on the same page, interleaved.
package rivals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pinned are the versions that are measured against, and the tokenizer that counts.
var Pinned = []string{"@playwright/mcp@0.0.83", "chrome-devtools-mcp@1.11.0", "agent-browser@0.27.0", "gpt-tokenizer@4.0.0"}

// Install is how to get them. No lock file, so that no registry's name gets into one, and no scripts.
func Install(dir string) string {
	return "npm install --no-package-lock --ignore-scripts --prefix " + dir + " " + strings.Join(Pinned, " ")
}

// Options say what to measure.
type Options struct {
	// Self is our own program; Env its environment.
	Self string
	Env  []string
	// Modules is the folder that the rivals were installed in; those that are not there are left out, and named.
	Modules string
	// Chromium is the browser that all of them use.
	Chromium string
	// Raw starts a browser that is driven without a server, the floor of what is possible; nil leaves that part out.
	Raw func(ctx context.Context) (Floor, error)
	// Nodes is the size of the page, Large that of the page that only we and the floor read, Rounds how often everything
	// is done.
	Nodes, Large, Rounds int
	Say                  func(format string, args ...any)
}

// Samples are one subject's measurements, in milliseconds unless the name says otherwise.
type Samples struct {
	Name                                          string
	Navigate, Snapshot, Reply, Effect, CharsClick []float64
	SnapshotTokens, DiffTokens                    []float64
	Tools, FalseDone                              int
	// ListTokens are what a model gets of the list of tools: names, descriptions, schemas of arguments. WholeTokens have
	// titles and hints too, OutputTokens are the schemas of results, InstructionTokens what the server says of itself.
	ListTokens, WholeTokens, OutputTokens, InstructionTokens int
	MemoryMiB                                                []float64 // of the server beside the browser, after each round
}

// Result is what was measured.
type Result struct {
	Ours   Samples
	Rivals []Samples
	// Missing are the pinned ones that are not installed.
	Missing []string
	// LargeOurs is how long a read of the large page took, LargeFloor how long the same over raw CDP, both in ms.
	LargeOurs, LargeFloor []float64
	// Counted tells how tokens were counted.
	Counted string
}

// subject is something that is measured.
type subject struct {
	name    string
	command []string
	env     []string

	open               func(ctx context.Context, s *subject) error
	navigate, snapshot func(s *subject, url string) (tool string, args map[string]any)
	// click finds the button of a row in a snapshot and says how to click it.
	click func(s *subject, snapshot string, row int) (tool string, args map[string]any, err error)
	// changes makes a click tell what changed; nil where there is no such thing.
	changes func(args map[string]any)
	// manual is what a model is given in place of a list of tools; nil: there is a list.
	manual func(ctx context.Context) (string, error)
	// run makes a call where there is no server of the protocol; stop ends what it left running.
	run  func(ctx context.Context, tool string, args map[string]any) (string, error)
	stop func()
	// pid is the process whose memory counts.
	pid func() int

	cs      *mcp.ClientSession
	process *exec.Cmd
	session string
	page    *int
	samples Samples
}

// Run measures.
func Run(ctx context.Context, o Options) (Result, error) {
	var r Result
	var err error
	if o.Modules, err = filepath.Abs(o.Modules); err != nil {
		return r, err
	}
	sink, err := newSink(o.Nodes)
	if err != nil {
		return r, err
	}
	defer sink.close()
	// Some write what they saw into the folder that they run in.
	dir, err := os.MkdirTemp("", "parley-rivals-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	count := newCounter(ctx, o.Modules)
	defer count.close()
	us := ours(o)
	var subjects []*subject
	subjects, r.Missing = others(o, dir)
	subjects = append([]*subject{us}, subjects...)
	for _, s := range subjects {
		s.samples.Name = s.name
		defer s.close()
		if err := s.start(ctx, dir, count); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		o.Say("%s: %d tools, %d tokens", s.name, s.samples.Tools, s.samples.ListTokens)
	}
	for round := range o.Rounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			if err := s.round(ctx, sink, round, count); err != nil {
				return r, fmt.Errorf("%s, round %d: %w", s.name, round, err)
			}
		}
		o.Say("round %d of %d", round+1, o.Rounds)
	}
	if o.Raw != nil && o.Large > 0 {
		if err := r.large(ctx, o, us); err != nil {
			return r, fmt.Errorf("the large page: %w", err)
		}
	}
	r.Ours, r.Counted = us.samples, count.how
	for _, s := range subjects[1:] {
		r.Rivals = append(r.Rivals, s.samples)
	}
	return r, nil
}

func (s *subject) start(ctx context.Context, dir string, count *counter) error {
	m := &s.samples
	if s.command != nil {
		s.process = exec.CommandContext(ctx, s.command[0], s.command[1:]...)
		s.process.Env, s.process.Dir = s.env, dir
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		var err error
		if s.cs, err = client.Connect(ctx, &mcp.CommandTransport{Command: s.process}, nil); err != nil {
			return err
		}
		s.pid = func() int { return s.process.Process.Pid }
		m.InstructionTokens = count.tokens(s.cs.InitializeResult().Instructions)
		tools, err := s.cs.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		m.Tools = len(tools.Tools)
		for _, t := range tools.Tools {
			m.ListTokens += count.tokens(t.Name) + count.tokens(t.Description) + count.tokens(asJSON(t.InputSchema))
			if t.OutputSchema != nil {
				m.OutputTokens += count.tokens(asJSON(t.OutputSchema))
			}
			whole := *t
			whole.OutputSchema = nil
			m.WholeTokens += count.tokens(asJSON(whole))
		}
	}
	if s.manual != nil {
		text, err := s.manual(ctx)
		if err != nil {
			return err
		}
		m.ListTokens = count.tokens(text)
	}
	if s.open != nil {
		return s.open(ctx, s)
	}
	return nil
}

func (s *subject) close() {
	if s.cs != nil {
		_ = s.cs.Close() // it ends the process
	}
	if s.stop != nil {
		s.stop()
	}
}

// callLimit bounds one call.
const callLimit = 2 * time.Minute

// call makes a tool call and gives its text.
func (s *subject) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if s.run != nil {
		return s.run(ctx, tool, args)
	}
	if s.session != "" {
		args["session"] = s.session
	}
	if s.page != nil {
		args["pageId"] = *s.page
	}
	r, err := s.cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	if r.IsError {
		return "", errors.New(b.String())
	}
	return b.String(), nil
}

func ms(since time.Time) float64 { return float64(time.Since(since).Microseconds()) / 1000 }

// round opens the page, reads it, and clicks buttons spread over it.
func (s *subject) round(ctx context.Context, sink *sink, round int, count *counter) error {
	m := &s.samples
	began := time.Now()
	tool, args := s.navigate(s, sink.url(s.name, round))
	if _, err := s.call(ctx, tool, args); err != nil {
		return err
	}
	m.Navigate = append(m.Navigate, ms(began))
	began = time.Now()
	tool, args = s.snapshot(s, "")
	snap, err := s.call(ctx, tool, args)
	if err != nil {
		return err
	}
	m.Snapshot = append(m.Snapshot, ms(began))
	m.SnapshotTokens = append(m.SnapshotTokens, float64(count.tokens(snap)))
	rows := sink.rows
	clicked := []int{}
	for _, row := range []int{round % rows, rows / 2, rows - 1} {
		if slices.Contains(clicked, row) {
			continue
		}
		clicked = append(clicked, row)
		tool, args, err := s.click(s, snap, row)
		if err != nil {
			return err
		}
		hit := sink.expect(row)
		began = time.Now()
		said, err := s.call(ctx, tool, args)
		if err != nil {
			return fmt.Errorf("click on row %d: %w", row, err)
		}
		m.Reply = append(m.Reply, ms(began))
		m.CharsClick = append(m.CharsClick, float64(len(said)))
		select {
		case at := <-hit:
			m.Effect = append(m.Effect, float64(at.Sub(began).Microseconds())/1000)
		case <-time.After(2 * time.Second):
			m.FalseDone++ // it said that it was done, and the page saw nothing
		}
	}
	if s.changes != nil {
		tool, args, err := s.click(s, snap, rows/3)
		if err != nil {
			return err
		}
		s.changes(args)
		said, err := s.call(ctx, tool, args)
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("Bought %d", rows/3); !strings.Contains(said, want) {
			return fmt.Errorf("what changed does not say %q: %s", want, said)
		}
		m.DiffTokens = append(m.DiffTokens, float64(count.tokens(said)))
	}
	if s.pid != nil {
		m.MemoryMiB = append(m.MemoryMiB, memory(s.pid()))
	}
	return nil
}
