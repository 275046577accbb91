// Package rivals measures browser tools side by side: ours and others' servers on the same page, interleaved.
package rivals

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pinned are the versions that are measured against. Install them with npm into one folder:
//
//	npm install --no-package-lock --ignore-scripts @playwright/mcp@0.0.83 chrome-devtools-mcp@1.11.0
var Pinned = map[string]string{"@playwright/mcp": "0.0.83", "chrome-devtools-mcp": "1.11.0"}

// Options say what to measure.
type Options struct {
	// Self is our own program; Env its environment.
	Self string
	Env  []string
	// Modules is the folder that the rivals were installed in; those that are not there are left out.
	Modules string
	// Chromium is the browser that all of them use.
	Chromium string
	// Nodes is the size of the page, Rounds how often everything is done.
	Nodes, Rounds int
	Say           func(format string, args ...any)
}

// Samples are one subject's measurements, in milliseconds unless the name says otherwise.
type Samples struct {
	Name                                          string
	Navigate, Snapshot, Reply, Effect, CharsClick []float64
	SnapshotChars, SnapshotTokens                 []float64
	DiffTokens                                    []float64
	Tools, ToolTokens, FalseDone                  int
	MemoryMiB                                     float64 // of the server beside the browser
}

// subject is a server that is measured.
type subject struct {
	name    string
	command []string
	env     []string

	open               func(ctx context.Context, s *subject) error
	navigate, snapshot func(s *subject, url string) (tool string, args map[string]any)
	// click finds the button of a row in a snapshot and says how to click it.
	click func(s *subject, snapshot string, row int) (tool string, args map[string]any, err error)

	cs      *mcp.ClientSession
	process *exec.Cmd
	session string
	page    *int
	samples Samples
}

// Run measures.
func Run(ctx context.Context, o Options) ([]Samples, error) {
	sink, err := newSink(o.Nodes)
	if err != nil {
		return nil, err
	}
	defer sink.close()
	// Some write what they saw into the folder that they run in.
	dir, err := os.MkdirTemp("", "parley-rivals-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if o.Modules, err = filepath.Abs(o.Modules); err != nil {
		return nil, err
	}
	subjects := []*subject{ours(o)}
	for _, s := range others(o) {
		subjects = append(subjects, s)
	}
	for _, s := range subjects {
		defer s.close()
		if err := s.start(ctx, dir); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		o.Say("%s: %d tools, %d tokens (estimated)", s.name, s.samples.Tools, s.samples.ToolTokens)
	}
	for round := range o.Rounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)]
			if err := s.round(ctx, sink, round); err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", s.name, round, err)
			}
		}
		o.Say("round %d of %d", round+1, o.Rounds)
	}
	var out []Samples
	for _, s := range subjects {
		s.samples.MemoryMiB = memory(s.process.Process.Pid)
		out = append(out, s.samples)
	}
	return out, nil
}

func (s *subject) start(ctx context.Context, dir string) error {
	s.process = exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	s.process.Env, s.process.Dir = s.env, dir
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	var err error
	if s.cs, err = client.Connect(ctx, &mcp.CommandTransport{Command: s.process}, nil); err != nil {
		return err
	}
	tools, err := s.cs.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, t := range tools.Tools {
		if s.session == "" && strings.HasPrefix(t.Name, "meeting_") || strings.HasPrefix(t.Name, "recording_") || strings.HasPrefix(t.Name, "speech_") {
			continue
		}
		s.samples.Tools++
		s.samples.ToolTokens += Tokens(t.Name) + Tokens(t.Description) + Tokens(asJSON(t.InputSchema))
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
}

// call makes a tool call and gives its text.
func (s *subject) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
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

// round opens the page, reads it, and clicks three buttons spread over it.
func (s *subject) round(ctx context.Context, sink *sink, round int) error {
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
	m.SnapshotChars = append(m.SnapshotChars, float64(len(snap)))
	m.SnapshotTokens = append(m.SnapshotTokens, float64(Tokens(snap)))
	rows := sink.rows
	for _, row := range []int{round % rows, rows / 2, rows - 1} {
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
	return nil
}

// sink serves the page and hears of its clicks.
type sink struct {
	rows   int
	server *http.Server
	base   string

	mu     sync.Mutex
	waits  map[int]chan time.Time
	served sync.WaitGroup
}

// newSink makes a page of about so many elements: rows with a link, a button and a field.
func newSink(nodes int) (*sink, error) {
	s := &sink{rows: max(nodes/5, 3), waits: map[int]chan time.Time{}}
	var b strings.Builder
	b.WriteString("<!doctype html><title>bench</title><h1>Rows</h1><div>")
	for i := range s.rows {
		fmt.Fprintf(&b, `<div><a href="#%d">Item %d</a> <button onclick="hit(%d)">Buy %d</button> <input aria-label="Amount %d"></div>`, i, i, i, i, i)
	}
	b.WriteString(`</div><script>const hit = (i) => { navigator.sendBeacon('/hit?' + i) }</script>`)
	page := b.String()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.base = "http://" + l.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hit" {
			row, _ := strconv.Atoi(r.URL.RawQuery) // only our own page asks
			s.mu.Lock()
			if c := s.waits[row]; c != nil {
				c <- time.Now()
				delete(s.waits, row)
			}
			s.mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})}
	s.served.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

