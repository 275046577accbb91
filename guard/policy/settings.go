package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Row is one rule as a settings page or a command shows it. Rows come from the rules and the configuration alone:
// a new rule has a row without anybody writing one.
type Row struct {
	ID     string    `json:"id"`
	When   Condition `json:"when"`
	Title  string    `json:"title"`
	Reason string    `json:"reason"`
	Effect Effect    `json:"effect"`
	// Fallback is what holds when the override is cleared; Override is nil where there is none.
	Fallback Effect  `json:"fallback"`
	Override *Effect `json:"override,omitempty"`
	Locked   bool    `json:"locked,omitempty"`
}

// Settings describes every rule of a policy. Fallbacks are computed by making the policy without its overrides:
// the older requireApproval may have changed them.
func (p *Policy) Settings() []Row {
	bare := p.config
	bare.Guardrails.Rules = nil
	below, _, err := New(Source{Table: p.table, Admin: true}, bare)
	if err != nil {
		panic("policy: " + err.Error()) // p was made of more than this
	}
	rows := make([]Row, len(p.rules))
	for i, r := range p.rules {
		rows[i] = Row{ID: r.ID, When: r.When, Title: r.Title, Reason: r.Reason, Effect: r.Effect, Fallback: below.rules[i].Effect, Locked: r.Locked}
		if e, ok := p.config.Guardrails.Rules[r.ID]; ok {
			rows[i].Override = &e
		}
	}
	return rows
}

// Writer is a connection that changes settings. It lives as long as the connection.
type Writer struct{ run bool }

// Saw notes the run a message of the connection belonged to. From the first one on the connection may not write:
// a run cannot loosen its own rules.
func (w *Writer) Saw(run string) {
	if run != "" {
		w.run = true
	}
}

// ErrOwnRules is a run's attempt to change the rules it is held to.
var ErrOwnRules = errors.New(Blocked + ": a run cannot change its own rules")

// Change sets the override of a rule, or clears it.
type Change struct {
	Rule string
	// Value is allow, confirm or deny; empty clears the override.
	Value string
}

// Write is the one gate for changes, whoever makes them: a page, a command or the control endpoint. It gives the
// changed configuration and leaves c alone. A locked rule, an unknown one and a value that is no effect are refused.
func (p *Policy) Write(w *Writer, c Config, ch Change) (Config, error) {
	if w == nil || w.run {
		return Config{}, ErrOwnRules
	}
	i := p.index(ch.Rule)
	if i < 0 {
		return Config{}, fmt.Errorf("there is no rule %.60q", ch.Rule)
	}
	if p.rules[i].Locked {
		return Config{}, fmt.Errorf("the rule %s is locked", ch.Rule)
	}
	rules := maps.Clone(c.Guardrails.Rules)
	if ch.Value == "" {
		delete(rules, ch.Rule)
	} else {
		var e Effect
		if err := e.UnmarshalText([]byte(ch.Value)); err != nil {
			return Config{}, fmt.Errorf("rule %s: %w", ch.Rule, err)
		}
		if rules == nil {
			rules = map[string]Effect{}
		}
		rules[ch.Rule] = e
	}
	if len(rules) == 0 {
		rules = nil
	}
	c.Guardrails.Rules = rules
	c.Guardrails.Hosts = slices.Clone(c.Guardrails.Hosts)
	return c, nil
}
