// Package agents runs somebody else's command-line agents for one answer, contained: a vetted plan, a folder of its own,
// and a reader that stops a program which shows more tools than it was given.
package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"parley/guard/spawn"
)

// ServerName is our server's in a run's configuration. Programs that merge by name find ours under it.
const ServerName = "parley"

// agentName is one that nobody picks for an agent of their own: OpenCode merges those of the same name.
const agentName = "parley-contained"

// Want is what a plan is made of.
type Want struct {
	Kind spawn.Kind
	Mode spawn.Mode
	// Home holds every agent's folder; Dir, inside it, is this one's.
	Home, Dir string
	// Prompt is the task. System says who asks and what the rest is; it may hold what a page or a meeting wrote, and so
	// goes into a file wherever a program would fill in placeholders.
	Prompt, System string
	// Model is the program's own default when it is empty.
	Model string
	// Reads lets a task read the one file it is handed. Research lets a run search the web.
	Reads, Research bool
	// Server is how a run reaches our tools; Run marks it, for that server alone.
	Server Server
	Run    string
	// Foreign names servers the user gave the program, where it cannot leave them out by itself.
	Foreign []string
}

// Server is a command that speaks MCP.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// Made is a plan with what goes to the program's standard input. Where a program takes its prompt there, no other user
// of the machine can read it from the command line.
type Made struct {
	spawn.Plan
	Stdin string
}

const emptyServers = `{"mcpServers":{}}`

// Tools that are denied besides those no run may have.
var (
	denied       = []string{"Bash", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "Task", "Monitor", "Skill", "SendMessage", "TodoWrite", "CronCreate", "CronDelete", "RemoteTrigger", "EnterWorktree"}
	deniedQwen   = []string{"Bash", "exec", "Edit", "monitor", "lsp", "save_memory", "zoom_image", "skill", "agent", "create_sub_session", "workflow", "send_message", "cron_create", "cron_delete", "read_mcp_resource", "image_gen"}
	webClaude    = []string{"WebSearch", "WebFetch"}
	webElsewhere = []string{"web_search", "web_fetch"}
)

// Plan makes what starts a program. Whether it may start is spawn's to say.
func Plan(w Want) (Made, error) {
	build := builders[w.Kind]
	if build == nil {
		return Made{}, fmt.Errorf("%.40q is no agent", string(w.Kind))
	}
	m := Made{Plan: spawn.Plan{Kind: w.Kind, Mode: w.Mode, Home: w.Home, Dir: w.Dir, Env: map[string]string{}, Files: map[string]string{}}}
	if w.Mode == spawn.Run {
		w.Server.Env = maps.Clone(w.Server.Env)
		if w.Server.Env == nil {
			w.Server.Env = map[string]string{}
		}
		w.Server.Env[RunVariable] = w.Run
	}
	build(w, &m)
	return m, nil
}

// RunVariable marks calls as those of a run. Only the server that the program starts gets it.
const RunVariable = "PARLEY_AGENT_RUN"

var builders = map[spawn.Kind]func(Want, *Made){
	spawn.Claude: claude, spawn.Codex: codex, spawn.Antigravity: antigravity, spawn.Vibe: vibe,
	spawn.Grok: grok, spawn.Cursor: cursor, spawn.Qwen: qwen, spawn.OpenCode: opencode,
}

func (m *Made) add(args ...string) { m.Args = append(m.Args, args...) }

func (m *Made) model(w Want) {
	if w.Model != "" {
		m.add("--model", w.Model)
	}
}

// servers is the configuration of our server alone.
func servers(w Want) string {
	if w.Mode == spawn.Task {
		return emptyServers
	}
	return encode(map[string]any{"mcpServers": map[string]any{ServerName: w.Server}})
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts
	}
	return string(b)
}

// whole is the system's words and the task in one text, for programs that take one.
func whole(w Want) string {
	if w.System == "" {
		return w.Prompt
	}
	return w.System + "\n\n" + w.Prompt
}

func claude(w Want, m *Made) {
	m.add("-p", "--output-format", "stream-json", "--verbose", "--mcp-config", servers(w), "--strict-mcp-config")
	deny := slices.Clone(denied)
	if w.Mode == spawn.Task {
		m.add("--no-session-persistence")
		if w.Reads {
			m.add("--tools", "Read", "--allowedTools", "Read")
		} else {
			m.add("--tools", "")
			deny = append(deny, "Read")
		}
		deny = append(deny, webClaude...)
	} else {
		deny = append(deny, "Read")
		if w.Research {
			m.add("--tools", strings.Join(webClaude, ","), "--allowedTools", "mcp__"+ServerName, webClaude[0], webClaude[1])
		} else {
			m.add("--tools", "", "--allowedTools", "mcp__"+ServerName)
			deny = append(deny, webClaude...)
		}
	}
	m.add("--disallowedTools")
	m.add(deny...)
	m.model(w)
	m.Stdin = whole(w)
}

