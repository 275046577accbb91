package agents

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/guard/spawn"
)

var update = flag.Bool("update", false, "rewrite testdata/plans.txt")

func want(kind spawn.Kind, mode spawn.Mode, home string) Want {
	return Want{Kind: kind, Mode: mode, Home: home, Dir: filepath.Join(home, "w"), Prompt: "PROMPT", System: "SYSTEM {file:~/.ssh/id_rsa} {env:HOME}", Run: "run-1",
		Server: Server{Command: "parley", Args: []string{"stdio"}, Env: map[string]string{"PARLEY_DATA": "/d"}}, Foreign: []string{"theirs"}}
}

func TestEveryPlanPassesAndStandsInTheGoldenFile(t *testing.T) {
	var b strings.Builder
	home := "/home/of/agents"
	for _, kind := range spawn.Agents() {
		for _, mode := range []spawn.Mode{spawn.Run, spawn.Task} {
			for _, more := range []struct {
				name            string
				reads, research bool
			}{{"", false, false}, {" reads", true, false}, {" research", false, true}} {
				if more.reads && mode == spawn.Run || more.research && mode == spawn.Task {
					continue
				}
				w := want(kind, mode, home)
				w.Reads, w.Research, w.Model = more.reads, more.research, "model-1"
				m, err := Plan(w)
				if err != nil {
					t.Fatal(err)
				}
				if problems := spawn.Vet(m.Plan); problems != nil {
					t.Errorf("%s %s%s: %v", kind, mode, more.name, problems)
				}
				if why := refused(kind.Programs()[0], m.Args); why != "" {
					t.Errorf("%s %s%s: the program would say: %s", kind, mode, more.name, why)
				}
				fmt.Fprintf(&b, "== %s %s%s\n", kind, mode, more.name)
				for _, a := range m.Args {
					fmt.Fprintf(&b, "arg %q\n", a)
				}
				for _, k := range sorted(m.Env) {
					fmt.Fprintf(&b, "env %s=%s\n", k, m.Env[k])
				}
				for _, k := range sorted(m.Files) {
					fmt.Fprintf(&b, "file %s %q\n", k, m.Files[k])
				}
				for _, p := range m.Prepare {
					fmt.Fprintf(&b, "first %v\n", p)
				}
				if m.Stdin != "" {
					fmt.Fprintf(&b, "stdin %q\n", m.Stdin)
				}
			}
		}
	}
	const file = "testdata/plans.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil || string(old) != b.String() {
		t.Errorf("the plans changed (%v); go test ./guard/agents -run Golden -update, and look at the difference", err)
	}
}