func (s *sink) url(name string, round int) string {
	return fmt.Sprintf("%s/?%d-%s", s.base, round, strings.ReplaceAll(name, " ", "-"))
}

// expect gives the moment when the page sees the next click on a row's button.
func (s *sink) expect(row int) <-chan time.Time {
	c := make(chan time.Time, 1)
	s.mu.Lock()
	s.waits[row] = c
	s.mu.Unlock()
	return c
}

func (s *sink) close() {
	_ = s.server.Close()
	s.served.Wait()
}

func ours(o Options) *subject {
	return &subject{
		name: "parley", command: []string{o.Self, "stdio"}, env: o.Env, samples: Samples{Name: "parley"},
		open: func(ctx context.Context, s *subject) error {
			said, err := s.call(ctx, "session_open", map[string]any{"headful": false})
			if err != nil {
				return err
			}
			id := regexp.MustCompile(`session (s[0-9a-f]+)`).FindStringSubmatch(said)
			if id == nil {
				return errors.New("no session in the answer")
			}
			s.session = id[1]
			return nil
		},
		navigate: func(_ *subject, url string) (string, map[string]any) { return "navigate", map[string]any{"url": url} },
		snapshot: func(*subject, string) (string, map[string]any) { return "read", map[string]any{"max_chars": 400000} },
		click:    byRef("click", "ref", `(e[0-9]+) button Buy %d\b`),
	}
}

// byRef clicks what a pattern finds in the snapshot.
func byRef(tool, arg, pattern string) func(*subject, string, int) (string, map[string]any, error) {
	return func(_ *subject, snap string, row int) (string, map[string]any, error) {
		m := regexp.MustCompile(fmt.Sprintf(pattern, row)).FindStringSubmatch(snap)
		if m == nil {
			return "", nil, fmt.Errorf("the snapshot does not show button %d", row)
		}
		args := map[string]any{arg: m[1]}
		if tool == "browser_click" {
			args["element"] = "button"
		}
		return tool, args, nil
	}
}

// others are the rivals that are installed.
func others(o Options) []*subject {
	env := append(os.Environ(), "PWMCP_DISABLE_TELEMETRY=1")
	at := func(path string) string { return filepath.Join(o.Modules, "node_modules", path) }
	var out []*subject
	if program := at("@playwright/mcp/cli.js"); exists(program) {
		out = append(out, &subject{
			name: "playwright-mcp", samples: Samples{Name: "playwright-mcp"}, env: env,
			command: []string{"node", program, "--headless", "--isolated", "--no-sandbox", "--browser", "chromium", "--executable-path", o.Chromium},
			navigate: func(_ *subject, url string) (string, map[string]any) {
				return "browser_navigate", map[string]any{"url": url}
			},
			snapshot: func(*subject, string) (string, map[string]any) { return "browser_snapshot", map[string]any{} },
			click:    byRef("browser_click", "target", `button "Buy %d" \[ref=([a-z0-9]+)\]`),
		})
	}
	if program := at("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"); exists(program) {
		out = append(out, &subject{
			name: "chrome-devtools-mcp", samples: Samples{Name: "chrome-devtools-mcp"}, env: env,
			open:    openPage,
			command: []string{"node", program, "--headless", "--isolated", "--usageStatistics=false", "--executablePath", o.Chromium, "--chromeArg=--no-sandbox"},
			navigate: func(_ *subject, url string) (string, map[string]any) {
				return "navigate_page", map[string]any{"type": "url", "url": url}
			},
			snapshot: func(*subject, string) (string, map[string]any) { return "take_snapshot", map[string]any{} },
			click:    byRef("click", "uid", `uid=([0-9_]+) button "Buy %d"`),
		})
	}
	return out
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// piece is what a tokenizer of today's models never joins over: a word with its space, three digits, a run of signs.
var piece = regexp.MustCompile(`[ ]?\pL+|\pN{1,3}|[ ]?[^\s\pL\pN]+[\r\n]*|\s*[\r\n]+|\s+`)

// Tokens estimates how many tokens a text is: its pieces, long ones counted more than once. On snapshots of the page of
// this suite it is within a few per cent of what the tokenizer o200k_base gives.
func Tokens(s string) int {
	n := 0
	for _, p := range piece.FindAllString(s, -1) {
		letters := strings.IndexFunc(p, unicode.IsLetter) >= 0
		switch {
		case letters && len(p) > 10:
			n += 1 + len(p)/10
		case !letters && len(strings.TrimSpace(p)) > 4:
			n += (len(p) + 3) / 4
		default:
			n++
		}
	}
	return n
}

// openPage finds the number of the page that is there from the start, which every tool wants to know.
func openPage(ctx context.Context, s *subject) error {
	said, err := s.call(ctx, "list_pages", map[string]any{})
	if err != nil {
		return err
	}
	id := regexp.MustCompile(`(?m)^([0-9]+):`).FindStringSubmatch(said)
	if id == nil {
		return fmt.Errorf("no page in %q", said)
	}
	n, err := strconv.Atoi(id[1])
	s.page = &n
	return err
}
