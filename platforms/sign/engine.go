package sign

import (
	"slices"
	"strings"
	"time"

	"parley/meeting"
)

// Health says how far a look at the page can be trusted.
type Health string

// The states of a look.
const (
	Fine    Health = ""
	Blank   Health = "blank"             // nothing on the page
	Crashed Health = meeting.SignCrashed // the page or the browser died
	Failed  Health = "failed"            // the look itself did not succeed
	Silent  Health = "silent"            // no look came for too long
)

// Hit is a sign that was seen.
type Hit struct {
	Sign string `json:"sign"`
	// Text is what matched, from the page: untrusted.
	Text string `json:"text,omitempty"`
	// Lang is the language of the words that matched, "" for structure.
	Lang string `json:"lang,omitempty"`
}

// Look is what the page shows at one moment.
type Look struct {
	Health Health
	Hits   []Hit
}

// Decision is where we are, and what says so.
type Decision struct {
	Place  meeting.Place
	Reason meeting.Reason // for PlaceOut
	Signs  []string
	Text   string // the words that decided, from the page: untrusted
	// HeldBy names what keeps us from the meeting although its controls are there: "consent-gate" or "challenge".
	HeldBy string
	// Breakout is true in a room beside the main one, which is PlaceIn; and Moving on the way there or back.
	Breakout, Moving bool
	Since            time.Time
}

// Evidence is one change of what was seen.
type Evidence struct {
	At     time.Time     `json:"at"`
	Health Health        `json:"health,omitempty"`
	Signs  []string      `json:"signs"`
	Leans  meeting.Place `json:"leans"` // what this look alone speaks for
}

// Engine holds a decision until what contradicts it has stood for long enough. One goroutine uses it.
type Engine struct {
	t    *Table
	hold time.Duration

	decided  Decision
	known    meeting.Place // the last place we knew: a moment of "unknown" does not make a call a door
	had      []string      // the most signs that have shown the call we are in
	leaning  Decision      // what the looks speak for now
	since    time.Time
	looks    int // how many looks in a row spoke for it
	last     time.Time
	evidence []Evidence
	over     bool
	moved    time.Time // since when we are on the way to another room
}

// maxMove is how long a move between rooms may take before we no longer know where we are.
const maxMove = time.Minute

// moving keeps us in while the page says that it takes us to another room: the controls go, and a lobby's words may come.
func (e *Engine) moving(now time.Time, look Look, lean Decision) Decision {
	on := e.known == meeting.PlaceIn && look.Health == Fine && e.t.gather(Moving, look.Hits).sure
	if !on {
		e.moved = time.Time{}
		return lean
	}
	if e.moved.IsZero() {
		e.moved = now
	}
	if lean.Place == meeting.PlaceIn || lean.Place == meeting.PlaceOut || now.Sub(e.moved) > maxMove {
		return lean
	}
	return Decision{Place: meeting.PlaceIn, Signs: e.t.gather(Moving, look.Hits).names, Breakout: e.decided.Breakout, Moving: true}
}

// maxSilence is how long the observer may be silent: it reports at least every second.
const maxSilence = 4 * time.Second

// keptEvidence is how many changes are kept for the evidence bundle.
const keptEvidence = 32

// New makes an engine that knows nothing yet. A hold of zero is the table's.
func New(t *Table, hold time.Duration) *Engine {
	if hold == 0 {
		hold = t.Hold()
	}
	return &Engine{t: t, hold: hold, decided: Decision{Place: meeting.PlaceUnknown}}
}

// Decided is where we are.
func (e *Engine) Decided() Decision { return e.decided }

// Evidence is what was seen lately, oldest first.
func (e *Engine) Evidence() []Evidence { return slices.Clone(e.evidence) }

// See takes a look. It says whether the decision changed.
func (e *Engine) See(now time.Time, look Look) (Decision, bool) {
	silent := now.Sub(e.last) >= maxSilence // nobody looked in between: what stood before may have gone and come back
	e.last = now
	if e.over {
		return e.decided, false
	}
	had := e.had
	if e.decided.Place != meeting.PlaceIn { // we lost sight of it: what we come back to is looked at like any other page
		had = nil
	}
	lean := e.moving(now, look, e.t.judge(e.known, had, look))
	e.note(now, look, lean)
	if !same(lean, e.leaning) || e.since.IsZero() || silent {
		e.since, e.looks = now, 0
	}
	e.leaning = lean
	e.looks++
	if e.known == meeting.PlaceIn && lean.Place == meeting.PlaceIn && !lean.Moving && len(lean.Signs) > len(e.had) {
		e.had = lean.Signs
	}
	return e.settle(now)
}

