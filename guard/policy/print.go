package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Printed is a whole policy as `parley policy print --json` writes it. It reads back with ParsePrinted.
type Printed struct {
	Table           string   `json:"table"`
	Unattended      Effect   `json:"unattended"`
	URLPayloadBytes int      `json:"urlPayloadBytes"`
	Hosts           []string `json:"hosts"`
	BlankScope      Blank    `json:"blankScope"`
	Fence           bool     `json:"fence"`
	RequireApproval []string `json:"requireApproval"`
	Rules           []Rule   `json:"rules"`
}

// Print gives the policy as it stands.
func (p *Policy) Print() Printed {
	out := Printed{Table: p.table, Unattended: p.unattended, URLPayloadBytes: p.payload, Hosts: append([]string{}, p.standing...),
		BlankScope: p.blank, Fence: p.fence, RequireApproval: []string{}, Rules: p.Rules()}
	for name := range p.approval {
		out.RequireApproval = append(out.RequireApproval, name)
	}
	slices.Sort(out.RequireApproval)
	return out
}

// ParsePrinted makes a policy of a printed one, for comparing: its rules are what was printed, whatever the
// tables of this binary say.
func ParsePrinted(b []byte) (*Policy, error) {
	var in Printed
	if err := strict(b, &in); err != nil {
		return nil, fmt.Errorf("a printed policy: %w", err)
	}
	p := &Policy{table: in.Table, rules: in.Rules, unattended: in.Unattended, payload: in.URLPayloadBytes, standing: in.Hosts, blank: in.BlankScope, fence: in.Fence}
	slices.SortFunc(p.rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	for i := range p.rules {
		if i > 0 && p.rules[i].ID == p.rules[i-1].ID {
			return nil, fmt.Errorf("a printed policy: rule %s stands twice", p.rules[i].ID)
		}
	}
	for _, name := range in.RequireApproval {
		if p.approval == nil {
			p.approval = map[string]bool{}
		}
		p.approval[name] = true
	}
	p.compile()
	return p, nil
}

// String writes the policy for a person, a rule a line.
func (pr Printed) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %s, unattended %s, address payload %d bytes, blank tab %s, fence %v\n", pr.Table, pr.Unattended, pr.URLPayloadBytes, pr.BlankScope, pr.Fence)
	if len(pr.Hosts) > 0 {
		fmt.Fprintf(&b, "hosts %s\n", strings.Join(pr.Hosts, ", "))
	}
	if len(pr.RequireApproval) > 0 {
		fmt.Fprintf(&b, "asks before %s\n", strings.Join(pr.RequireApproval, ", "))
	}
	for _, r := range pr.Rules {
		lock := ""
		if r.Locked {
			lock = " (locked)"
		}
		fmt.Fprintf(&b, "%-8s %-30s %s%s\n", r.Effect, r.ID, r.Title, lock)
	}
	return b.String()
}

// Explained is why a call would be decided as it is.
type Explained struct {
	Action     string      `json:"action"`
	Caller     string      `json:"caller"`
	Known      bool        `json:"known"`
	Safety     bool        `json:"safety"`
	Conditions []Condition `json:"conditions"`
	Effect     Effect      `json:"effect"`
	Decisive   []string    `json:"decisive"`
	Waived     []string    `json:"waived"`
	Reason     string      `json:"reason"`
}

// Explain decides a request and says which conditions held.
func (p *Policy) Explain(r *Request) Explained {
	a, known := actions[r.Action]
	d := p.Decide(r)
	e := Explained{Action: r.Action, Caller: r.Caller.String(), Known: known, Safety: a.safety, Conditions: []Condition{},
		Effect: d.Effect, Decisive: append([]string{}, d.Rules...), Waived: append([]string{}, d.Waived...), Reason: d.Reason}
	fired := p.fired(r, a, known)
	for i, c := range vocabulary {
		if fired&(1<<i) != 0 {
			e.Conditions = append(e.Conditions, c)
		}
	}
	return e
}

