package spawn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// good is a plan of each agent that passes, made by hand: the builders have tests of their own.
func good(t testing.TB, kind Kind, mode Mode) Plan {
	t.Helper()
	home := t.TempDir()
	p := Plan{Kind: kind, Mode: mode, Home: home, Dir: filepath.Join(home, "w"), Env: map[string]string{}, Files: map[string]string{}}
	def := programs[kind]
	want := def.Run
	if mode == Task {
		want = def.Task
	}
	p.Args = append(p.Args, want.Required...)
	for _, pair := range want.Pairs {
		p.Args = append(p.Args, pair[0], pair[1])
	}
	if l := want.Allow; l != nil {
		p.Args = slices.DeleteFunc(p.Args, func(a string) bool { return a == l.Flag })
		p.Args = append(p.Args, l.Flag, l.Only[0])
	}
	if l := want.Deny; l != nil {
		p.Args = append(append(p.Args, l.Flag), l.Tools...)
	}
	for k, v := range want.Env {
		p.Env[k] = v
	}
	for _, k := range want.EnvSet {
		p.Env[k] = "/x"
	}
	for k, parts := range want.EnvContains {
		p.Env[k] = "{" + strings.Join(parts, ",") + "}"
	}
	for _, f := range want.Files {
		p.Files[f] = strings.Join(want.FileContains[f], ",") + want.FileIs[f]
	}
	for _, f := range want.WithValue {
		p.Args = append(p.Args, f+"=x")
	}
	return p
}

func modes(k Kind) []Mode {
	if programs[k].Task == nil {
		return []Mode{Run}
	}
	return []Mode{Run, Task}
}

func TestEveryKindHasAPlanThatPasses(t *testing.T) {
	if n := len(Agents()); n != 8 {
		t.Errorf("%d agents", n)
	}
	for _, k := range Kinds() {
		for _, m := range modes(k) {
			if problems := Vet(good(t, k, m)); problems != nil {
				t.Errorf("%s %s: %v", k, m, problems)
			}
		}
		if class, note := k.Containment(); note == "" || !slices.Contains([]Class{Allowlist, Sandbox, Host}, class) {
			t.Errorf("%s does not say what keeps it", k)
		}
		if programs[k].agent && (len(k.Programs()) == 0 || len(programs[k].Keeps) == 0 || len(k.Residual()) == 0) {
			t.Errorf("%s says too little", k)
		}
	}
	if Vet(Plan{Kind: "nothing", Mode: Run}) == nil || Vet(Plan{Kind: Claude, Mode: "talk"}) == nil || Vet(Plan{Kind: FFmpeg, Mode: Task}) == nil {
		t.Error("an unknown kind or mode passes")
	}
}

func TestAMissingArgumentIsNamed(t *testing.T) {
	for _, k := range Kinds() {
		for _, m := range modes(k) {
			full := good(t, k, m)
			want := programs[k].Run
			if m == Task {
				want = programs[k].Task
			}
			drop := func(arg string) []string {
				p := full
				p.Args = slices.DeleteFunc(slices.Clone(full.Args), func(a string) bool { return a == arg || strings.HasPrefix(a, arg+"=") })
				return Vet(p)
			}
			for _, arg := range want.Required {
				if problems := drop(arg); !slices.ContainsFunc(problems, func(s string) bool { return strings.Contains(s, arg) }) {
					t.Errorf("%s %s without %s: %v", k, m, arg, problems)
				}
			}
			for _, pair := range want.Pairs {
				if problems := drop(pair[0]); problems == nil {
					t.Errorf("%s %s without %s passes", k, m, pair[0])
				}
			}
			for _, flag := range want.WithValue {
				if drop(flag) == nil {
					t.Errorf("%s without %s passes", k, flag)
				}
			}
		}
	}
}

