package meeting

import (
	"slices"
	"time"

	"parley/meeting/wire"
)

// unknownTime is how long the page may be unreadable before we call it lost. A reload, a move to another room and a
// busy machine all look like this for a while.
const unknownTime = 25 * time.Second

// backTime is how long the page must show a lobby before we believe that we were put back into it. Nothing is
// recorded in the meantime.
const backTime = 2 * time.Second

// door is what the page says about where we are.
type door struct {
	place   Place
	signs   []string
	text    string
	why     Reason    // why nobody lets us in, where the page says so
	in      time.Time // since when it says "in", for the hold; zero: it does not
	unknown time.Time // since when it cannot be read
	back    time.Time // since when it shows a lobby although we were in
	hold    time.Duration
	inside  bool // the states of the call: the hold is over
	lobby   *SeenLobby
	broken  bool // we are in a breakout room
}

func (d *door) evidence() Transition { return Transition{Signs: d.signs, Text: d.text} }

func (d *door) deadline() time.Time {
	var ts [3]time.Time
	if !d.in.IsZero() && !d.inside {
		ts[0] = d.in.Add(d.hold)
	}
	if !d.unknown.IsZero() {
		ts[1] = d.unknown.Add(unknownTime)
	}
	if !d.back.IsZero() {
		ts[2] = d.back.Add(backTime)
	}
	return earliest(ts[:]...)
}

func (m *Machine) joined(ev Joined) {
	if m.life.state != Lobby && m.life.state != Waiting {
		return
	}
	switch {
	case ev.Err != nil:
		m.failed(ev.Err, ReasonJoinFailed)
	case m.o.DryRun:
		m.leave(ReasonDryRun, m.door.evidence())
	case m.life.state == Lobby:
		m.enter(Waiting, m.o.MaxWait, m.door.evidence())
	}
}

func (m *Machine) seen(ev CallEvent) {
	switch ev := ev.(type) {
	case SeenPlace:
		m.seenPlace(ev)
	case SeenLobby:
		m.door.lobby = &ev
		m.changed()
	case SeenPeople:
		m.seenPeople(ev)
	case SeenSpeaking:
		m.people.seenSpeaking(m.now, ev)
		m.showFloor(ev)
	case SeenChat:
		m.seenChat(ev)
	case SeenDevice:
		m.mic.seen(m, ev)
	case SeenDialog:
		m.seenDialog(ev)
	case SeenFault:
		action := "retrying"
		if ev.Mended {
			action = "restarted"
		}
		m.faulted(Fault{Part: ev.Part, Kind: ev.Kind}, action)
	}
}

func (m *Machine) seenPlace(ev SeenPlace) {
	if m.life.state.Over() {
		if m.life.state == Leaving && ev.Place == PlaceOut {
			m.life.out.left = true
		}
		return
	}
	if m.life.state == Requested || m.life.state == Starting {
		return
	}
	d := &m.door
	d.place, d.signs, d.text = ev.Place, ev.Signs, ev.Text
	if ev.Place == PlaceWaiting {
		d.why = Reason(ev.Reason)
	}
	if ev.Place != PlaceIn {
		d.in = time.Time{}
	}
	if ev.Place != PlaceUnknown {
		d.unknown = time.Time{}
	}
	switch ev.Place {
	case PlaceIn:
		d.back = time.Time{}
		if d.broken != ev.Breakout {
			d.broken = ev.Breakout
			m.tell(wire.Report{State: &wire.StateChange{State: string(m.life.state), Before: string(m.life.state), HeldBy: m.life.held, Breakout: d.broken}})
			m.changed()
		}
		if d.in.IsZero() {
			d.in, d.hold = m.now, m.o.AdmissionHold
		}
		m.expireDoor()
	case PlaceLobby, PlaceWaiting:
		if m.life.state.In() && d.back.IsZero() {
			d.back = m.now // settleSound closes the gate already
		}
		if ev.Place == PlaceWaiting && m.life.state == Lobby {
			m.enter(Waiting, m.o.MaxWait, d.evidence())
		}
	case PlaceOut:
		m.life.out.left = true
		m.leave(m.outReason(ev), d.evidence())
	case PlaceUnknown:
		if slices.Contains(ev.Signs, SignCrashed) {
			m.pageGone()
			return
		}
		if d.unknown.IsZero() {
			d.unknown = m.now
		}
	}
}

// outReason never makes a denial of what the page does not call one.
func (m *Machine) outReason(ev SeenPlace) Reason {
	switch {
	case ev.Reason != "":
		return Reason(ev.Reason)
	case m.life.state.In():
		return ReasonPageLost
	default:
		return ReasonJoinFailed
	}
}

func (m *Machine) expireDoor() {
	d := &m.door
	if m.life.state.Over() {
		*d = door{place: d.place, signs: d.signs, text: d.text, lobby: d.lobby}
		return
	}
	if !d.in.IsZero() && !d.inside && !m.now.Before(d.in.Add(d.hold)) && (m.life.state == Lobby || m.life.state == Waiting) {
		m.admitted()
	}
	if !d.unknown.IsZero() && m.due(d.unknown.Add(unknownTime)) {
		d.unknown = time.Time{}
		m.leave(ReasonPageLost, d.evidence())
	}
	if !d.back.IsZero() && m.due(d.back.Add(backTime)) {
		d.back, d.inside = time.Time{}, false
		if m.life.state.In() {
			m.hush("leave")
			m.enter(Waiting, m.o.MaxWait, d.evidence())
		}
	}
}

// admitted: the hold is over. The devices are read again before anything else, because platforms reset them.
func (m *Machine) admitted() {
	m.door.inside = true
	if m.life.admitted.IsZero() {
		m.life.admitted = m.now
	}
	m.people.arrived(m.now)
	m.enter(Admitted, limits[Admitted], m.door.evidence())
	m.mic.readBack = true
	m.sound.arm(m)
}
