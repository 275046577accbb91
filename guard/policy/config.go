package policy

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// The tables of rules.
const (
	// Standard lets an agent do on its own account what it was brought for, and keeps every other rule.
	Standard = "standard"
	// Guarded asks for whatever commits to something or gives something away.
	Guarded = "guarded"
)

// DefaultPayload is how many bytes of query and fragment an address may have without anybody being asked.
const DefaultPayload = 512

//go:embed rules.json
var rulesJSON []byte

//go:embed standard.json
var standardJSON []byte

// shipped are the rules of Guarded, by id; standard is what Standard has otherwise.
var shipped, standard = func() ([]Rule, map[string]Effect) {
	var rules []Rule
	if len(bitOf) == 0 { // what reads a rule needs it first
		panic("policy: no vocabulary")
	}
	if err := strict(rulesJSON, &rules); err != nil {
		panic("policy: rules.json: " + err.Error()) // part of the binary, and a test reads it
	}
	var other map[string]Effect
	if err := strict(standardJSON, &other); err != nil {
		panic("policy: standard.json: " + err.Error())
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return rules, other
}()

// Config is what an operator or tenant changes. The zero value changes nothing.
type Config struct {
	// RequireApproval is the older list of actions to ask about. It owns form-submission: nil leaves the
	// table's effect, a list without a submitting action allows it, one with it asks.
	RequireApproval []string   `json:"requireApproval,omitzero"`
	Guardrails      Guardrails `json:"guardrails,omitzero"`
}

// Guardrails are the settings of the rules.
type Guardrails struct {
	// Rules holds overrides by rule id. A missing one follows the table.
	Rules map[string]Effect `json:"rules,omitempty"`
	// Unattended is deny or allow; empty is deny, and anything else is deny with a warning.
	Unattended string `json:"unattended,omitempty"`
	// Hosts are in every run's scope; "*" is anywhere.
	Hosts []string `json:"hosts,omitempty"`
	// URLPayloadBytes replaces DefaultPayload. A negative number or something else is the default, with a warning.
	URLPayloadBytes any `json:"urlPayloadBytes,omitempty"`
	// Fence false leaves results unfenced; only for tenants that administer the policy.
	Fence *bool `json:"fence,omitempty"`
	// BlankScope is confirm-first-host or anywhere.
	BlankScope Blank `json:"blankScope,omitempty"`
	// Lock names further rules that nobody overrides.
	Lock []string `json:"lock,omitempty"`
}

// ParseConfig reads a configuration. What it does not know it refuses, and names.
func ParseConfig(b []byte) (Config, error) {
	var c Config
	if err := strict(b, &c); err != nil {
		return Config{}, fmt.Errorf("the policy's configuration: %w", err)
	}
	return c, nil
}

// Source says whose configuration it is.
type Source struct {
	// Table is Standard or Guarded.
	Table string
	// Unattended is the value of PARLEY_UNATTENDED; empty leaves it to the configuration.
	Unattended string
	// Admin tells that the tenant administers the policy, and may switch the fence off.
	Admin bool
}

// submitting are the names that requireApproval has for sending a form.
var submitting = []string{"page.submitForm", "submit", "submit-form"}

// New makes a policy of a table and a configuration. Warnings are sentences for the operator.
func New(s Source, c Config) (p *Policy, warnings []string, err error) {
	rules, err := tableOf(s.Table)
	if err != nil {
		return nil, nil, err
	}
	p = &Policy{table: s.Table, rules: rules, config: c, unattended: Deny, payload: DefaultPayload, fence: true, blank: ConfirmFirstHost}
	g := c.Guardrails

	if c.RequireApproval != nil {
		effect := Allow
		p.approval = map[string]bool{}
		for _, name := range c.RequireApproval {
			if slices.Contains(submitting, name) {
				effect = Confirm
				continue // its own rule; not matched twice
			}
			if !Known(name) {
				return nil, nil, fmt.Errorf("requireApproval: there is no action %.60q", name)
			}
			p.approval[name] = true
		}
		p.rules[p.index("form-submission")].Effect = effect
	}
	for _, id := range g.Lock {
		i := p.index(id)
		if i < 0 {
			return nil, nil, fmt.Errorf("guardrails.lock: there is no rule %.60q", id)
		}
		p.rules[i].Locked = true
	}
	for _, id := range slices.Sorted(maps.Keys(g.Rules)) {
		i := p.index(id)
		switch {
		case i < 0:
			return nil, nil, fmt.Errorf("guardrails.rules: there is no rule %.60q", id)
		case p.rules[i].Locked:
			return nil, nil, fmt.Errorf("guardrails.rules: %s is locked", id)
		}
		p.rules[i].Effect = g.Rules[id]
	}

	for _, u := range []struct{ name, value string }{{"guardrails.unattended", g.Unattended}, {"PARLEY_UNATTENDED", s.Unattended}} {
		switch u.value {
		case "":
		case "allow":
			p.unattended = Allow
		case "deny":
			p.unattended = Deny
		default:
			p.unattended = Deny
			warnings = append(warnings, fmt.Sprintf("%s: %.40q is none of deny, allow; deny holds", u.name, u.value))
		}
	}
	if err := CheckHosts(g.Hosts); err != nil {
		return nil, nil, fmt.Errorf("guardrails.%w", err)
	}
	p.standing = slices.Clone(g.Hosts)
	switch n := g.URLPayloadBytes.(type) {
	case nil:
	case float64:
		if n < 0 || n != math.Trunc(n) || n > 1<<30 {
			warnings = append(warnings, fmt.Sprintf("guardrails.urlPayloadBytes: %v is no number of bytes; %d holds", n, DefaultPayload))
			break
		}
		p.payload = int(n)
	default:
		warnings = append(warnings, fmt.Sprintf("guardrails.urlPayloadBytes is no number; %d holds", DefaultPayload))
	}
	switch g.BlankScope {
	case "":
	case ConfirmFirstHost, BlankAnywhere:
		p.blank = g.BlankScope
	default:
		return nil, nil, fmt.Errorf("guardrails.blankScope: %.40q is none of confirm-first-host, anywhere", string(g.BlankScope))
	}
	if g.Fence != nil {
		if !*g.Fence && !s.Admin {
			return nil, nil, fmt.Errorf("guardrails.fence: only a tenant that administers the policy may switch it off")
		}
		p.fence = *g.Fence
	}
	p.compile()
	return p, warnings, nil
}

// compile makes what Decide looks up.
func (p *Policy) compile() {
	p.masks = [3]set{}
	for i := range p.rules {
		r := &p.rules[i]
		p.masks[r.Effect] |= r.bit
		j := slices.IndexFunc(shipped, func(s Rule) bool { return s.ID == r.ID })
		r.gated = j >= 0 && shipped[j].Effect > Allow
	}
	for caller := range p.single {
		for i := range vocabulary {
			if s := set(1) << i; s&(p.masks[Allow]|p.masks[Confirm]|p.masks[Deny]) != 0 {
				p.single[caller][i] = p.judge(s, Caller(caller))
			}
		}
	}
}

func (p *Policy) index(id string) int {
	i, ok := slices.BinarySearchFunc(p.rules, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return -1
	}
	return i
}

func tableOf(name string) ([]Rule, error) {
	rules := slices.Clone(shipped)
	switch name {
	case Guarded:
	case Standard:
		for i := range rules {
			if e, ok := standard[rules[i].ID]; ok {
				rules[i].Effect = e
			}
		}
	default:
		return nil, fmt.Errorf("policy %.40q is none of standard, guarded", name)
	}
	return rules, nil
}

// strict decodes one JSON value and nothing more, and refuses members it does not know.
func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the first value")
	}
	return nil
}