func TestALaterRepeatSaysOtherwise(t *testing.T) {
	for _, k := range Agents() {
		for _, m := range modes(k) {
			want := programs[k].Run
			if m == Task {
				want = programs[k].Task
			}
			for _, pair := range want.Pairs {
				for _, repeat := range [][]string{{pair[0], "other"}, {pair[0] + "=other"}} {
					p := good(t, k, m)
					p.Args = append(p.Args, repeat...)
					if Vet(p) == nil {
						t.Errorf("%s %s: %v at the end passes", k, m, repeat)
					}
				}
				p := good(t, k, m) // the other spelling is as good
				p.Args = slices.DeleteFunc(p.Args, func(a string) bool { return a == pair[0] || a == pair[1] })
				p.Args = append(p.Args, pair[0]+"="+pair[1])
				if problems := Vet(p); problems != nil {
					t.Errorf("%s %s: %s=%s: %v", k, m, pair[0], pair[1], problems)
				}
			}
		}
	}
}

func TestEveryDeniedToolIsNamed(t *testing.T) {
	for _, k := range Agents() {
		for _, m := range modes(k) {
			want := programs[k].Run
			if m == Task {
				want = programs[k].Task
			}
			if want.Deny == nil {
				continue
			}
			for _, tool := range want.Deny.Tools {
				p := good(t, k, m)
				p.Args = slices.DeleteFunc(p.Args, func(a string) bool { return a == tool })
				if problems := Vet(p); !slices.ContainsFunc(problems, func(s string) bool { return strings.Contains(s, tool) }) {
					t.Errorf("%s %s without a denial of %s: %v", k, m, tool, problems)
				}
			}
		}
	}
}

func TestAListOfToolsIsThereAndNamesNothingMore(t *testing.T) {
	for _, k := range Agents() {
		for _, m := range modes(k) {
			want := programs[k].Run
			if m == Task {
				want = programs[k].Task
			}
			if want.Allow == nil {
				continue
			}
			for name, tail := range map[string][]string{"missing": nil, "empty": {want.Allow.Flag, ""}, "nothing": {want.Allow.Flag}, "more": {want.Allow.Flag, want.Allow.Only[0] + ",shell"},
				"again": {want.Allow.Flag, want.Allow.Only[0], want.Allow.Flag, "shell"}, "joined": {want.Allow.Flag + "=shell"}} {
				p := good(t, k, m)
				i := slices.Index(p.Args, want.Allow.Flag)
				p.Args = append(slices.Delete(slices.Clone(p.Args), i, i+2), tail...)
				if Vet(p) == nil {
					t.Errorf("%s %s: a list that is %s passes", k, m, name)
				}
			}
		}
	}
}

func TestWhatNoRunMayHave(t *testing.T) {
	for _, tool := range []string{"Bash", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "Task"} {
		if !slices.Contains(rules.Never, tool) {
			t.Errorf("%s is not on the list", tool)
		}
		for _, k := range Agents() {
			for _, m := range modes(k) {
				for _, flag := range rules.AllowFlags {
					for _, form := range [][]string{{flag, tool}, {flag + "=" + tool}, {flag, "x," + tool}, {flag, tool + "(rm *)"}} {
						p := good(t, k, m)
						p.Args = append(p.Args, form...)
						if Vet(p) == nil {
							t.Errorf("%s %s with %v passes", k, m, form)
						}
					}
				}
			}
		}
	}
}

func TestTheEnvironmentThatAProgramNeedsSet(t *testing.T) {
	for _, k := range Agents() {
		for _, m := range modes(k) {
			full := good(t, k, m)
			for name := range full.Env {
				p := good(t, k, m)
				delete(p.Env, name)
				if Vet(p) == nil {
					t.Errorf("%s %s without %s passes", k, m, name)
				}
				p.Env[name] = "true"
				if programs[k].Run.EnvSet == nil && Vet(p) == nil {
					t.Errorf("%s %s with another %s passes", k, m, name)
				}
			}
		}
	}
}

func TestTheFilesOfTheWorkspace(t *testing.T) {
	for _, k := range Agents() {
		for _, m := range modes(k) {
			for path := range good(t, k, m).Files {
				p := good(t, k, m)
				delete(p.Files, path)
				if problems := Vet(p); !slices.ContainsFunc(problems, func(s string) bool { return strings.Contains(s, path) }) {
					t.Errorf("%s %s without %s: %v", k, m, path, problems)
				}
			}
			p := good(t, k, m)
			p.Files["../out"] = "x"
			if Vet(p) == nil {
				t.Errorf("%s %s writes outside its folder", k, m)
			}
		}
	}
	p := good(t, Cursor, Run)
	p.Files[".cursor/cli.json"] = strings.Replace(p.Files[".cursor/cli.json"], `"Shell(*)"`, "", 1)
	if Vet(p) == nil {
		t.Error("a file that lost its denial passes")
	}
}