// Tick lets time pass without a look.
func (e *Engine) Tick(now time.Time) (Decision, bool) {
	if e.over || e.last.IsZero() {
		return e.decided, false
	}
	if now.Sub(e.last) >= maxSilence {
		return e.See(now, Look{Health: Silent})
	}
	return e.settle(now)
}

// Deadline is when Tick must come, zero for never.
func (e *Engine) Deadline() time.Time {
	if e.over || e.last.IsZero() {
		return time.Time{}
	}
	d := e.last.Add(maxSilence)
	if !same(e.leaning, e.decided) && !e.needsLook() { // what needs another look is not settled by time
		if s := e.since.Add(e.holdFor(e.leaning)); s.After(e.last) && s.Before(d) {
			d = s
		}
	}
	return d
}

// settle makes the leaning the decision once it has stood for its time, in at least two looks where being wrong is costly.
func (e *Engine) settle(now time.Time) (Decision, bool) {
	if same(e.leaning, e.decided) {
		return e.decided, false
	}
	if now.Sub(e.since) < e.holdFor(e.leaning) || e.needsLook() {
		return e.decided, false
	}
	e.decided = e.leaning
	e.decided.Since = now
	if e.decided.Place != meeting.PlaceUnknown {
		e.known = e.decided.Place
	}
	if e.known != meeting.PlaceIn {
		e.had = nil
	}
	e.over = e.decided.Place == meeting.PlaceOut
	return e.decided, true
}

// needsLook says that one look is not enough for what this one speaks for: being wrong would be costly.
func (e *Engine) needsLook() bool {
	costly := e.leaning.Place == meeting.PlaceIn || e.leaning.Place == meeting.PlaceOut || e.decided.Place == meeting.PlaceIn
	return costly && e.looks < 2 && e.leaning.Place != meeting.PlaceUnknown
}

// holdFor is how long a leaning must stand before it is believed.
func (e *Engine) holdFor(lean Decision) time.Duration {
	out := time.Duration(e.t.OutHoldMS) * time.Millisecond
	if lean.Place == e.decided.Place && lean.Reason == e.decided.Reason {
		return time.Second // only what holds us back came or went
	}
	switch lean.Place {
	case meeting.PlaceIn:
		return e.hold
	case meeting.PlaceOut:
		if e.isWall(lean) {
			return max(2*time.Second, out) // pages flash sign-in forms while they load
		}
		return out
	case meeting.PlaceUnknown:
		switch {
		case len(lean.Signs) == 1 && lean.Signs[0] == string(Crashed):
			return 0
		case e.decided.Place == meeting.PlaceIn && len(lean.Signs) == 0:
			return time.Duration(e.t.LostMS) * time.Millisecond
		}
		return 1500 * time.Millisecond // a page that moves on is blank for a moment
	default:
		switch {
		case e.decided.Place == meeting.PlaceIn:
			return max(e.hold, time.Second)
		case lean.HeldBy == "challenge":
			return time.Second // boxes open and close while a page loads
		}
		return 0
	}
}

func (e *Engine) isWall(lean Decision) bool {
	for _, name := range lean.Signs {
		if s := e.t.sign(name); s != nil && s.Kind == Wall {
			return true
		}
	}
	return false
}

// same compares what is decided, not what says so.
func same(a, b Decision) bool {
	return a.Place == b.Place && a.Reason == b.Reason && a.HeldBy == b.HeldBy && a.Breakout == b.Breakout && a.Moving == b.Moving
}

func (e *Engine) note(now time.Time, look Look, lean Decision) {
	names := make([]string, len(look.Hits))
	for i, h := range look.Hits {
		names[i] = h.Sign
	}
	slices.Sort(names)
	if n := len(e.evidence); n > 0 {
		before := e.evidence[n-1]
		if before.Health == look.Health && before.Leans == lean.Place && slices.Equal(before.Signs, names) {
			return
		}
	}
	if len(e.evidence) == keptEvidence {
		e.evidence = e.evidence[1:]
	}
	e.evidence = append(e.evidence, Evidence{At: now, Health: look.Health, Signs: names, Leans: lean.Place})
}

// seen are the hits of one kind.
type seen struct {
	names    []string
	text     string
	sure     bool // at least one that may decide
	weight   int
	explicit *Sign // the first sure one with words
}

// stands says whether most of what has shown a call is still there. Whoever was put back before the door sees little of it.
func stands(had, now []string) bool {
	n := 0
	for _, name := range had {
		if slices.Contains(now, name) {
			n++
		}
	}
	return len(had) > 0 && 2*n > len(had)
}

