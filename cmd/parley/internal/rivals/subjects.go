package rivals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func ours(o Options) *subject {
	return &subject{
		name: "parley", command: []string{o.Self, "stdio"}, env: o.Env,
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
		changes:  func(args map[string]any) { args["changes"] = true },
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

// others are the rivals that are installed, and the names of those that are not. home is a folder for what they leave.
func others(o Options, home string) (out []*subject, missing []string) {
	env := append(os.Environ(), "PWMCP_DISABLE_TELEMETRY=1")
	at := func(path string) string { return filepath.Join(o.Modules, "node_modules", path) }
	if program := at("@playwright/mcp/cli.js"); !exists(program) {
		missing = append(missing, "playwright-mcp")
	} else {
		out = append(out, &subject{
			name: "playwright-mcp", env: env,
			command: []string{"node", program, "--headless", "--isolated", "--no-sandbox", "--browser", "chromium", "--executable-path", o.Chromium},
			navigate: func(_ *subject, url string) (string, map[string]any) {
				return "browser_navigate", map[string]any{"url": url}
			},
			snapshot: func(*subject, string) (string, map[string]any) { return "browser_snapshot", map[string]any{} },
			click:    byRef("browser_click", "target", `button "Buy %d" \[ref=([a-z0-9]+)\]`),
		})
	}
	if program := at("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"); !exists(program) {
		missing = append(missing, "chrome-devtools-mcp")
	} else {
		out = append(out, &subject{
			name: "chrome-devtools-mcp", env: env,
			open:    openPage,
			command: []string{"node", program, "--headless", "--isolated", "--usageStatistics=false", "--executablePath", o.Chromium, "--chromeArg=--no-sandbox"},
			navigate: func(_ *subject, url string) (string, map[string]any) {
				return "navigate_page", map[string]any{"type": "url", "url": url}
			},
			snapshot: func(*subject, string) (string, map[string]any) { return "take_snapshot", map[string]any{} },
			click:    byRef("click", "uid", `uid=([0-9_]+) button "Buy %d"`),
		})
	}
	if program := at("agent-browser/bin/agent-browser-" + runtime.GOOS + "-" + strings.ReplaceAll(runtime.GOARCH, "amd64", "x64")); !exists(program) {
		missing = append(missing, "agent-browser")
	} else {
		out = append(out, agentBrowser(program, o.Chromium, home))
	}
	return out, missing
}

// agentBrowser is a command line with a daemon behind it: its list of tools is a page of instructions.
func agentBrowser(program, chromium, home string) *subject {
	env := append(os.Environ(), "HOME="+home, "XDG_RUNTIME_DIR="+home, "AGENT_BROWSER_EXECUTABLE_PATH="+chromium, "AGENT_BROWSER_ARGS=--no-sandbox", "AGENT_BROWSER_SESSION=bench")
	run := func(ctx context.Context, verb string, args map[string]any) (string, error) {
		line := []string{verb}
		if arg, ok := args["arg"].(string); ok {
			line = append(line, arg)
		}
		if arg, ok := args["more"].(string); ok {
			line = append(line, arg)
		}
		c := exec.CommandContext(ctx, program, line...)
		c.Env, c.Dir, c.WaitDelay = env, home, time.Second // its daemon keeps what it inherits open
		said, err := c.CombinedOutput()
		if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			return "", fmt.Errorf("%s: %w: %s", verb, err, said)
		}
		return string(said), nil
	}
	daemon := func() int {
		for _, dir := range []string{filepath.Join(home, ".agent-browser"), filepath.Join(home, "agent-browser")} {
			if raw, err := os.ReadFile(filepath.Join(dir, "bench.pid")); err == nil {
				if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
					return pid
				}
			}
		}
		return 0
	}
	return &subject{
		name: "agent-browser", run: run, pid: daemon,
		manual: func(ctx context.Context) (string, error) {
			return run(ctx, "skills", map[string]any{"arg": "get", "more": "core"})
		},
		stop: func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			_, _ = run(ctx, "close", nil) // it may be gone
		},
		open: func(ctx context.Context, s *subject) error {
			_, err := run(ctx, "open", map[string]any{"arg": "about:blank"})
			return err
		},
		navigate: func(_ *subject, url string) (string, map[string]any) { return "open", map[string]any{"arg": url} },
		snapshot: func(*subject, string) (string, map[string]any) { return "snapshot", map[string]any{} },
		click: func(_ *subject, snap string, row int) (string, map[string]any, error) {
			m := regexp.MustCompile(fmt.Sprintf(`button "Buy %d" \[ref=(e[0-9]+)`, row)).FindStringSubmatch(snap)
			if m == nil {
				return "", nil, fmt.Errorf("the snapshot does not show button %d", row)
			}
			return "click", map[string]any{"arg": "@" + m[1]}, nil
		},
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

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
