package agents

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"parley/guard/spawn"
)

// Readiness is whether a program can be used here.
type Readiness string

// The states.
const (
	Missing    Readiness = "not installed"
	NeedsSetup Readiness = "needs setup"
	Ready      Readiness = "ready"
)

// State is a program's, with what to do.
type State struct {
	Kind  spawn.Kind `json:"kind"`
	Label string     `json:"label"`
	State Readiness  `json:"state"`
	Path  string     `json:"path,omitempty"`
	Fix   string     `json:"fix,omitempty"`
}

// Machine is what a state is read from.
type Machine struct {
	Home     string
	LookPath func(string) (string, error) // nil: exec.LookPath
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
}

// setup says how a program shows that it is signed in: a variable, or a file of its own.
var setup = map[spawn.Kind]struct {
	env     []string
	files   []string
	fix     string
	install string
}{
	spawn.Claude: {[]string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
		[]string{".claude/.credentials.json"}, "run claude and sign in", "npm i -g @anthropic-ai/claude-code"},
	spawn.Codex:       {[]string{"OPENAI_API_KEY", "CODEX_API_KEY"}, []string{".codex/auth.json"}, "run codex login", "npm i -g @openai/codex"},
	spawn.Antigravity: {[]string{"GEMINI_API_KEY", "ANTIGRAVITY_API_KEY"}, []string{".gemini/antigravity-cli/settings.json", ".gemini/oauth_creds.json"}, "run agy and sign in", "see the maker's page for agy"},
	spawn.Vibe:        {[]string{"MISTRAL_API_KEY"}, []string{".vibe/.env"}, "run vibe --setup", "uv tool install mistral-vibe"},
	spawn.Grok:        {[]string{"XAI_API_KEY"}, []string{".grok/auth.json"}, "run grok login", "see the maker's page for grok"},
	spawn.Cursor:      {[]string{"CURSOR_API_KEY"}, []string{".config/cursor/auth.json", ".cursor/auth.json"}, "run cursor-agent login", "see the maker's page for cursor-agent"},
	spawn.Qwen:        {[]string{"QWEN_API_KEY", "OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_API_KEY"}, nil, "run qwen and use /auth, or set OPENAI_API_KEY and OPENAI_BASE_URL", "npm i -g @qwen-code/qwen-code"},
	spawn.OpenCode:    {[]string{"OPENCODE_API_KEY"}, nil, "run opencode auth login", "npm i -g opencode-ai"},
}

// Look tells a program's state. A file that cannot be read counts as a sign-in: the program itself will say otherwise.
func Look(kind spawn.Kind, m Machine) State {
	s := State{Kind: kind, Label: kind.Label(), State: Missing}
	if m.LookPath == nil {
		m.LookPath = exec.LookPath
	}
	how, ok := setup[kind]
	if !ok {
		return s
	}
	s.Fix = how.install
	for _, name := range kind.Programs() {
		if path, err := m.LookPath(name); err == nil {
			s.Path = path
			break
		}
	}
	if s.Path == "" {
		return s
	}
	s.State, s.Fix = NeedsSetup, how.fix
	for _, name := range how.env {
		if v := m.Getenv(name); v != "" && v != "0" {
			s.State, s.Fix = Ready, ""
			return s
		}
	}
	there := func(path string, want func([]byte) bool) bool {
		b, err := m.ReadFile(filepath.Join(m.Home, filepath.FromSlash(path)))
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist)
		}
		return want == nil || want(b)
	}
	ready := false
	for _, f := range how.files {
		ready = ready || there(f, nil)
	}
	switch kind {
	case spawn.Qwen:
		ready = ready || there(".qwen/settings.json", func(b []byte) bool {
			var c struct {
				Providers json.RawMessage `json:"modelProviders"`
				Security  struct{ Auth json.RawMessage }
				Env       json.RawMessage
			}
			return json.Unmarshal(b, &c) == nil && len(c.Providers)+len(c.Security.Auth)+len(c.Env) > 0
		})
	case spawn.OpenCode:
		ready = ready || there(".local/share/opencode/auth.json", func(b []byte) bool {
			var c map[string]json.RawMessage
			return json.Unmarshal(b, &c) == nil && len(c) > 0
		}) || there(".config/opencode/opencode.json", func(b []byte) bool { return strings.Contains(string(b), `"provider"`) })
	}
	if ready {
		s.State, s.Fix = Ready, ""
	}
	return s
}

// NeedsRule tells that a run of Antigravity would be refused every tool of ours: its headless mode wants a rule of the
// user's own. A task needs none.
func NeedsRule(m Machine) bool {
	b, err := m.ReadFile(filepath.Join(m.Home, ".gemini", "antigravity-cli", "settings.json"))
	if err != nil {
		return true
	}
	var c struct {
		Permissions struct{ Allow []string }
	}
	if json.Unmarshal(b, &c) != nil {
		return true
	}
	for _, rule := range c.Permissions.Allow {
		if rule == "mcp("+ServerName+"/*)" {
			return false
		}
	}
	return true
}