// String is the same for a person.
func (e Explained) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Action, e.Effect)
	switch {
	case !e.Known:
		b.WriteString(" (nobody classified this action)")
	case e.Safety && len(e.Conditions) == 0:
		b.WriteString(" (it protects people: nothing holds it up)")
	}
	b.WriteByte('\n')
	if len(e.Conditions) > 0 {
		names := make([]string, len(e.Conditions))
		for i, c := range e.Conditions {
			names[i] = string(c)
		}
		fmt.Fprintf(&b, "what holds of it: %s\n", strings.Join(names, ", "))
	}
	if len(e.Decisive) > 0 {
		fmt.Fprintf(&b, "decided by %s: %s\n", strings.Join(e.Decisive, ", "), e.Reason)
	}
	if len(e.Waived) > 0 {
		fmt.Fprintf(&b, "let pass all the same: %s\n", strings.Join(e.Waived, ", "))
	}
	return b.String()
}

// Difference is one thing in which two policies differ.
type Difference struct {
	What string `json:"what"` // a rule's id or a setting's name
	A    string `json:"a"`    // empty: absent
	B    string `json:"b"`
}

func (d Difference) String() string { return fmt.Sprintf("%s: %s -> %s", d.What, or(d.A), or(d.B)) }

func or(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// Diff lists what differs between two policies, settings first, then rules by id.
func Diff(a, b *Policy) []Difference {
	var out []Difference
	note := func(what, x, y string) {
		if x != y {
			out = append(out, Difference{what, x, y})
		}
	}
	x, y := a.Print(), b.Print()
	note("table", x.Table, y.Table)
	note("unattended", x.Unattended.String(), y.Unattended.String())
	note("urlPayloadBytes", fmt.Sprint(x.URLPayloadBytes), fmt.Sprint(y.URLPayloadBytes))
	note("hosts", strings.Join(x.Hosts, " "), strings.Join(y.Hosts, " "))
	note("blankScope", string(x.BlankScope), string(y.BlankScope))
	note("fence", fmt.Sprint(x.Fence), fmt.Sprint(y.Fence))
	note("requireApproval", strings.Join(x.RequireApproval, " "), strings.Join(y.RequireApproval, " "))
	rules := map[string][2]string{}
	for _, r := range x.Rules {
		rules[r.ID] = [2]string{line(r), ""}
	}
	for _, r := range y.Rules {
		rules[r.ID] = [2]string{rules[r.ID][0], line(r)}
	}
	ids := make([]string, 0, len(rules))
	for id := range rules {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		note(id, rules[id][0], rules[id][1])
	}
	return out
}

func line(r Rule) string {
	s := r.Effect.String() + " when " + string(r.When)
	if r.Locked {
		s += " (locked)"
	}
	return s
}

// UnmarshalJSON reads a rule and checks it: a policy cannot hold one that says something outside the vocabulary.
func (r *Rule) UnmarshalJSON(b []byte) error {
	type plain struct {
		ID     *string    `json:"id"`
		When   *Condition `json:"when"`
		Effect *Effect    `json:"effect"`
		Title  *string    `json:"title"`
		Reason *string    `json:"reason"`
		Locked bool       `json:"locked"`
	}
	var p plain
	if err := strict(b, &p); err != nil {
		var named struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(b, &named) // only to name the rule; err says what is wrong
		return fmt.Errorf("rule %s: %w", named.ID, err)
	}
	if p.ID == nil || *p.ID == "" {
		return fmt.Errorf("a rule without an id")
	}
	if p.When == nil || p.Effect == nil || p.Title == nil || *p.Title == "" || p.Reason == nil || *p.Reason == "" {
		return fmt.Errorf("rule %.60s: when, effect, title and reason are needed", *p.ID)
	}
	if err := p.When.Check(); err != nil {
		return fmt.Errorf("rule %.60s: %w", *p.ID, err)
	}
	*r = Rule{ID: *p.ID, When: *p.When, Effect: *p.Effect, Title: *p.Title, Reason: *p.Reason, Locked: p.Locked, bit: bitOf[*p.When]}
	return nil
}
