// Package examples has agents that talk in a meeting; its test runs each of them against the real thing.
package examples

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/examples/internal/exampletest"
	"parley/room/guest"
	"parley/testkit/need"
)

// program is a child of the test, whose output is kept.
type program struct {
	cmd *exec.Cmd
	out exampletest.Output
	end chan error
}

// start runs a program; the test ends it politely and waits for it.
func start(t *testing.T, env []string, name string, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(name, args...), end: make(chan error, 1)}
	p.cmd.Env = env
	p.cmd.Stderr = os.Stderr
	r, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(&p.out, r) // it ends with the program
		p.end <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.stop(t) })
	return p
}

// stop asks it to end and gives how it did.
func (p *program) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be over
	select {
	case err := <-p.end:
		if err != nil {
			t.Errorf("%s: %v", p.cmd.Path, err)
		}
		p.end <- nil
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		t.Errorf("%s does not end", p.cmd.Path)
	}
}

// line waits for a line of its output and gives what follows a mark in it.
func (p *program) line(t *testing.T, within time.Duration, mark string) string {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		sc := bufio.NewScanner(strings.NewReader(p.out.String()))
		for sc.Scan() {
			if _, rest, ok := strings.Cut(sc.Text(), mark); ok {
				return rest
			}
		}
		select {
		case <-deadline:
			t.Fatalf("%s did not say %q within %s, but:\n%s", filepath.Base(p.cmd.Path), mark, within, p.out.String())
		case <-tick.C:
		}
	}
}

// TestEachAgentAnswersInARealMeeting: somebody asks aloud, the agent hears it as text and answers aloud.
func TestEachAgentAnswersInARealMeeting(t *testing.T) {
	need.Browser(t)
	need.Sound(t)
	need.Program(t, "espeak-ng", "go")
	models := need.Models(t)
	dir := t.TempDir()
	bin := func(name string) string { return filepath.Join(dir, name) }
	for name, pkg := range map[string]string{"parley": "./cmd/parley", "parley-speech": "./cmd/parley-speech", "mcpl-agent": "./examples/mcpl-agent", "mcp-agent": "./examples/mcp-agent"} {
		cmd := exec.Command("go", "build", "-o", bin(name), pkg)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	question, script := filepath.Join(dir, "question.wav"), filepath.Join(dir, "script.txt")
	if out, err := exec.Command("espeak-ng", "-v", "en-us", "-s", "140", "-w", question, "Hello everybody. Can you hear me now?").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// What is understood of an artificial voice may vary: any question about hearing will do.
	if err := os.WriteFile(script, []byte("hear|here|hello => Yes, I hear you well.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "PARLEY_DATA="+filepath.Join(dir, "data"), "PARLEY_MODELS="+models,
		"PARLEY_CONFIG=/dev/null", "PARLEY_LISTEN=127.0.0.1:0", "PARLEY_LOG_LEVEL=error", "LLM_SCRIPT="+script, "LLM_URL=")
	room := start(t, env, bin("parley"), "room", "--listen", "127.0.0.1:0")
	room.line(t, time.Minute, "/room/")
	var link string
	for l := range strings.Lines(room.out.String()) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "http://") && strings.Contains(l, "/room/") {
			link = l
			break
		}
	}
	service := start(t, env, bin("parley"), "serve")
	address := strings.TrimSpace(service.line(t, time.Minute, " serves MCP at "))
	token, err := os.ReadFile(filepath.Join(dir, "data", "token"))
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "PARLEY_TOKEN="+strings.TrimSpace(string(token)))
	clip, err := guest.Load(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, agent, url string
		args             []string
	}{
		{"mcpl", "mcpl-agent", "ws" + strings.TrimPrefix(address, "http"), nil},
		{"mcp", "mcp-agent", address, nil},
		{"mcpl-stdio", "mcpl-agent", "", []string{"-stdio", bin("parley") + " stdio"}}, // a service of its own on the same data folder
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			var loud atomic.Int64 // samples of somebody else that were no silence
			var mu sync.Mutex
			chat := ""
			g, err := guest.Join(ctx, guest.Options{URL: link + "-" + c.name, Name: "Ada", Log: slog.New(slog.DiscardHandler), OnAudio: func(s guest.Sound) {
				for _, v := range s.PCM {
					if v > 1000 || v < -1000 {
						loud.Add(1)
					}
				}
			}}, func(e guest.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == guest.Chat {
					chat += e.Text
				}
			})
			if err == nil {
				err = g.Admitted(ctx)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = g.Leave() }()
			agent := start(t, append(env, "PARLEY_URL="+c.url), bin(c.agent), append(c.args, link+"-"+c.name)...)
			agent.line(t, 2*time.Minute, "joined as ")
			exampletest.Eventually(t, "the announcement is in the chat", func() bool { mu.Lock(); defer mu.Unlock(); return chat != "" })
			// Nobody may have been listening yet to the first words: they are said again.
			for try := 0; ; try++ {
				if err := g.Play(ctx, clip); err != nil {
					t.Fatal(err)
				}
				if spoke(agent, 30*time.Second) {
					break
				}
				if try == 3 {
					t.Fatalf("it does not answer:\n%s", agent.out.String())
				}
			}
			exampletest.Eventually(t, "the answer is heard in the room", func() bool { return loud.Load() > 4000 })
			t.Logf("%s\n%d loud samples", agent.out.String(), loud.Load())
			agent.stop(t) // it leaves the meeting
		})
	}
}

func spoke(p *program, within time.Duration) bool {
	for until := time.Now().Add(within); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if strings.Contains(p.out.String(), "we: Yes") {
			return true
		}
	}
	return false
}