// judge says what a look alone speaks for; had are the most signs that have shown the call we are in. The order is the order of the rules: explicit ends, explicit waiting, walls,
// then structure; and nothing at all is "unknown", never an end.
func (t *Table) judge(at meeting.Place, had []string, look Look) Decision {
	if look.Health != Fine {
		return Decision{Place: meeting.PlaceUnknown, Signs: []string{string(look.Health)}}
	}
	kinds := map[Kind]*seen{}
	for _, k := range []Kind{Out, Waiting, Wall, Challenge, Gate, Lobby, In, Breakout} {
		kinds[k] = t.gather(k, look.Hits)
	}
	in := kinds[In]
	inCall := in.weight >= t.Need && len(in.names) >= 2 && in.sure

	// An end needs its own words. Inside, the call's controls must be gone as well: a notice may quote anything. So must they
	// where the whole of a call stands there for the first time, with the names of people in it.
	whole := inCall && in.weight >= 2*t.Need
	if o := kinds[Out]; o.explicit != nil && !(at == meeting.PlaceIn && inCall) && !whole {
		return Decision{Place: meeting.PlaceOut, Reason: o.explicit.reason(at), Signs: o.names, Text: o.text}
	}
	held := ""
	switch {
	case len(kinds[Gate].names) > 0: // two that nobody has seen are enough to hold us back
		held = "consent-gate"
	case kinds[Challenge].sure:
		held = "challenge"
	}
	if at == meeting.PlaceIn && inCall && stands(had, in.names) {
		// Inside, words of a door are words: somebody's name, a notice of who waits there, a button to another room.
		return Decision{Place: meeting.PlaceIn, Signs: in.names, HeldBy: held, Breakout: kinds[Breakout].sure}
	}
	if w := kinds[Waiting]; w.explicit != nil {
		return Decision{Place: meeting.PlaceWaiting, Reason: w.explicit.Reason, Signs: w.names, Text: w.text, HeldBy: held}
	}
	if at != meeting.PlaceIn {
		if w := kinds[Wall]; w.sure {
			return Decision{Place: meeting.PlaceOut, Reason: t.sign(w.names[0]).reason(at), Signs: w.names, Text: w.text}
		}
	}
	if w := kinds[Waiting]; len(w.names) > 0 {
		return Decision{Place: meeting.PlaceWaiting, Signs: w.names, Text: w.text, HeldBy: held}
	}
	if l := kinds[Lobby]; len(l.names) > 0 {
		return Decision{Place: meeting.PlaceLobby, Signs: l.names, Text: l.text, HeldBy: held}
	}
	if inCall {
		if held == "consent-gate" && at != meeting.PlaceIn {
			// The controls are there, the sound is not: we are not in before the gate is answered.
			return Decision{Place: meeting.PlaceWaiting, Signs: append(slices.Clone(in.names), kinds[Gate].names...), Text: kinds[Gate].text, HeldBy: held}
		}
		return Decision{Place: meeting.PlaceIn, Signs: in.names, HeldBy: held, Breakout: kinds[Breakout].sure}
	}
	if held == "challenge" {
		// A task alone on the page: we are still before it, and somebody else decides whether a person may solve it.
		place := meeting.PlaceLobby
		if at == meeting.PlaceWaiting {
			place = at
		}
		return Decision{Place: place, Signs: kinds[Challenge].names, Text: kinds[Challenge].text, HeldBy: held}
	}
	return Decision{Place: meeting.PlaceUnknown, HeldBy: held}
}

func (s *Sign) reason(at meeting.Place) meeting.Reason {
	if r, ok := s.From[at]; ok {
		return r
	}
	return s.Reason
}

// gather collects the hits of a kind, those that may decide first.
func (t *Table) gather(kind Kind, hits []Hit) *seen {
	g := &seen{}
	var doubtful []*Sign
	add := func(s *Sign, h Hit) {
		if slices.Contains(g.names, s.Name) {
			return
		}
		g.names = append(g.names, s.Name)
		g.weight += s.Weight
		if g.text == "" && s.explicit() {
			g.text = clip(h.Text)
		}
	}
	texts := map[*Sign]Hit{}
	for _, h := range hits {
		s := t.sign(h.Sign)
		if s == nil || s.Kind != kind {
			continue
		}
		if h.Lang != "" && slices.Contains(s.Unverified, h.Lang) {
			doubtful = append(doubtful, s)
			texts[s] = h
			continue
		}
		g.sure = true
		if s.explicit() && g.explicit == nil {
			g.explicit = s
		}
		add(s, h)
	}
	// Unverified words count once something else of the same kind stands beside them.
	confirmed := g.sure || len(doubtful) > 1
	for _, s := range doubtful {
		if confirmed && s.explicit() && g.explicit == nil {
			g.explicit = s
		}
		if confirmed || kind == Lobby || kind == Waiting { // doubt about a lobby keeps us from being in
			add(s, texts[s])
		}
	}
	return g
}

func clip(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}
