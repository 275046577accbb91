package meeting

import (
	"slices"
	"strings"
	"time"

	"parley/meeting/wire"
)

// soundCounts is how long somebody who was heard counts as present, and how long an activity that never ended is
// believed.
const soundCounts = 30 * time.Second

// presence is who is with us, as far as the page and the sound tell. A count that is missing is no sign of anything.
type presence struct {
	seen     bool
	count    int // ourselves included; -1: unknown
	list     []Person
	came     time.Time // when we were let in (again)
	company  bool      // somebody was with us at some time
	alone    time.Time // since when nobody is there; zero: somebody is, or it is unknown
	bots     time.Time // since when only bots are there
	absent   time.Time // since when the inviter is not there
	lastHear time.Time
	active   bool
	since    time.Time // of the activity
	speakers bool      // the page has shown somebody speaking

	segments int64
	lag      time.Duration
}

func (p *presence) arrived(now time.Time) {
	p.came, p.lastHear = now, now
}

func (p *presence) heard(now time.Time) { p.lastHear = now }

func (p *presence) heardActivity(now time.Time, on bool) {
	p.lastHear, p.active, p.since = now, on, now
}

func (p *presence) seenSpeaking(now time.Time, ev SeenSpeaking) {
	if len(ev.IDs) > 0 || len(ev.Names) > 0 {
		p.speakers = true
		if !ev.Always { // a stage shows somebody in silence too
			p.lastHear = now
		}
	}
}

// audible is when somebody was heard last; an activity that goes on is now, for a bounded time.
func (p *presence) audible(now time.Time) time.Time {
	if p.active && now.Sub(p.since) < soundCounts {
		return now
	}
	return p.lastHear
}

// key names somebody for good, as far as the page allows.
func key(p Person) string {
	if p.ID != "" {
		return p.ID
	}
	return "name:" + p.Name
}

// others are those in the list who are not us, nor a ghost of an earlier attendance of ours.
func (m *Machine) others() []Person {
	var os []Person
	for _, p := range m.people.list {
		if !p.Self && !strings.EqualFold(strings.TrimSpace(p.Name), strings.TrimSpace(m.o.Name)) {
			os = append(os, p)
		}
	}
	return os
}

// here is who is there now, by key.
func (p *presence) here() map[string]bool { return hereIn(p.list) }

func hereIn(list []Person) map[string]bool {
	m := map[string]bool{}
	for _, q := range list {
		if !q.Self {
			m[key(q)] = true
		}
	}
	return m
}

// newcomers are the keys of those who are here and not in the set.
func (p *presence) newcomers(told map[string]bool) map[string]bool {
	m := p.here()
	for k := range m {
		if told[k] {
			delete(m, k)
		}
	}
	return m
}

// ledger is who stands behind the keys.
func (p *presence) ledger(keys map[string]bool) []LedgerPerson {
	var out []LedgerPerson
	for _, q := range p.list {
		if keys[key(q)] {
			out = append(out, LedgerPerson{ID: q.ID, Name: q.Name})
		}
	}
	return out
}

func (m *Machine) seenPeople(ev SeenPeople) {
	p := &m.people
	if ev.Count <= 0 {
		ev.Count = -1 // we are in it ourselves: zero is a failed read
	}
	// Who is first seen while the message is on its way is there when it arrives.
	if a := &m.announce; !p.seen && a.sending && !a.late {
		a.pending, a.pendingN = hereIn(ev.People), ev.Count
	}
	// A list without a count may be a part of those who are there: it shows that somebody is, never that nobody is.
	if !p.seen && !m.now.After(m.announce.blind) {
		m.remember(hereIn(ev.People), ev.Count)
		p.list = ev.People
		m.note(LedgerEntry{What: "present", People: p.ledger(hereIn(ev.People)), Count: max(ev.Count-1, 0)})
		p.list = nil
	}
	changed := !p.seen || p.count != ev.Count || !samePeople(p.list, ev.People)
	p.seen, p.count, p.list = true, ev.Count, ev.People
	if !changed {
		return
	}
	m.weighPresence()
	m.lateCheck()
	m.tell(wire.Report{People: m.wirePeople()})
	m.changed()
}

