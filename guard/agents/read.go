package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/guard/spawn"
)

// UnsafeError is a program that shows or used more than it was given. It is stopped before its model sees anything more.
type UnsafeError struct{ Kind, What string }

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("AGENT_UNSAFE: %s %s, and was stopped; update it, and report it if that does not help", e.Kind, e.What)
}

// Unsafe says what it showed or did.
func (e *UnsafeError) Unsafe() string { return e.What }

// FailedError is what a program itself said went wrong.
type FailedError struct{ Kind, Text string }

func (e *FailedError) Error() string { return "AGENT_FAILED: " + e.Kind + ": " + e.Text }

// reader follows what a program prints, a JSON object a line, and keeps its answer.
type reader struct {
	kind spawn.Kind
	may  []string // tools of this plan
	said []string
	// final is the answer where the program marks it.
	final string
	done  bool
}

func newReader(w Want) *reader {
	r := &reader{kind: w.Kind}
	if w.Reads {
		r.may = append(r.may, "Read", "read_file", "read")
	}
	if w.Research {
		r.may = append(r.may, "WebSearch", "WebFetch", "web_search", "web_fetch", "webfetch", "websearch")
	}
	switch w.Kind {
	case spawn.Grok:
		r.may = append(r.may, "todo_write", "search_tool", "use_tool")
	case spawn.Claude:
		r.may = append(r.may, "StructuredOutput")
	case spawn.Qwen:
		r.may = append(r.may, "tool_search", "ask_user_question", "exit_plan_mode", "todo_write")
	}
	return r
}

// line is what any of the programs may print; each fills in some of it.
type line struct {
	Type, Subtype  string
	Role           string
	Tools          []json.RawMessage
	Servers        []struct{ Name string } `json:"mcp_servers"`
	Permission     string                  `json:"permission_mode"`
	IsError        bool                    `json:"is_error"`
	Result         json.RawMessage
	Response, Text string
	Data           json.RawMessage
	Content        json.RawMessage
	Message        json.RawMessage
	Item           struct{ Type, Text string }
	Part           struct {
		Type, Text, Tool string
		State            struct{ Status string }
	}
	Error     json.RawMessage
	ToolCalls []struct {
		Function struct{ Name string }
	} `json:"tool_calls"`
	ToolCall map[string]json.RawMessage `json:"tool_call"`
}

// take reads a line. An error ends the program.
func (r *reader) take(raw []byte) error {
	var l line
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil // words for a person
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil //nolint:nilerr // an event of another form than those we know
	}
	if err := r.shown(l); err != nil {
		return err
	}
	label := r.kind.Label()
	switch l.Type {
	case "error", "turn.failed":
		return &FailedError{label, text(l.Error, l.Message, l.Data)}
	case "result":
		if l.IsError || l.Subtype == "error" {
			return &FailedError{label, text(l.Result, l.Error)}
		}
		r.final, r.done = text(l.Result), true
		if r.final == "" {
			r.final = l.Response
		}
	case "assistant":
		r.say(content(l.Message))
	case "text":
		r.say(firstOf(l.Part.Text, l.Text, text(l.Data)))
	case "item.completed":
		if l.Item.Type == "agent_message" {
			r.say(l.Item.Text)
		}
	case "turn.completed", "end":
		r.done = true
	case "message":
		if l.Role == "assistant" {
			r.say(text(l.Content))
		}
	case "":
		if l.Role == "assistant" {
			r.say(text(l.Content))
		}
	}
	return nil
}

// shown checks what a line tells of tools and servers.
func (r *reader) shown(l line) error {
	unsafe := func(format string, args ...any) error {
		return &UnsafeError{r.kind.Label(), fmt.Sprintf(format, args...)}
	}
	if l.Type == "system" || l.Type == "tools" || l.Type == "init" {
		for _, raw := range append(slices.Clone(l.Tools), toolsIn(l.Data)...) {
			var name string
			if json.Unmarshal(raw, &name) != nil {
				var named struct{ Name string }
				_ = json.Unmarshal(raw, &named) // neither is no tool
				name = named.Name
			}
			if name != "" && !r.allowed(name) {
				return unsafe("shows the tool %.60s", name)
			}
		}
		for _, s := range l.Servers {
			if s.Name != "" && s.Name != ServerName {
				return unsafe("loaded the server %.60s", s.Name)
			}
		}
		if r.kind == spawn.Qwen && l.Permission != "" && l.Permission != "default" {
			return unsafe("runs in the mode %.40s", l.Permission)
		}
	}
	switch {
	case r.kind == spawn.Codex && slices.Contains([]string{"command_execution", "file_change", "patch_apply"}, l.Item.Type) && !slices.Contains(r.may, "Read"),
		r.kind == spawn.Codex && l.Item.Type == "file_change":
		return unsafe("did a %s", l.Item.Type)
	case l.Type == "tool_use" && l.Part.Tool != "" && l.Part.State.Status == "completed" && !r.allowed(l.Part.Tool):
		return unsafe("ran its tool %.60s", l.Part.Tool)
	case l.Type == "tool_call" && l.Subtype == "completed":
		for name, raw := range l.ToolCall {
			if strings.HasSuffix(name, "ToolCall") && name != "mcpToolCall" && strings.Contains(string(raw), `"success"`) {
				return unsafe("ran its %.60s", name)
			}
		}
	}
	for _, c := range l.ToolCalls {
		if !r.allowed(c.Function.Name) {
			return unsafe("called its tool %.60s", c.Function.Name)
		}
	}
	return nil
}

func (r *reader) allowed(name string) bool {
	return strings.HasPrefix(name, "mcp__"+ServerName) || strings.HasPrefix(name, ServerName+"_") || slices.Contains(r.may, name)
}

func (r *reader) say(s string) {
	if s != "" {
		r.said = append(r.said, s)
	}
}

// answer is what there is when the program has ended.
func (r *reader) answer() string {
	if r.final != "" {
		return r.final
	}
	return strings.TrimSpace(strings.Join(r.said, "\n\n"))
}

// text reads the first value that is a text, or has one as message, result or text.
func text(values ...json.RawMessage) string {
	for _, v := range values {
		var s string
		if json.Unmarshal(v, &s) == nil && s != "" {
			return s
		}
		var o struct {
			Message, Result, Text, Response string
			Data                            struct{ Message string }
		}
		if json.Unmarshal(v, &o) == nil {
			if s := firstOf(o.Message, o.Result, o.Text, o.Response, o.Data.Message); s != "" {
				return s
			}
		}
		if s := content(v); s != "" {
			return s
		}
	}
	return ""
}

// content reads a message in parts.
func content(raw json.RawMessage) string {
	var m struct{ Content json.RawMessage }
	if json.Unmarshal(raw, &m) == nil && len(m.Content) > 0 {
		raw = m.Content
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var out []string
	for _, p := range parts {
		if p.Type == "text" && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "")
}

func toolsIn(raw json.RawMessage) []json.RawMessage {
	var o struct{ Tools []json.RawMessage }
	_ = json.Unmarshal(raw, &o) // data of another shape has none
	return o.Tools
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