func TestForbiddenFlagsForEveryProgram(t *testing.T) {
	for _, k := range Kinds() {
		for _, m := range modes(k) {
			for _, bad := range [][]string{
				{"--dangerously-skip-permissions"}, {"--dangerously-bypass-approvals-and-sandbox"}, {"--yolo"}, {"--YOLO"}, {"--always-approve"}, {"--full-auto"}, {"--no-sandbox"},
				{"--allow-all"}, {"--allow-all-tools"}, {"--sandbox", "danger-full-access"}, {"--sandbox=workspace-write"}, {"--sandbox", "workspace-write"}, {"--sandbox", "off"}, {"--sandbox=off"},
				{"-c", `sandbox_mode="workspace-write"`}, {"-c", "sandbox_mode=off"}, {"-c", `approval_policy="on-failure"`},
				{"--permission-mode=bypassPermissions"}, {"--permission-mode", "bypassPermissions"}, {"--permission-mode", "acceptEdits"},
			} {
				p := good(t, k, m)
				p.Args = append(p.Args, bad...)
				if Vet(p) == nil {
					t.Errorf("%s %s with %v passes", k, m, bad)
				}
			}
		}
	}
	for kind, list := range map[Kind][]string{
		Chromium: {"--disable-web-security", "--remote-debugging-address=0.0.0.0", "--remote-debugging-port=9222", "--remote-allow-origins=*", "--disable-site-isolation-trials",
			"--ignore-certificate-errors", "--proxy-bypass-list=localhost", "--proxy-bypass-list=<-loopback>;x.test", "--host-resolver-rules=MAP x 127.0.0.1", "--single-process",
			"--load-extension=/tmp/x", "--ssl-key-log-file=/tmp/k", "--disable-features=IsolateOrigins", "--proxy-server=http://127.0.0.1:1", "--webrtc-ip-handling-policy=default"},
		FFmpeg:     {"http://h.test/x", "HTTPS://h.test", "tcp://h.test:1", "concat:a|b", "-protocol_whitelist", "subfile:x", "amovie=/etc/passwd", "-report"},
		PulseAudio: {"--system", "--system=yes", "--load=module-native-protocol-tcp", "--load=module-rtp-send"},
		Xvfb:       {"-listen", "-ac"}, Espeak: {"-f/etc/passwd", "-w/tmp/x", "--compile=en"},
		Codex: {"features.shell_tool=true", "--enable", "--profile=x"}, Cursor: {"--approve-mcps", "--auto-review"}, Qwen: {"--bare", "--insecure", "--approval-mode=yolo"},
		OpenCode: {"--auto", "--attach=http://x", "--dir=/", "--share"}, Claude: {"-y", "-f", "--force", "--auto-approve"},
	} {
		for _, bad := range list {
			p := good(t, kind, Run)
			p.Args = append(p.Args, bad)
			if Vet(p) == nil {
				t.Errorf("%s with %s passes", kind, bad)
			}
		}
	}
	p := good(t, Chromium, Run)
	p.Args, p.Waive = append(p.Args, "--no-sandbox"), []string{"--no-sandbox"}
	if problems := Vet(p); problems != nil {
		t.Errorf("the operator's own switch is refused: %v", problems)
	}
	p = good(t, Chromium, Run)
	p.Args = append(p.Args, "--proxy-server=http://127.0.0.1:1", "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--webrtc-ip-handling-policy=disable_non_proxied_udp")
	if problems := Vet(p); problems != nil {
		t.Errorf("the proxy's own flags are refused: %v", problems)
	}
}