func sorted(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// TestLessonsOfEachProgram holds what public reports taught about single programs.
func TestLessonsOfEachProgram(t *testing.T) {
	plan := func(kind spawn.Kind, mode spawn.Mode) Made {
		m, err := Plan(want(kind, mode, "/h"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	vet := func(m Made) bool { return spawn.Vet(m.Plan) == nil }
	check := func(lesson string, ok bool) {
		if !ok {
			t.Errorf("not held: %s", lesson)
		}
	}
	// a, b: an empty list may mean everything; a denial outranks every allowance.
	m := plan(spawn.Grok, spawn.Run)
	check("grok's list is not empty", slices.Contains(m.Args, "todo_write"))
	m.Args[slices.Index(m.Args, "todo_write")] = ""
	check("an empty list does not start", !vet(m))
	check("grok denies by name whatever is allowed elsewhere", strings.Contains(strings.Join(plan(spawn.Grok, spawn.Run).Args, " "), "--deny Bash --deny Edit --deny Write --deny Read"))
	// c: other makers' and the user's own servers are switched off or denied by name.
	check("grok leaves other programs' servers out", plan(spawn.Grok, spawn.Task).Env["GROK_CLAUDE_MCPS_ENABLED"] == "false")
	check("cursor denies the user's own servers by name", strings.Contains(plan(spawn.Cursor, spawn.Run).Files[".cursor/cli.json"], `"Mcp(theirs:*)"`))
	check("codex leaves the user's configuration out", slices.Contains(plan(spawn.Codex, spawn.Run).Args, "--ignore-user-config"))
	// d: a sandbox for writes does not stop reads.
	check("grok's reads are denied beside its sandbox", slices.Contains(plan(spawn.Grok, spawn.Run).Args, "Read"))
	// e: read-only would cut the network of our own server.
	check("grok's run has the workspace sandbox", strings.Contains(strings.Join(plan(spawn.Grok, spawn.Run).Args, " "), "--sandbox workspace"))
	// f: trust is for one process.
	check("grok's trust is in the environment", plan(spawn.Grok, spawn.Run).Env["GROK_FOLDER_TRUST"] == "0" && !slices.Contains(plan(spawn.Grok, spawn.Run).Args, "--trust"))
	// g: nothing is remembered.
	check("grok remembers nothing", plan(spawn.Grok, spawn.Run).Env["GROK_MEMORY"] == "0")
	check("claude keeps no session of a task", slices.Contains(plan(spawn.Claude, spawn.Task).Args, "--no-session-persistence"))
	check("codex keeps no session of a task", slices.Contains(plan(spawn.Codex, spawn.Task).Args, "--ephemeral"))
	// h: a name nobody picks.
	check("opencode's agent has a name of its own", strings.Contains(plan(spawn.OpenCode, spawn.Run).Env["OPENCODE_CONFIG_CONTENT"], `"parley-contained"`))
	// i: placeholders are filled in everywhere but in a file.
	m = plan(spawn.OpenCode, spawn.Run)
	check("what others wrote is no part of opencode's configuration", !strings.Contains(m.Env["OPENCODE_CONFIG_CONTENT"], "{file:") && strings.Contains(m.Files["instructions.md"], "{file:"))
	m.Env["OPENCODE_CONFIG_CONTENT"] = strings.Replace(m.Env["OPENCODE_CONFIG_CONTENT"], "disabled", "disabled{env:HOME}", 1)
	check("a placeholder in the configuration does not start", !vet(m))
	// j: a path may be matched from the root.
	w := want(spawn.OpenCode, spawn.Task, "/h")
	w.Reads, w.Dir = true, "/h/opencode/task-1"
	m, _ = Plan(w)
	config := m.Env["OPENCODE_CONFIG_CONTENT"]
	check("the scratch folder may be read as seen from above", strings.Contains(config, `"h/opencode/task-1/tmp/*":"allow"`) && strings.Contains(config, `"task-1/tmp/*":"allow"`))
	check("and not as seen from inside", !strings.Contains(config, `"tmp/*"`))
	// The mark of a run goes to the server alone.
	for _, kind := range spawn.Agents() {
		m := plan(kind, spawn.Run)
		if _, there := m.Env[RunVariable]; there {
			t.Errorf("%s itself gets the mark of the run", kind)
		}
		all := strings.Join(m.Args, " ") + strings.Join(values(m.Env), " ") + strings.Join(values(m.Files), " ")
		if !strings.Contains(all, RunVariable) {
			t.Errorf("%s's server does not get the mark of the run", kind)
		}
		if m := plan(kind, spawn.Task); strings.Contains(strings.Join(m.Args, " ")+strings.Join(values(m.Env), " ")+strings.Join(values(m.Files), " "), RunVariable) {
			t.Errorf("a task of %s is marked as a run", kind)
		}
	}
	// Searching the web is for research alone.
	for _, kind := range spawn.Agents() {
		w := want(kind, spawn.Run, "/h")
		off, _ := Plan(w)
		w.Research = true
		if kind == spawn.Antigravity || kind == spawn.Cursor {
			continue // they have no switch for it
		}
		if on, _ := Plan(w); slices.Equal(off.Args, on.Args) && off.Env["OPENCODE_CONFIG_CONTENT"] == on.Env["OPENCODE_CONFIG_CONTENT"] {
			t.Errorf("%s: research makes no difference", kind)
		}
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func runner(t *testing.T, kind spawn.Kind, does string, more ...string) (*Runner, func() seen) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seen")
	environ := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/h", "FAKE_DOES=" + does, "FAKE_SEEN=" + file, "AWS_PROFILE=canary", "MY_TOKEN=canary", "CLAUDECODE=1", "PARLEY_AGENT_RUN=r0"}, more...)
	return &Runner{Kind: kind, Path: fake(t, kind), Home: t.TempDir(), Environ: environ, Limit: time.Minute}, func() seen {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s seen
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestATaskWithEachProgram(t *testing.T) {
	for _, kind := range spawn.Agents() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r, look := runner(t, kind, "good")
			a, err := r.Do(t.Context(), Task{Kind: Question, Prompt: "Who sends the figures?", System: "Answer from the text."})
			if err != nil || a != "Ada will send the figures." {
				t.Fatalf("%q %v", a, err)
			}
			s := look()
			if all := strings.Join(s.Environ, "\n"); strings.Contains(all, "canary") || strings.Contains(all, "CLAUDECODE") || strings.Contains(all, RunVariable) {
				t.Errorf("its environment: %s", all)
			}
			if !spawn.Within(s.Dir, r.Home) {
				t.Errorf("it ran in %s", s.Dir)
			}
			if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Error("its folder is still there")
			}
		})
	}
}

func TestAProgramThatShowsMoreIsStopped(t *testing.T) {
	for _, kind := range spawn.Agents() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r, _ := runner(t, kind, "unsafe")
			var unsafe *UnsafeError
			if a, err := r.Do(t.Context(), Task{Kind: Question, Prompt: "q"}); !errors.As(err, &unsafe) || a != "" || !strings.HasPrefix(err.Error(), "AGENT_UNSAFE") {
				t.Fatalf("%q %v", a, err)
			}
			for _, e := range r.Environ {
				if f, ok := strings.CutPrefix(e, "FAKE_SEEN="); ok {
					if _, err := os.Stat(f + ".went-on"); err == nil {
						t.Error("it went on")
					}
				}
			}
		})
	}
}

