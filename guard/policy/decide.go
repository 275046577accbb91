package policy

import (
	"math/bits"
	"slices"
	"strings"
)

// Decision is what a policy says about a call. Its lists are shared: nobody changes them.
type Decision struct {
	Effect Effect
	// Rules names the decisive rules, those at the winning severity, sorted; Matched names every rule that fired.
	Rules, Matched []string
	// Waived names gated rules that fired and were let pass, by an override or for an unattended caller.
	Waived []string
	// NobodyToAsk tells that a person would have to confirm this, and the caller has none: Effect is Deny for
	// that reason alone.
	NobodyToAsk bool
	// Title is for the person who is asked, Reason for the caller; both are made of the decisive rules.
	Title, Reason string
}

// Answers to a caller whose call is not made.
const (
	Blocked  = "BLOCKED"
	Declined = "DECLINED"
)

// Refusal says a denied or declined call in words for the agent. By is Blocked or Declined.
func (d Decision) Refusal(by string) string {
	if by == Declined {
		return Declined + ": the person said no to this (" + d.Title + "). Do not try it again, and do not look for another way to the same effect."
	}
	return Blocked + ": " + d.Reason + "."
}

// Decide says whether a call may be made. It is pure: equal requests under equal policies give equal decisions.
func (p *Policy) Decide(r *Request) Decision {
	a, known := actions[r.Action]
	if a.safety && !(a.class == classMute && r.Args.On != nil && !*r.Args.On) {
		return Decision{} // protecting people waits for no rule
	}
	fired := p.fired(r, a, known)
	if fired&(p.masks[Allow]|p.masks[Confirm]|p.masks[Deny]) == 0 {
		return Decision{}
	}
	if fired&(fired-1) == 0 { // one condition, as nearly always
		if d := &p.single[r.Caller&1][bits.TrailingZeros64(uint64(fired))]; d.Matched != nil {
			return *d
		}
	}
	return p.judge(fired, r.Caller)
}

// judge turns conditions into a decision: the most severe rule wins, whatever the order.
func (p *Policy) judge(fired set, caller Caller) Decision {
	var d Decision
	winner := Allow
	switch {
	case fired&p.masks[Deny] != 0:
		winner = Deny
	case fired&p.masks[Confirm] != 0:
		winner = Confirm
	}
	waive := winner == Confirm && caller == Unattended && p.unattended == Allow
	var ids []string
	for i := range p.rules {
		if fired&p.rules[i].bit != 0 {
			ids = append(ids, p.rules[i].ID)
		}
	}
	d.Matched = ids
	for i := range p.rules {
		rule := &p.rules[i]
		if fired&rule.bit == 0 {
			continue
		}
		if rule.Effect == winner {
			d.Rules = append(d.Rules, rule.ID)
			d.Title, d.Reason = also(d.Title, rule.Title), also(d.Reason, rule.Reason)
		}
		if rule.Effect == Allow && rule.gated || waive && rule.Effect == Confirm {
			d.Waived = append(d.Waived, rule.ID)
		}
	}
	d.Effect = winner
	switch {
	case waive:
		d.Effect = Allow
	case winner == Confirm && caller == Unattended:
		d.Effect, d.NobodyToAsk = Deny, true
		d.Reason += "; a person would have to confirm it, and nobody can be asked"
	}
	return d
}

func also(text, more string) string {
	if text == "" {
		return more
	}
	return text + "; " + more
}