func TestATaskReachesNoToolOfOurs(t *testing.T) {
	for kind, change := range map[Kind]func(*Plan){
		Claude: func(p *Plan) {
			p.Args[slices.Index(p.Args, `{"mcpServers":{}}`)] = `{"mcpServers":{"parley":{}}}`
		},
		Codex: func(p *Plan) {
			p.Args = slices.DeleteFunc(p.Args, func(a string) bool { return a == "mcp_servers={}" })
		},
		Antigravity: func(p *Plan) { p.Files[".agents/mcp_config.json"] = `{"mcpServers":{"parley":{}}}` },
		Vibe:        func(p *Plan) { p.Files[".vibe/config.toml"] = "[[mcp_servers]]\nname = \"parley\"" },
		Grok:        func(p *Plan) { p.Args = slices.DeleteFunc(p.Args, func(a string) bool { return a == "MCPTool" }) },
		Cursor:      func(p *Plan) { p.Files[".cursor/cli.json"] = `"Shell(*)","Write(**)"` },
		Qwen: func(p *Plan) {
			p.Args[slices.Index(p.Args, `{"mcpServers":{}}`)] = `{"mcpServers":{"parley":{}}}`
		},
		OpenCode: func(p *Plan) {
			p.Env["OPENCODE_CONFIG_CONTENT"] = strings.Replace(p.Env["OPENCODE_CONFIG_CONTENT"], `"mcp":{}`, `"mcp":{"parley":{}}`, 1)
		},
	} {
		p := good(t, kind, Task)
		change(&p)
		if Vet(p) == nil {
			t.Errorf("a task of %s reaches our tools", kind)
		}
	}
	for _, k := range Agents() {
		if l := programs[k].Task.Deny; l != nil && slices.Contains(l.Tools, "Read") {
			t.Errorf("a task of %s cannot read the file it is handed", k)
		}
		p := good(t, k, Task)
		p.Prepare = [][]string{{"mcp", "enable", "parley"}}
		if Vet(p) == nil {
			t.Errorf("a task of %s sets our tools up", k)
		}
	}
	p := good(t, Cursor, Run)
	p.Prepare = [][]string{{"mcp", "enable", "parley"}}
	if problems := Vet(p); problems != nil {
		t.Error(problems)
	}
	p.Prepare = [][]string{{"mcp", "enable", "other"}}
	if Vet(p) == nil {
		t.Error("another step passes")
	}
}

