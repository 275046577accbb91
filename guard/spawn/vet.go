package spawn

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Plan is a process that is about to start.
type Plan struct {
	Kind Kind
	Mode Mode
	Args []string
	// Env is the environment besides what it inherits, by name.
	Env map[string]string
	// Dir is where an agent's process starts; it has to lie inside Home, with links resolved.
	Dir, Home string
	// Files are those of its workspace, by path inside Dir, written before it starts.
	Files map[string]string
	// Prepare are commands that run before, in Dir.
	Prepare [][]string
	// Waive names forbidden arguments that the operator's own setting asks for, such as --no-sandbox for a browser.
	Waive []string
}

// Vet gives everything that is wrong with a plan, a sentence each. Empty: it may start. It is pure.
func Vet(p Plan) []string {
	var problems []string
	def := programs[p.Kind]
	if def == nil {
		return []string{fmt.Sprintf("nothing is known of a program %.40q.", string(p.Kind))}
	}
	label := def.Label
	want := def.Run
	if p.Mode == Task {
		want = def.Task
		label += " (task)"
	}
	say := func(format string, args ...any) { problems = append(problems, label+" "+fmt.Sprintf(format, args...)) }
	if want == nil || p.Mode != Run && p.Mode != Task {
		say("has no containment for the mode %.20q.", string(p.Mode))
		return problems
	}
	for _, arg := range want.Required {
		if !slices.Contains(p.Args, arg) {
			say("would start without %s.", arg)
		}
	}
	for _, pair := range want.Pairs {
		given := valuesOf(p.Args, pair[0])
		if len(given) == 0 || slices.ContainsFunc(given, func(v string) bool { return v != pair[1] }) {
			say("would start without %s %s, or says otherwise later.", pair[0], pair[1])
		}
	}
	for _, flag := range want.WithValue {
		if given := valuesOf(p.Args, flag); len(given) != 1 || given[0] == "" {
			say("needs one value for %s.", flag)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(want.Together)) {
		if len(valuesOf(p.Args, flag)) == 0 {
			continue
		}
		for _, other := range want.Together[flag] {
			if len(valuesOf(p.Args, other)) == 0 {
				say("has %s without %s.", flag, other)
			}
		}
	}
	vetTools(p, want, def, say)
	vetEnv(p, want, say)
	vetFiles(p, want, say)
	for _, command := range p.Prepare {
		if !slices.ContainsFunc(want.Prepare, func(ok []string) bool { return slices.Equal(ok, command) }) {
			say("would first run %q, which is no step it may take.", strings.Join(command, " "))
		}
	}
	for _, arg := range spellings(p.Args) {
		if def.forbids(arg) && !slices.Contains(p.Waive, arg) {
			say("would start with %.80s, which takes its containment away.", arg)
		}
	}
	if def.agent {
		for _, model := range valuesOf(p.Args, "--model") {
			if !plainModel(model) {
				say("would start with the model %.40q, which could be read as a flag.", model)
			}
		}
		if !Within(p.Dir, p.Home) {
			say("would start in %s, which is not inside %s.", p.Dir, p.Home)
		}
	}
	return problems
}

func (d *program) forbids(arg string) bool {
	hit := func(list []pattern) bool {
		return slices.ContainsFunc(list, func(p pattern) bool { return p.hits(arg) })
	}
	return hit(rules.Everywhere) || hit(d.Forbid) || d.agent && hit(rules.Agents)
}

// vetTools checks lists of tools: a denial names all of them, an allowance is there, is not empty (which often means
// everything), and names nothing beyond what the program may have. Some tools no run may have under any flag.
func vetTools(p Plan, want *demands, def *program, say func(string, ...any)) {
	if l := want.Deny; l != nil {
		named := listed(p.Args, l.Flag)
		for _, tool := range l.Tools {
			if !slices.Contains(named, tool) {
				say("does not deny %s by %s.", tool, l.Flag)
			}
		}
	}
	if l := want.Allow; l != nil {
		named := listed(p.Args, l.Flag)
		if len(named) == 0 || slices.Contains(named, "") {
			say("has no list behind %s, which leaves everything on.", l.Flag)
		}
		for _, tool := range named {
			if tool != "" && !slices.Contains(l.Only, tool) {
				say("switches %.40s on by %s.", tool, l.Flag)
			}
		}
	}
	if !def.agent {
		return
	}
	for _, flag := range rules.AllowFlags {
		for _, tool := range listed(p.Args, flag) {
			name, _, _ := strings.Cut(tool, "(")
			if slices.Contains(rules.Never, name) {
				say("switches %s on by %s, which no run may have.", name, flag)
			}
		}
	}
}

func vetEnv(p Plan, want *demands, say func(string, ...any)) {
	for _, name := range slices.Sorted(maps.Keys(want.Env)) {
		if p.Env[name] != want.Env[name] {
			say("would start without %s=%s.", name, want.Env[name])
		}
	}
	for _, name := range want.EnvSet {
		if p.Env[name] == "" {
			say("would start without %s.", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.EnvContains)) {
		for _, part := range want.EnvContains[name] {
			if !strings.Contains(p.Env[name], part) {
				say("has a %s without %s.", name, part)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.EnvLacks)) {
		for _, part := range want.EnvLacks[name] {
			if strings.Contains(p.Env[name], part) {
				say("has a %s with %s in it, which would be filled in.", name, part)
			}
		}
	}
}

func vetFiles(p Plan, want *demands, say func(string, ...any)) {
	for _, path := range want.Files {
		if _, ok := p.Files[path]; !ok {
			say("would start without %s in its folder.", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		if !filepath.IsLocal(path) {
			say("would write %.80q, which is not inside its folder.", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want.FileContains)) {
		for _, part := range want.FileContains[path] {
			if content, ok := p.Files[path]; ok && !strings.Contains(content, part) {
				say("has a %s without %s.", path, part)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want.FileLacks)) {
		for _, part := range want.FileLacks[path] {
			if strings.Contains(p.Files[path], part) {
				say("has a %s with %s in it.", path, part)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want.FileIs)) {
		if content, ok := p.Files[path]; ok && strings.TrimSpace(content) != want.FileIs[path] {
			say("has another %s than %s.", path, want.FileIs[path])
		}
	}
}

// valuesOf gives the value of every occurrence of a flag, "--flag value" and "--flag=value".
func valuesOf(args []string, flag string) []string {
	var out []string
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			out = append(out, args[i+1])
		} else if v, ok := strings.CutPrefix(a, flag+"="); ok {
			out = append(out, v)
		}
	}
	return out
}

// listed gives the names behind a flag, however they are written: one behind another up to the next flag, with commas,
// or the flag again and again. An empty one stays, since it may mean everything.
func listed(args []string, flag string) []string {
	var out []string
	add := func(v string) {
		for name := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			add(v)
			continue
		}
		if a != flag {
			continue
		}
		for j := i + 1; j < len(args) && !strings.HasPrefix(args[j], "--"); j++ {
			add(args[j])
		}
	}
	return out
}

// spellings are the arguments as they stand, and each flag joined to what follows it.
func spellings(args []string) []string {
	out := slices.Clone(args)
	for i := 0; i+1 < len(args); i++ {
		if strings.HasPrefix(args[i], "--") && !strings.Contains(args[i], "=") {
			out = append(out, args[i]+"="+args[i+1])
		}
	}
	return out
}

// plainModel tells a model's name from something a program could take for a flag or for several arguments.
func plainModel(s string) bool {
	return s != "" && len(s) <= 100 && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_/:@[]=") == ""
}

// Within tells whether a folder is home or lies inside it. Links are resolved where the folders exist, so that one that
// leads out is found.
func Within(dir, home string) bool {
	if dir == "" || home == "" || !filepath.IsAbs(dir) || !filepath.IsAbs(home) {
		return false
	}
	return within(resolve(dir), resolve(home), '/', false)
}

// resolve follows links as far as the path exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// within is the rule alone, for either system's spelling: a prefix counts at a separator, and ".." climbs out whatever
// the prefix says.
func within(dir, home string, sep byte, blind bool) bool {
	split := func(p string) []string {
		if sep == '\\' {
			p = strings.ReplaceAll(p, "/", `\`)
		}
		if blind {
			p = strings.ToLower(p)
		}
		var parts []string
		for part := range strings.SplitSeq(p, string(sep)) {
			switch part {
			case "", ".":
			case "..":
				if len(parts) == 0 {
					return nil
				}
				parts = parts[:len(parts)-1]
			default:
				parts = append(parts, part)
			}
		}
		return parts
	}
	d, h := split(dir), split(home)
	return len(h) > 0 && len(d) >= len(h) && slices.Equal(d[:len(h)], h)
}