// fired collects the conditions that hold for a request.
func (p *Policy) fired(r *Request, a action, known bool) set {
	args := &r.Args
	f := a.fires
	if strings.HasPrefix(r.Action, ReservedPrefix) {
		f |= reservedAction
	} else if !known {
		f |= unknownAction
	}
	if p.approval != nil && p.approval[r.Action] {
		f |= requiresApproval
	}
	if r.HumanCheck && a.writes {
		f |= solvesCaptcha
	}
	if a.meeting && !r.CanMeet {
		f |= meetingWithoutGrant
	}
	switch a.class {
	case classNavigate, classKeepalive, classJoin:
		f |= p.going(r, a.class)
	case classHistory:
		// Where history leads is judged where the page arrives: the next write there is offScopeWrite.
	case classRead:
		if args.HTML || strings.EqualFold(args.Format, "html") || strings.EqualFold(args.Format, "outerhtml") {
			f |= rawHTMLRead
		}
	case classNetwork:
		if args.Body {
			f |= networkBodyRead
		}
	case classType:
		if args.Submit || args.Enter || endsInEnter(args.Key) {
			f |= submitsForm
		}
		if args.SecretID != "" {
			f |= typesOwnSecret
		}
		for i := range args.Fields {
			if args.Fields[i].SecretID != "" {
				f |= typesOwnSecret
			}
			if args.Fields[i].Submit {
				f |= submitsForm
			}
		}
	case classPress:
		if !r.Multiline && (endsInEnter(args.Key) || slices.ContainsFunc(args.Keys, endsInEnter)) {
			f |= submitsForm
		}
	case classTabs:
		if p.moves(r) {
			f |= leavesPinnedTab
		}
	}
	if len(r.Secrets) > 0 {
		f |= releasesSecret
		for _, host := range r.Secrets {
			if !SameSite(host, r.PageHost) {
				f |= secretOffScope
			}
		}
	}
	if args.Profile != "" && (a.class == classSession || a.class == classJoin || a.class == classKeepalive) {
		f |= opensPersistentProfile
	}
	if a.class == classJoin && !args.DryRun {
		if args.Record == nil || *args.Record {
			f |= recordsMeeting
			if !r.CanHide && (args.Announce == "none" || args.Failure == "record") {
				f |= recordsWithoutAnnouncement
			}
		}
	}
	if a.writes && a.class != classNavigate && r.PageHost != "" && !r.Scope.Covers(r.PageHost) {
		f |= offScopeWrite
	}
	return f
}

// going judges where a call goes.
func (p *Policy) going(r *Request, c class) set {
	if r.Args.URL == "" {
		return 0
	}
	u := parseAddress(r.Args.URL)
	var f set
	if u.payload > p.payload {
		f |= urlPayload
	}
	switch {
	case u.relative, u.bad:
		return f // the first stays on its host, the second goes nowhere: the handler refuses it
	case u.scheme != "" && u.scheme != "http" && u.scheme != "https":
		return f | nonHTTPNavigation
	case c == classNavigate && !r.Scope.Covers(u.host):
		f |= offScopeNavigation
	}
	return f
}

// moves tells whether a call leaves the run's own tabs. Listing and opening are no moves; a move by what a tab
// shows is one, since the page decides what it shows.
func (p *Policy) moves(r *Request) bool {
	a := &r.Args
	if r.Tabs.Pinned == "" && len(r.Tabs.Owned) == 0 {
		return false // not pinned
	}
	switch {
	case a.Match != "":
		return true
	case a.Tab == "", a.Op == "list", a.Op == "new":
		return false
	}
	return !r.Tabs.has(a.Tab)
}

// endsInEnter reads a key or chord: "Enter", "enter", "Control+Enter", "Return", "NumpadEnter".
func endsInEnter(key string) bool {
	key = strings.TrimSpace(key)
	if i := strings.LastIndexByte(key, '+'); i >= 0 {
		key = key[i+1:]
	}
	return strings.EqualFold(key, "enter") || strings.EqualFold(key, "return") || strings.EqualFold(key, "numpadenter") || key == "\r" || key == "\n"
}

// SameSite tells whether a secret read on one host is typed on the same one or below it.
func SameSite(read, typed string) bool {
	from, ok := NormalizeHost(read)
	to, ok2 := NormalizeHost(typed)
	return ok && ok2 && under(to, from)
}
