package spawn

import (
	"slices"
	"strings"
)

// Env is what a child of this kind gets of an environment. A program of ours gets what it is known to need and nothing
// else. An agent's program is somebody else's and may need anything, so that it loses what reads as a secret instead,
// and keeps its own maker's prefixes, by which it signs in. The order stays; of a name that stands twice the last counts.
func Env(kind Kind, environ []string) []string {
	def := programs[kind]
	if def == nil {
		return nil
	}
	value := map[string]string{}
	for _, e := range environ {
		if name, v, ok := strings.Cut(e, "="); ok {
			value[name] = v
		}
	}
	keeps := slices.Clone(def.Keeps)
	for flag, prefixes := range def.Federated {
		if on(value[flag]) {
			keeps = append(keeps, prefixes...)
		}
	}
	var out []string
	done := map[string]bool{}
	for _, e := range environ {
		name, _, ok := strings.Cut(e, "=")
		if !ok || done[name] || !def.passes(name, keeps) {
			continue
		}
		done[name] = true
		out = append(out, name+"="+value[name])
	}
	return out
}

// Sealed names what Env left out, for the log.
func Sealed(kind Kind, environ []string) []string {
	kept := map[string]bool{}
	for _, e := range Env(kind, environ) {
		name, _, _ := strings.Cut(e, "=")
		kept[name] = true
	}
	var out []string
	for _, e := range environ {
		if name, _, ok := strings.Cut(e, "="); ok && !kept[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (d *program) passes(name string, keeps []string) bool {
	if d.Only != nil {
		return slices.ContainsFunc(d.Only, func(only string) bool {
			only, careful := strings.CutSuffix(only, "!")
			prefix, star := strings.CutSuffix(only, "*")
			return (name == only || star && strings.HasPrefix(name, prefix)) && !(careful && readsSecret(name))
		})
	}
	if slices.Contains(rules.Nesting, name) {
		return false // the child is no part of another run
	}
	if slices.ContainsFunc(keeps, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return true
	}
	return !readsSecret(name)
}

// readsSecret tells a name that says credential, wherever it comes from. Words count between underscores, so that
// SESSION_TOKEN goes and SESSIONS_DIR stays.
func readsSecret(name string) bool {
	if slices.ContainsFunc(rules.SecretPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return true
	}
	for word := range strings.SplitSeq(strings.ToUpper(name), "_") {
		if slices.Contains(rules.SecretWords, word) {
			return true
		}
	}
	return false
}

// on reads a switch as the programs do.
func on(v string) bool { return v != "" && v != "0" && !strings.EqualFold(v, "false") }