func TestWhatAProgramSaysWentWrong(t *testing.T) {
	for _, kind := range spawn.Agents() {
		r, _ := runner(t, kind, "fail")
		var failed *FailedError
		if _, err := r.Do(t.Context(), Task{Kind: Question, Prompt: "q"}); !errors.As(err, &failed) || !strings.Contains(err.Error(), "no such model") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestATaskEndsAtItsLimitAndWithItsCaller(t *testing.T) {
	r, _ := runner(t, spawn.Claude, "hang")
	r.Limit = 300 * time.Millisecond
	if _, err := r.Do(t.Context(), Task{Kind: Question, Prompt: "q"}); err == nil || !strings.Contains(err.Error(), "no answer within") {
		t.Error(err)
	}
	r.Limit = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err := r.Do(ctx, Task{Kind: Question, Prompt: "q"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.Home, "claude", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFileIsScreenedHandedOverAndDeleted(t *testing.T) {
	for _, does := range []string{"good", "fail", "unsafe"} {
		r, look := runner(t, spawn.Claude, does)
		_, err := r.Do(t.Context(), Task{Kind: File, Prompt: "Report.", File: []byte("the figures")})
		if (err == nil) != (does == "good") {
			t.Errorf("%s: %v", does, err)
		}
		s := look()
		if s.Files["tmp/file.txt"] != "the figures" || !slices.Contains(s.Args, "Read") || slices.Contains(s.Args[slices.Index(s.Args, "--disallowedTools"):], "Read") {
			t.Errorf("%s: %+v", does, s)
		}
		if left, _ := filepath.Glob(filepath.Join(r.Home, "claude", "*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", does, left)
		}
	}
	for name, b := range map[string]string{"zip": "PK\x03\x04xx", "program": "\x7fELF\x02\x01", "empty": "", "binary": "a\x00b", "latin-1": "caf\xe9 ol\xe9", "large": strings.Repeat("x", 5<<20+1)} {
		r, _ := runner(t, spawn.Claude, "good")
		_, err := r.Do(t.Context(), Task{Kind: File, Prompt: "Report.", File: []byte(b)})
		if name == "empty" {
			if _, _, err := Screen(nil); err == nil {
				t.Error("an empty file passes")
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "the file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for b, want := range map[string]string{"%PDF-1.7": "pdf", "\x89PNG\r\n\x1a\n": "png", "\xff\xd8\xff\xe0": "jpg", "GIF89a": "gif", "RIFF\x00\x00\x00\x00WEBP": "webp", "text é": "txt"} {
		if _, ending, err := Screen([]byte(b)); err != nil || ending != want {
			t.Errorf("%q: %s %v", b, ending, err)
		}
	}
	if _, _, err := Screen([]byte(strings.Repeat("x", 64<<10-1) + "é" + strings.Repeat("y", 10))); err != nil {
		t.Errorf("a letter on the edge of the sample: %v", err)
	}
}

func TestSetup(t *testing.T) {
	there := func(string) (string, error) { return "/bin/x", nil }
	gone := func(string) (string, error) { return "", fs.ErrNotExist }
	for _, kind := range spawn.Agents() {
		env, files := map[string]string{}, map[string]string{}
		m := Machine{Home: "/h", LookPath: gone, Getenv: func(k string) string { return env[k] }, ReadFile: func(p string) ([]byte, error) {
			if s, ok := files[p]; ok {
				return []byte(s), nil
			}
			return nil, fs.ErrNotExist
		}}
		if s := Look(kind, m); s.State != Missing || s.Fix == "" {
			t.Errorf("%s: %+v", kind, s)
		}
		m.LookPath = there
		env["SOMEBODY_ELSES_KEY"] = "x"
		if kind == spawn.Qwen {
			env["ANTHROPIC_API_KEY"] = "x" // sealed away, so no sign-in
		}
		if s := Look(kind, m); s.State != NeedsSetup || s.Fix == "" {
			t.Errorf("%s: %+v", kind, s)
		}
		env[setup[kind].env[0]] = "x"
		if s := Look(kind, m); s.State != Ready || s.Fix != "" {
			t.Errorf("%s: %+v", kind, s)
		}
		clear(env)
		for _, f := range setup[kind].files {
			files = map[string]string{"/h/" + f: "{}"}
			if s := Look(kind, m); s.State != Ready {
				t.Errorf("%s with %s: %+v", kind, f, s)
			}
		}
		switch kind {
		case spawn.Qwen:
			files = map[string]string{"/h/.qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}}}`}
		case spawn.OpenCode:
			files = map[string]string{"/h/.local/share/opencode/auth.json": `{"x":{}}`}
		default:
			continue
		}
		if s := Look(kind, m); s.State != Ready {
			t.Errorf("%s: %+v", kind, s)
		}
		for f := range files {
			files[f] = "{}"
		}
		if s := Look(kind, m); s.State != NeedsSetup {
			t.Errorf("%s with an empty file: %+v", kind, s)
		}
	}
	rule := Machine{Home: "/h", ReadFile: func(string) ([]byte, error) { return []byte(`{"permissions":{"allow":["mcp(parley/*)"]}}`), nil }}
	if NeedsRule(rule) {
		t.Error("the rule is there")
	}
	rule.ReadFile = func(string) ([]byte, error) { return []byte(`{"permissions":{"allow":["mcp(other/*)"]}}`), nil }
	if !NeedsRule(rule) {
		t.Error("the rule is not there")
	}
}

func FuzzReader(f *testing.F) {
	for _, program := range answers {
		for _, lines := range program {
			for _, l := range lines {
				f.Add(l)
			}
		}
	}
	f.Fuzz(func(t *testing.T, l string) {
		for _, kind := range spawn.Agents() {
			r := newReader(Want{Kind: kind})
			_ = r.take([]byte(l))
			r.answer()
		}
	})
}
