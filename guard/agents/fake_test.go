package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/guard/spawn"
)

// flags are those each program is known to take; true: with a value, and "*": with as many as come before the next flag.
// They were written down from the programs' public descriptions; a fake refuses every other as the program would.
var flags = map[string]map[string]string{
	"claude": {"-p": "", "--output-format": "1", "--verbose": "", "--mcp-config": "1", "--strict-mcp-config": "", "--no-session-persistence": "", "--tools": "1", "--allowedTools": "*", "--disallowedTools": "*", "--model": "1"},
	"codex":  {"--json": "", "--skip-git-repo-check": "", "--ignore-user-config": "", "-c": "1", "--ephemeral": "", "--model": "1", "-": ""},
	"agy":    {"-p": "1", "--output-format": "1", "--model": "1"},
	"vibe":   {"--prompt": "1", "--output": "1", "--trust": "", "--agent": "1", "--enabled-tools": "1", "--model": "1"},
	"grok": {"-p": "1", "--output-format": "1", "--no-subagents": "", "--permission-mode": "1", "--rules": "1", "--sandbox": "1", "--tools": "1", "--allow": "1", "--deny": "1",
		"--model": "1"},
	"cursor-agent": {"-p": "", "--output-format": "1", "--trust": "", "--sandbox": "1", "--model": "1"},
	"qwen": {"-p": "1", "--safe-mode": "", "--output-format": "1", "--approval-mode": "1", "--mcp-config": "1", "--allowed-mcp-server-names": "1", "--allowed-tools": "*", "--exclude-tools": "*",
		"--append-system-prompt": "1", "--model": "1"},
	"opencode": {"--format": "1", "--pure": "", "--agent": "1", "--model": "1"},
}

// words are the commands and texts that stand without a flag.
var words = map[string]int{"codex": 1, "cursor-agent": 1, "opencode": 1}

// refused is what is wrong with a command line, as the program would say it.
func refused(program string, args []string) string {
	known := flags[program]
	free := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") {
			free++
			continue
		}
		takes, ok := known[a]
		if !ok {
			return "unknown option " + a
		}
		switch takes {
		case "1":
			i++
			if i >= len(args) {
				return "no value for " + a
			}
		case "*":
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		}
	}
	if free > words[program] {
		return fmt.Sprintf("%d words too many", free-words[program])
	}
	return ""
}

// answers are what each program prints, line by line, by what the fake was told to do. %s is the answer.
var answers = map[string]map[string][]string{
	"claude": {
		"good":   {`{"type":"system","subtype":"init","session_id":"s","tools":[],"mcp_servers":[]}`, `{"type":"assistant","message":{"content":[{"type":"text","text":"thinking"}]}}`, `{"type":"result","subtype":"success","is_error":false,"result":%q}`},
		"unsafe": {`{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"mcp_servers":[]}`},
		"fail":   {`{"type":"system","subtype":"init","tools":[]}`, `{"type":"result","is_error":true,"result":"no such model"}`},
	},
	"codex": {
		"good":   {`{"type":"thread.started","thread_id":"t"}`, `{"type":"turn.started"}`, `{"type":"item.completed","item":{"type":"agent_message","text":%q}}`, `{"type":"turn.completed","usage":{}}`},
		"unsafe": {`{"type":"thread.started","thread_id":"t"}`, `{"type":"item.started","item":{"type":"command_execution","command":"ls"}}`},
		"fail":   {`{"type":"turn.failed","error":{"message":"no such model"}}`},
	},
	"agy": {
		"good":   {`{"type":"init","session_id":"s"}`, `{"type":"message","role":"assistant","content":"thinking"}`, `{"type":"result","status":"success","response":%q}`},
		"unsafe": {`{"type":"init","session_id":"s","tools":["run_command"]}`},
		"fail":   {`{"type":"error","message":"no such model"}`},
	},
	"vibe": {
		"good":   {`{"role":"system","content":"s"}`, `{"role":"user","content":"q"}`, `{"role":"assistant","content":%q}`},
		"unsafe": {`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"bash","arguments":"{}"}}]}`},
		"fail":   {`{"type":"error","message":"no such model"}`},
	},
	"grok": {
		"good":   {`{"type":"tools","data":{"tools":["todo_write","search_tool","use_tool"]}}`, `{"type":"text","data":%q}`, `{"type":"end","data":{"stopReason":"end_turn"}}`},
		"unsafe": {`{"type":"tools","data":{"tools":["todo_write","run_terminal_cmd"]}}`},
		"fail":   {`{"type":"error","data":{"message":"no such model"}}`},
	},
	"cursor-agent": {
		"good":   {`{"type":"system","subtype":"init","session_id":"s"}`, `{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"thinking"}]}}`, `{"type":"result","subtype":"success","is_error":false,"result":%q}`},
		"unsafe": {`{"type":"tool_call","subtype":"completed","tool_call":{"shellToolCall":{"result":{"success":{"stdout":"x"}}}}}`},
		"fail":   {`{"type":"result","subtype":"error","is_error":true,"result":"no such model"}`},
	},
	"qwen": {
		"good":   {`{"type":"system","subtype":"init","session_id":"s","tools":["tool_search"],"mcp_servers":[],"permission_mode":"default"}`, `{"type":"assistant","message":{"content":[{"type":"text","text":"thinking"}]}}`, `{"type":"result","subtype":"success","is_error":false,"result":%q}`},
		"unsafe": {`{"type":"system","subtype":"init","tools":["run_shell_command"],"mcp_servers":[],"permission_mode":"default"}`},
		"fail":   {`{"type":"result","is_error":true,"error":{"message":"no such model"}}`},
	},
	"opencode": {
		"good":   {`{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}`, `{"type":"text","sessionID":"s","part":{"type":"text","text":%q}}`, `{"type":"step_finish","sessionID":"s","part":{"type":"step-finish"}}`},
		"unsafe": {`{"type":"tool_use","sessionID":"s","part":{"type":"tool","tool":"bash","state":{"status":"completed"}}}`},
		"fail":   {`{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"no such model"}}}`},
	},
}