func codex(w Want, m *Made) {
	m.add("exec", "--json", "--skip-git-repo-check", "--ignore-user-config", "-c", `sandbox_mode="read-only"`, "-c", `approval_policy="never"`, "-c", "features.multi_agent=false")
	if !w.Reads {
		m.add("-c", "features.shell_tool=false")
	}
	m.add("-c", "features.view_image=false")
	if w.Mode == spawn.Task {
		m.add("--ephemeral", "-c", "mcp_servers={}", "-c", `web_search="disabled"`)
	} else {
		m.add("-c", "mcp_servers."+ServerName+".command="+encode(w.Server.Command), "-c", "mcp_servers."+ServerName+".args="+encode(w.Server.Args))
		for _, k := range slices.Sorted(maps.Keys(w.Server.Env)) {
			m.add("-c", "mcp_servers."+ServerName+".env."+k+"="+encode(w.Server.Env[k]))
		}
		m.add("-c", "mcp_servers."+ServerName+`.default_tools_approval_mode="approve"`)
		if !w.Research {
			m.add("-c", `web_search="disabled"`)
		}
	}
	m.model(w)
	m.add("-") // the prompt comes on standard input
	m.Stdin = whole(w)
}

func antigravity(w Want, m *Made) {
	m.add("-p", w.Prompt, "--output-format", "stream-json")
	m.model(w)
	m.Files[".agents/mcp_config.json"] = servers(w)
	m.Files["AGENTS.md"] = w.System
}

func vibe(w Want, m *Made) {
	m.add("--prompt", w.Prompt, "--output", "streaming", "--trust", "--agent", "ask", "--enabled-tools")
	config := ""
	switch {
	case w.Mode == spawn.Task && w.Reads:
		m.add("read_file")
	case w.Mode == spawn.Task:
		m.add("re:^$") // matches no tool
	default:
		m.add(ServerName + "_*")
		if w.Research {
			m.add("--enabled-tools", webElsewhere[0], "--enabled-tools", webElsewhere[1])
		}
		config = "[[mcp_servers]]\nname = " + encode(ServerName) + "\ntransport = \"stdio\"\ncommand = " + encode(w.Server.Command) + "\nargs = " + encode(w.Server.Args) + "\n"
		config += "[mcp_servers.env]\n"
		for _, k := range slices.Sorted(maps.Keys(w.Server.Env)) {
			config += k + " = " + encode(w.Server.Env[k]) + "\n"
		}
	}
	m.Files[".vibe/config.toml"] = config
	m.Files["AGENTS.md"] = w.System
	m.model(w)
}

func grok(w Want, m *Made) {
	m.Env["GROK_MEMORY"], m.Env["GROK_CLAUDE_MCPS_ENABLED"], m.Env["GROK_CURSOR_MCPS_ENABLED"] = "0", "false", "false"
	m.add("-p", w.Prompt, "--output-format", "streaming-json", "--no-subagents", "--permission-mode", "dontAsk", "--rules", w.System)
	deny := []string{"Bash", "Edit", "Write"}
	if w.Mode == spawn.Task {
		m.add("--sandbox", "read-only")
		deny = append(deny, "MCPTool")
		if w.Reads {
			m.add("--tools", "read_file")
		} else {
			m.add("--tools", "todo_write") // an empty list means every tool
			deny = append(deny, "Read")
		}
	} else {
		// Read-only would also cut the network of the server it starts, which is ours.
		m.add("--sandbox", "workspace", "--allow", "MCPTool("+ServerName+"__*)")
		deny = append(deny, "Read")
		if w.Research {
			m.add("--tools", strings.Join(webElsewhere, ","))
		} else {
			m.add("--tools", "todo_write")
		}
		m.Env["GROK_FOLDER_TRUST"] = "0" // for this process alone; --trust would be written down
		config := "[mcp_servers." + ServerName + "]\ncommand = " + encode(w.Server.Command) + "\nargs = " + encode(w.Server.Args) + "\n[mcp_servers." + ServerName + ".env]\n"
		for _, k := range slices.Sorted(maps.Keys(w.Server.Env)) {
			config += k + " = " + encode(w.Server.Env[k]) + "\n"
		}
		m.Files[".grok/config.toml"] = config
	}
	for _, d := range deny {
		m.add("--deny", d)
	}
	m.model(w)
}

