// Package spawn is the one place where processes are started: each plan is vetted before, its environment is sealed,
// and what needs no network gets none.
package spawn

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// Kind is a program that we start.
type Kind string

// Our own programs.
const (
	Chromium   Kind = "chromium"
	Xvfb       Kind = "xvfb"
	PulseAudio Kind = "pulseaudio"
	FFmpeg     Kind = "ffmpeg"
	Player     Kind = "player"
	Espeak     Kind = "espeak"
	Speech     Kind = "speech"
	Tesseract  Kind = "tesseract"
	Worker     Kind = "worker"
	Service    Kind = "service"
	Installer  Kind = "installer"
)

// Agents' command-line programs.
const (
	Claude      Kind = "claude"
	Codex       Kind = "codex"
	Antigravity Kind = "antigravity"
	Vibe        Kind = "vibe"
	Grok        Kind = "grok"
	Cursor      Kind = "cursor"
	Qwen        Kind = "qwen"
	OpenCode    Kind = "opencode"
)

// Mode is what a process is started for.
type Mode string

// The modes. Our own programs have Run alone.
const (
	// Run drives the browser or a meeting through our tools.
	Run Mode = "run"
	// Task is a one-shot that must reach no tool of ours at all.
	Task Mode = "task"
)

// Class says what keeps a program off the machine.
type Class string

// The classes, from strong to weak.
const (
	// Allowlist programs take a list of tools for each run.
	Allowlist Class = "allowlist"
	// Sandbox programs run restricted as a process.
	Sandbox Class = "sandbox"
	// Host programs have neither: what they may do is set elsewhere.
	Host Class = "host"
)

//go:embed agents.json
var agentsJSON []byte

//go:embed programs.json
var programsJSON []byte

//go:embed forbidden.json
var forbiddenJSON []byte

// pattern is what an argument must not look like. Except takes back what is harmless.
type pattern struct {
	Match  string `json:"match"`
	Except string `json:"except"`

	match, except *regexp.Regexp
}

func (p *pattern) compile() (err error) {
	if p.match, err = regexp.Compile(p.Match); err == nil && p.Except != "" {
		p.except, err = regexp.Compile(p.Except)
	}
	return err
}

func (p *pattern) hits(arg string) bool {
	return p.match.MatchString(arg) && (p.except == nil || !p.except.MatchString(arg))
}

// list is a flag that takes names of tools.
type list struct {
	Flag  string   `json:"flag"`
	Tools []string `json:"tools"` // of a denial: all of them have to be named
	Only  []string `json:"only"`  // of an allowance: nothing else may be named
}

// demands are what a plan of one mode has to fulfil.
type demands struct {
	Required  []string            `json:"required"`   // arguments, verbatim
	Pairs     [][2]string         `json:"pairs"`      // flag and value; no later repeat says otherwise
	WithValue []string            `json:"with_value"` // flags that need some value
	Together  map[string][]string `json:"together"`   // a flag that needs others beside it
	Deny      *list               `json:"deny"`
	Allow     *list               `json:"allow"`

	Env         map[string]string   `json:"env"`
	EnvSet      []string            `json:"env_set"`
	EnvContains map[string][]string `json:"env_contains"`
	EnvLacks    map[string][]string `json:"env_lacks"`

	Files        []string            `json:"files"` // of the workspace
	FileContains map[string][]string `json:"file_contains"`
	FileLacks    map[string][]string `json:"file_lacks"`
	FileIs       map[string]string   `json:"file_is"`
	Prepare      [][]string          `json:"prepare"` // the only commands that may run before
}

// program is everything known of one kind.
type program struct {
	Label    string   `json:"label"`
	Programs []string `json:"programs"`
	Class    Class    `json:"class"`
	Note     string   `json:"note"`
	// Keeps are prefixes of the environment that an agent needs to sign in; Federated are further ones that a variable
	// makes its own.
	Keeps     []string            `json:"keeps"`
	Federated map[string][]string `json:"federated"`
	// Only is the whole environment of a program of ours: names, or prefixes with a star; "!" behind that leaves out
	// what reads as a secret.
	Only []string `json:"only"`
	// Network is none, unix, or empty for all; FilesOnly bars every file that was not named.
	Network   string    `json:"network"`
	FilesOnly bool      `json:"files_only"`
	Forbid    []pattern `json:"forbid"`
	Residual  []string  `json:"residual"`
	Run       *demands  `json:"run"`
	Task      *demands  `json:"task"`

	agent bool
}

var programs = func() map[Kind]*program {
	out := map[Kind]*program{}
	for i, raw := range [][]byte{programsJSON, agentsJSON} {
		var m map[Kind]*program
		mustDecode(raw, &m)
		for k, p := range m {
			p.agent = i == 1
			for j := range p.Forbid {
				if err := p.Forbid[j].compile(); err != nil {
					panic(fmt.Sprintf("spawn: %s: %v", k, err)) // part of the binary, and a test reads it
				}
			}
			out[k] = p
		}
	}
	return out
}()

var rules = func() (r struct {
	Everywhere     []pattern `json:"everywhere"`
	Agents         []pattern `json:"agents"`
	Never          []string  `json:"never"`
	AllowFlags     []string  `json:"allow_flags"`
	SecretWords    []string  `json:"secret_words"`
	SecretPrefixes []string  `json:"secret_prefixes"`
	Nesting        []string  `json:"nesting"`
}) {
	mustDecode(forbiddenJSON, &r)
	for _, list := range [][]pattern{r.Everywhere, r.Agents} {
		for i := range list {
			if err := list[i].compile(); err != nil {
				panic("spawn: forbidden.json: " + err.Error())
			}
		}
	}
	return r
}()

func mustDecode(raw []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		panic("spawn: " + err.Error())
	}
}

// Kinds lists every kind, sorted.
func Kinds() []Kind {
	var out []Kind
	for k := range programs {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Agents lists the agents' programs, sorted.
func Agents() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return !programs[k].agent })
}

// Label is a kind's name for a person.
func (k Kind) Label() string {
	if p := programs[k]; p != nil {
		return p.Label
	}
	return string(k)
}

// Programs are the names of a kind's program, the first being the usual one.
func (k Kind) Programs() []string {
	if p := programs[k]; p != nil {
		return slices.Clone(p.Programs)
	}
	return nil
}

// Containment says in a line what keeps the kind off the machine, for the log: a weak one is seen rather than assumed
// away.
func (k Kind) Containment() (Class, string) {
	p := programs[k]
	if p == nil {
		return Host, "nothing is known of it"
	}
	return p.Class, p.Note
}

// Residual lists what the containment leaves open.
func (k Kind) Residual() []string {
	if p := programs[k]; p != nil {
		return slices.Clone(p.Residual)
	}
	return nil
}