func hasSelf(ps []Person) bool {
	for _, p := range ps {
		if p.Self {
			return true
		}
	}
	return false
}

func samePeople(a, b []Person) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (m *Machine) wirePeople() *wire.People {
	if !m.people.seen {
		return nil
	}
	w := &wire.People{Count: m.people.count}
	for _, p := range m.people.list {
		w.People = append(w.People, wire.Person{ID: p.ID, Name: p.Name, Self: p.Self, Host: p.Host, Muted: p.Muted, HandUp: p.HandUp, LikelyAI: p.LikelyAI})
	}
	return w
}

// company is how many others there are, and how many of them look like people. -1 is unknown.
func (m *Machine) company() (all, humans int) {
	p := &m.people
	if p.count < 0 {
		return -1, -1
	}
	os := m.others()
	bots := 0
	for _, o := range os {
		if o.LikelyAI {
			bots++
		}
	}
	// Those whom the page counts and does not list are taken for people.
	var unlisted int
	if listed := len(p.list); listed > 0 {
		if !hasSelf(p.list) {
			listed++
		}
		unlisted = max(p.count-listed, 0)
	} else {
		unlisted = p.count - 1
	}
	return len(os) + unlisted, len(os) - bots + unlisted
}

func since(t *time.Time, now time.Time, holds bool) {
	switch {
	case !holds:
		*t = time.Time{}
	case t.IsZero():
		*t = now
	}
}

func (m *Machine) weighPresence() {
	p := &m.people
	all, humans := m.company()
	p.company = p.company || humans > 0 || all < 0 && slices.ContainsFunc(m.others(), func(o Person) bool { return !o.LikelyAI })
	since(&p.alone, m.now, all == 0)
	since(&p.bots, m.now, all > 0 && humans == 0)
	here := m.o.Inviter == ""
	for _, o := range p.list {
		here = here || strings.EqualFold(strings.TrimSpace(o.Name), strings.TrimSpace(m.o.Inviter))
	}
	since(&p.absent, m.now, !here && all >= 0 && len(p.list) > 0)
}

// aloneAt is when being alone has lasted long enough.
func (m *Machine) aloneAt() time.Time {
	p := &m.people
	if p.alone.IsZero() {
		return time.Time{}
	}
	from := p.alone
	if h := p.audible(m.now); h.After(from) {
		from = h
	}
	if p.company {
		return from.Add(m.o.AloneAfter)
	}
	if p.came.After(from) {
		from = p.came
	}
	return from.Add(m.o.AloneAtFirst)
}

func (m *Machine) presenceDeadline() time.Time {
	if m.life.state != Attending {
		return time.Time{}
	}
	p := &m.people
	next := m.aloneAt()
	if !p.bots.IsZero() && m.o.OnlyBotsAfter > 0 {
		next = earliest(next, p.bots.Add(m.o.OnlyBotsAfter))
	}
	if m.o.SilentAfter > 0 {
		next = earliest(next, p.audible(m.now).Add(m.o.SilentAfter))
	}
	if !p.absent.IsZero() {
		next = earliest(next, p.absent.Add(m.o.InviterAfter))
	}
	return next
}

func (m *Machine) expirePresence() {
	if m.life.state != Attending {
		return
	}
	p := &m.people
	switch {
	case m.due(m.aloneAt()):
		m.leave(ReasonAlone, Transition{})
	case !p.bots.IsZero() && m.o.OnlyBotsAfter > 0 && m.due(p.bots.Add(m.o.OnlyBotsAfter)):
		m.leave(ReasonOnlyBots, Transition{})
	case m.o.SilentAfter > 0 && m.due(p.audible(m.now).Add(m.o.SilentAfter)):
		m.leave(ReasonSilent, Transition{})
	case !p.absent.IsZero() && m.due(p.absent.Add(m.o.InviterAfter)):
		m.leave(ReasonInviterAbsent, Transition{})
	}
}