func TestTheFolderLiesInOurs(t *testing.T) {
	home := t.TempDir()
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		home: true, filepath.Join(home, "a"): true, filepath.Join(home, "a", "..", "b"): true, home + "-evil": false, filepath.Join(home, "..", "x"): false, home + "/../" + filepath.Base(home) + "-evil": false,
		outside: false, filepath.Join(home, "link"): false, filepath.Join(home, "link", "deep"): false, "relative": false, "": false, "/": false,
	} {
		if got := Within(dir, home); got != want {
			t.Errorf("%s: %v", dir, got)
		}
		p := good(t, Claude, Run)
		p.Home, p.Dir = home, dir
		if (Vet(p) == nil) != want {
			t.Errorf("a plan in %s", dir)
		}
	}
	for dir, want := range map[string]bool{`C:\State\w`: true, `c:\state\W`: true, `C:/State/w`: true, `C:\State-evil`: false, `C:\State\..\x`: false, `D:\State\w`: false} {
		if got := within(dir, `C:\State`, '\\', true); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

func TestAModelIsNoFlag(t *testing.T) {
	for model, want := range map[string]bool{"sonnet": true, "provider/model-1.5": true, "claude-opus-4-8[effort=high]": true, "--yolo": false, "a b": false, "": false, "x;y": false} {
		p := good(t, Claude, Run)
		p.Args = append(p.Args, "--model", model)
		if (Vet(p) == nil) != want {
			t.Errorf("%q: %v", model, Vet(p))
		}
	}
}

func TestWhatIsSealedAway(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "SESSIONS_DIR=/s", "EDITOR=vi", "SESSION_TOKEN=x", "MY_API_KEY=x", "DB_PASSWORD=x", "AWS_REGION=x", "GITHUB_ACTOR=x", "NPM_CONFIG=x",
		"DATABASE_URL=x", "SSH_AUTH_SOCK=x", "ANTHROPIC_API_KEY=a", "CLAUDE_CONFIG_DIR=a", "OPENAI_API_KEY=o", "OPENAI_BASE_URL=o", "CODEX_HOME=o", "XAI_API_KEY=g", "GROK_HOME=g", "GEMINI_API_KEY=m",
		"GOOGLE_CLOUD_PROJECT=m", "MISTRAL_API_KEY=v", "VIBE_HOME=v", "CURSOR_API_KEY=c", "DASHSCOPE_API_KEY=q", "OPENCODE_API_KEY=p", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "PARLEY_AGENT_RUN=r1", "PARLEY_TOKENS=me:x"}
	common := "PATH HOME SESSIONS_DIR EDITOR"
	for kind, want := range map[Kind]string{
		Claude: "ANTHROPIC_API_KEY CLAUDE_CONFIG_DIR", Codex: "OPENAI_API_KEY OPENAI_BASE_URL CODEX_HOME", Antigravity: "GEMINI_API_KEY GOOGLE_CLOUD_PROJECT", Vibe: "MISTRAL_API_KEY VIBE_HOME",
		Grok: "XAI_API_KEY GROK_HOME", Cursor: "CURSOR_API_KEY", Qwen: "OPENAI_API_KEY OPENAI_BASE_URL DASHSCOPE_API_KEY", OpenCode: "OPENCODE_API_KEY",
	} {
		want := strings.Fields(common + " " + want)
		var got []string
		for _, e := range Env(kind, environ) {
			name, _, _ := strings.Cut(e, "=")
			got = append(got, name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
		if len(Sealed(kind, environ))+len(got) != len(environ) {
			t.Errorf("%s: what is left out is not told", kind)
		}
	}
}

func TestFederatedKeys(t *testing.T) {
	base := []string{"AWS_PROFILE=p", "GOOGLE_APPLICATION_CREDENTIALS=/k", "CLOUDSDK_CONFIG=/c", "GCLOUD_PROJECT=x"}
	for flag, want := range map[string]int{"": 0, "CLAUDE_CODE_USE_BEDROCK=1": 1, "CLAUDE_CODE_USE_BEDROCK=0": 0, "CLAUDE_CODE_USE_BEDROCK=false": 0, "CLAUDE_CODE_USE_VERTEX=true": 3} {
		environ := base
		if flag != "" {
			environ = append(slices.Clone(base), flag)
		}
		n := 0
		for _, e := range Env(Claude, environ) {
			if !strings.HasPrefix(e, "CLAUDE_") {
				n++
			}
		}
		if n != want {
			t.Errorf("%q: %d kept, want %d", flag, n, want)
		}
		if n := len(Env(Codex, environ)); n != 0 {
			t.Errorf("%q: another agent keeps %d", flag, n)
		}
	}
}

func TestAProgramOfOursGetsWhatItNeedsAndNothingElse(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "TZ=UTC", "DISPLAY=:1", "PULSE_SERVER=u", "EDITOR=vi", "PARLEY_DATA=/d", "PARLEY_TOKENS=me:x", "PARLEY_X_TOKEN=x", "LD_PRELOAD=/x.so", "AWS_PROFILE=x"}
	for kind, want := range map[Kind]string{
		FFmpeg: "PATH LANG LC_ALL TZ", Espeak: "PATH LANG LC_ALL TZ", Chromium: "PATH HOME LANG LC_ALL TZ DISPLAY PULSE_SERVER", Xvfb: "PATH HOME LANG LC_ALL TZ",
		PulseAudio: "PATH HOME LANG LC_ALL TZ PULSE_SERVER", Speech: "PATH HOME LANG LC_ALL TZ PARLEY_DATA", Worker: "PATH HOME LANG LC_ALL TZ PARLEY_DATA",
	} {
		var got []string
		for _, e := range Env(kind, environ) {
			name, _, _ := strings.Cut(e, "=")
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", kind, got, want)
		}
	}
	if got := Env(FFmpeg, []string{"PATH=/a", "PATH=/b"}); !slices.Equal(got, []string{"PATH=/b"}) {
		t.Errorf("the last of two counts: %v", got)
	}
}

func FuzzVet(f *testing.F) {
	f.Add("claude", "run", "--allowedTools\x00Bash")
	f.Fuzz(func(t *testing.T, kind, mode, args string) {
		p := Plan{Kind: Kind(kind), Mode: Mode(mode), Args: strings.Split(args, "\x00")}
		if a, b := Vet(p), Vet(p); !slices.Equal(a, b) {
			t.Fatal("not pure")
		}
	})
}