// seen is what a fake found when it started.
type seen struct {
	Args, Environ []string
	Stdin, Dir    string
	Files         map[string]string
}

// TestMain lets the test binary play each of the eight programs.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if answers[name] == nil {
		os.Exit(m.Run())
	}
	if why := refused(name, os.Args[1:]); why != "" {
		fmt.Fprintln(os.Stderr, "error:", why)
		os.Exit(2)
	}
	in, _ := io.ReadAll(os.Stdin)
	dir, _ := os.Getwd()
	s := seen{Args: os.Args[1:], Environ: os.Environ(), Stdin: string(in), Dir: dir, Files: map[string]string{}}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(p)
			rel, _ := filepath.Rel(dir, p)
			s.Files[rel] = string(b)
		}
		return nil
	})
	if f := os.Getenv("FAKE_SEEN"); f != "" {
		b, _ := json.Marshal(s)
		_ = os.WriteFile(f, b, 0o600)
	}
	how := os.Getenv("FAKE_DOES")
	if how == "hang" {
		time.Sleep(time.Hour)
	}
	for _, l := range answers[name][how] {
		if strings.Contains(l, "%q") {
			l = fmt.Sprintf(l, "Ada will send the figures.")
		}
		fmt.Println(l)
	}
	if how == "unsafe" { // it goes on, if it is let
		time.Sleep(3 * time.Second)
		_ = os.WriteFile(os.Getenv("FAKE_SEEN")+".went-on", nil, 0o600)
	}
	if name == "vibe" || name == "opencode" {
		os.Exit(0) // these end without a word
	}
	time.Sleep(time.Hour) // an answer is enough: nobody has to wait for the end
}

// fake puts a program of this kind into a folder.
func fake(t *testing.T, kind spawn.Kind) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), kind.Programs()[0])
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFakesRefuseWhatTheProgramsDoNotKnow(t *testing.T) {
	for name := range flags {
		if refused(name, []string{"--never-heard-of"}) == "" {
			t.Errorf("%s takes anything", name)
		}
	}
	if !slices.Equal(slices.Sorted(func(yield func(string) bool) {
		for n := range flags {
			if !yield(n) {
				return
			}
		}
	}), slices.Sorted(func(yield func(string) bool) {
		for _, k := range spawn.Agents() {
			if !yield(k.Programs()[0]) {
				return
			}
		}
	})) {
		t.Error("a program has no fake")
	}
}