func cursor(w Want, m *Made) {
	m.add("-p", "--output-format", "stream-json", "--trust", "--sandbox", "enabled")
	m.model(w)
	m.add(whole(w))
	deny := []string{"Shell(*)", "Write(**)"}
	var allow []string
	if w.Mode == spawn.Task {
		deny = append(deny, "Mcp(*)")
		if !w.Reads {
			deny = append(deny, "Read(**)")
		}
	} else {
		deny = append(deny, "Read(**)", "Mcp(plugin-*:*)")
		for _, name := range w.Foreign {
			deny = append(deny, "Mcp("+name+":*)")
		}
		allow = append(allow, "Mcp("+ServerName+":*)")
		m.Files[".cursor/mcp.json"] = servers(w)
		m.Files["AGENTS.md"] = w.System
		m.Prepare = [][]string{{"mcp", "enable", ServerName}}
	}
	m.Files[".cursor/cli.json"] = encode(map[string]any{"version": 1, "permissions": map[string]any{"allow": append([]string{}, allow...), "deny": deny}})
	m.Files[".cursor/sandbox.json"] = `{"type":"workspace_readonly"}`
}

func qwen(w Want, m *Made) {
	m.add("-p", w.Prompt, "--safe-mode", "--output-format", "stream-json", "--approval-mode", "default", "--mcp-config", servers(w))
	deny := slices.Clone(deniedQwen)
	if w.Mode == spawn.Task {
		if w.Reads {
			m.add("--allowed-tools", "read_file")
			deny = append(deny, "grep_search", "glob", "list_directory")
		} else {
			deny = append(deny, "Read")
		}
		deny = append(deny, webElsewhere...)
	} else {
		m.add("--allowed-mcp-server-names", ServerName, "--allowed-tools", "mcp__"+ServerName)
		deny = append(deny, "Read")
		if w.Research {
			m.add(webElsewhere...)
		} else {
			deny = append(deny, webElsewhere...)
		}
	}
	m.add("--exclude-tools")
	m.add(deny...)
	if w.System != "" {
		m.add("--append-system-prompt", w.System)
	}
	m.model(w)
}

func opencode(w Want, m *Made) {
	m.add("run", "--format", "json", "--pure", "--agent", agentName)
	m.model(w)
	permission := map[string]any{"*": "deny"}
	config := map[string]any{"share": "disabled", "autoupdate": false, "snapshot": false, "mcp": map[string]any{}}
	if w.Mode == spawn.Task {
		if w.Reads {
			permission["read"] = scratch(w.Dir)
		}
	} else {
		permission[ServerName+"_*"] = "allow"
		if w.Research {
			permission["webfetch"], permission["websearch"] = "allow", "allow"
		}
		config["mcp"] = map[string]any{ServerName: map[string]any{"type": "local", "command": append([]string{w.Server.Command}, w.Server.Args...), "environment": w.Server.Env, "enabled": true}}
		// Placeholders are filled in anywhere in the configuration, so that what others wrote goes into a file.
		m.Files["instructions.md"] = w.System
		config["instructions"] = []string{filepath.Join(w.Dir, "instructions.md")}
	}
	config["agent"] = map[string]any{agentName: map[string]any{"mode": "primary", "permission": permission}, "title": map[string]any{"disable": true}}
	m.Env["OPENCODE_CONFIG_CONTENT"] = encode(config)
	m.Env["OPENCODE_DISABLE_PROJECT_CONFIG"], m.Env["OPENCODE_DISABLE_CLAUDE_CODE"], m.Env["OPENCODE_DISABLE_SHARE"] = "1", "1", "1"
	m.Env["OPENCODE_DB"] = filepath.Join(w.Home, "opencode", "sessions.db")
	m.Stdin = w.Prompt
	if w.Mode == spawn.Task {
		m.Stdin = whole(w)
	}
}

// scratch lets the folder for handed files be read, and nothing else. OpenCode matches a path relative to the project's
// root, which may be any folder above, "/" included: seen from the workspace itself "tmp/*" would be the machine's.
func scratch(dir string) map[string]string {
	rules := map[string]string{"*": "deny"}
	tmp := filepath.Join(dir, "tmp")
	for root := filepath.Dir(dir); ; root = filepath.Dir(root) {
		if rel, err := filepath.Rel(root, tmp); err == nil {
			rules[rel+"/*"] = "allow"
		}
		if root == filepath.Dir(root) {
			return rules
		}
	}
}
