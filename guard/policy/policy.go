// Package policy decides whether a call may be made: rules as data over a closed vocabulary of conditions.
package policy

import (
	"fmt"
	"slices"
)

// Effect is what a rule does when it fires. More severe is greater, and the most severe one wins.
type Effect uint8

// The effects. The zero value is Allow.
const (
	Allow Effect = iota
	Confirm
	Deny
)

var effectNames = [...]string{"allow", "confirm", "deny"}

func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return fmt.Sprintf("effect(%d)", uint8(e))
}

// MarshalText writes allow, confirm or deny.
func (e Effect) MarshalText() ([]byte, error) {
	if int(e) >= len(effectNames) {
		return nil, fmt.Errorf("effect %d is none of allow, confirm, deny", uint8(e))
	}
	return []byte(effectNames[e]), nil
}

// UnmarshalText reads allow, confirm or deny, and nothing else.
func (e *Effect) UnmarshalText(b []byte) error {
	i := slices.Index(effectNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("effect %.40q is none of allow, confirm, deny", string(b))
	}
	*e = Effect(i)
	return nil
}

// Rule is one line of a policy.
type Rule struct {
	ID     string    `json:"id"`
	When   Condition `json:"when"`
	Effect Effect    `json:"effect"`
	// Title is for a person who is asked and for the record; Reason is for the agent, a sentence part.
	Title  string `json:"title"`
	Reason string `json:"reason"`
	// Locked rules keep their effect whatever the configuration says.
	Locked bool `json:"locked,omitempty"`

	bit   set
	gated bool // asks or refuses in the strict table
}

// Policy is a set of rules that was checked, with the values its conditions need. It does not change; make one
// with New.
type Policy struct {
	table      string
	rules      []Rule // sorted by id
	masks      [3]set // by effect: the conditions some rule of it names
	unattended Effect // Deny, or Allow where the operator waived confirmations
	payload    int    // bytes of query and fragment that need nobody
	approval   map[string]bool
	standing   []string
	fence      bool
	blank      Blank
	config     Config
	single     [2][len(vocabulary)]Decision // by caller and the one condition that holds
}

// Table names the rules the policy started from.
func (p *Policy) Table() string { return p.table }

// Rules gives every rule as it stands, by id.
func (p *Policy) Rules() []Rule { return slices.Clone(p.rules) }

// Standing lists the hosts that are in every run's scope. Nobody changes it.
func (p *Policy) Standing() []string { return p.standing }

// Fence tells whether results are fenced.
func (p *Policy) Fence() bool { return p.fence }

// Unattended is what becomes of a confirmation that nobody can give: Deny or Allow.
func (p *Policy) Unattended() Effect { return p.unattended }
