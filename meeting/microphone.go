package meeting

import (
	"time"

	"parley/meeting/wire"
	"parley/turn"
)

// Times of the microphone.
const (
	micTime      = 20 * time.Second // one act, with all the tries of the platform's module
	micLinger    = 400 * time.Millisecond
	micRetry     = 5 * time.Second
	micRetries   = 6
	micHoldBound = 10 * time.Minute // the longest time that it stays on although nothing is said
	micArmBound  = 10 * time.Second // how long it is on for an answer that stands ready
	micDoubt     = 500 * time.Millisecond
)

// microphone is the switch in the page. What it carries is only what we play, so that one left on sends silence; it is
// shut all the same, because people see it.
type microphone struct {
	device   Device
	camera   Device
	readBack bool      // read it once after admission
	hold     time.Time // told to stay on, until
	linger   time.Time // after an utterance, until
	op       Op        // the act that runs; zero: none
	on       bool      // what it asks for
	until    time.Time
	retry    time.Time // when to try again to shut it
	retries  int
	err      string // of the last try to shut it; empty: it worked
	warned   bool   // mic-open was reported
	orders   []micOrder
	failedOn bool // the last try to open it did not; nobody tries again by itself

	armed time.Time // on for an answer that stands ready, until
	spent bool      // it was armed for as long as it may be
	// doubt is until when the page may still take back that it is off: news of before an act of ours may come after it.
	doubt     time.Time
	hostMuted bool // somebody else shut it: it stays shut until we are asked to speak, or asked by the agent
}

// micOrder is a command that waits for the switch.
type micOrder struct {
	id string
	on bool
}

func (mc *microphone) deadline() time.Time {
	return earliest(mc.hold, mc.linger, mc.until, mc.retry, mc.armed, mc.doubt)
}

// lost: there is no page any more.
func (mc *microphone) lost() {
	mc.device, mc.camera, mc.op, mc.until, mc.retry, mc.hold, mc.linger = DeviceUnknown, DeviceUnknown, 0, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	mc.armed, mc.doubt = time.Time{}, time.Time{}
}

// wanted says whether there is a reason for the microphone to be on: something is being said, or a bounded hold.
func (m *Machine) micWanted() bool {
	return m.voice.wantsMic() || !m.mic.hold.IsZero() || !m.mic.linger.IsZero() || !m.mic.armed.IsZero()
}

// settleMicrophone brings the switch to where it should be, one act at a time.
func (m *Machine) settleMicrophone() {
	mc := &m.mic
	if !m.life.state.In() || m.life.out.pageGone {
		return
	}
	m.arm()
	if mc.op != 0 || !mc.doubt.IsZero() {
		return
	}
	want := m.micWanted()
	switch {
	case want && mc.device != DeviceOn && !mc.failedOn && !mc.hostMuted:
		m.switchMic(true)
	case !want && mc.device == DeviceOn && mc.retry.IsZero() && mc.retries < micRetries:
		m.switchMic(false)
	case mc.readBack || (!want && mc.ordered(false)):
		m.switchMic(false)
	}
}

// arm opens the microphone for an answer that stands ready, before the turn that it answers is over: the click takes
// longer than everything else. What it carries until then is silence.
func (m *Machine) arm() {
	mc := &m.mic
	switch expecting := m.life.state == Attending && m.o.Permits.Speak && m.floor.engine.Expecting(); {
	case !expecting:
		if !mc.armed.IsZero() && m.voice.now == nil {
			m.lingerMic()
		}
		mc.armed, mc.spent = time.Time{}, false
	case mc.armed.IsZero() && !mc.spent:
		mc.armed, mc.spent, mc.failedOn, mc.retries = m.now.Add(micArmBound), true, false, 0
	}
}

// micShown keeps in mind what the page showed of the microphone while we were heard.
func (m *Machine) micShown() {
	if u := m.voice.now; u != nil && u.sounding() && m.mic.device != DeviceOn {
		u.micSeen = m.mic.device
	}
}

func (mc *microphone) ordered(on bool) bool {
	for _, o := range mc.orders {
		if o.on == on {
			return true
		}
	}
	return false
}

func (m *Machine) switchMic(on bool) {
	mc := &m.mic
	mc.op, mc.on, mc.until, mc.readBack, mc.retry = m.nextOp(), on, m.now.Add(micTime), false, time.Time{}
	m.do(SetMicrophone{Op: mc.op, On: on})
}

func (m *Machine) microphoneSet(ev MicrophoneSet) {
	mc := &m.mic
	if mc.op == 0 || ev.Op != mc.op {
		return
	}
	mc.op, mc.until = 0, time.Time{}
	if ev.Device == "" {
		ev.Device = DeviceUnknown
	}
	mc.device = ev.Device
	m.micShown()
	m.changed()
	if mc.on {
		mc.failedOn = mc.device != DeviceOn
	} else {
		m.shut(ev)
	}
	m.micAnswered(ev)
	if m.life.state == Admitted {
		m.announceNow()
	}
}

// shut looks at what came of switching it off.
func (m *Machine) shut(ev MicrophoneSet) {
	mc := &m.mic
	if mc.device == DeviceOff || mc.device == DeviceBlocked {
		if mc.warned {
			m.tell(wire.Report{MicOpen: &wire.MicOpen{State: string(mc.device), Closed: true}})
		}
		mc.err, mc.retries, mc.warned = "", 0, false
		return
	}
	mc.err = "the microphone could not be shown to be off"
	if m.micWanted() {
		return // it is needed again by now
	}
	mc.retries++
	gaveUp := mc.retries >= micRetries
	if !gaveUp {
		mc.retry = m.now.Add(micRetry)
	}
	if !mc.warned || gaveUp {
		mc.warned = true
		m.tell(wire.Report{MicOpen: &wire.MicOpen{State: string(mc.device), Error: mc.err, GaveUp: gaveUp}})
	}
}

// micAnswered answers the commands whose act this was.
func (m *Machine) micAnswered(ev MicrophoneSet) {
	mc := &m.mic
	var rest []micOrder
	for _, o := range mc.orders {
		if o.on != mc.on {
			rest = append(rest, o)
			continue
		}
		a := wire.Answer{Mic: &wire.Mic{State: string(mc.device)}}
		if (mc.device == DeviceOn) != o.on {
			a.Error = micError(o.on, mc.device)
		}
		m.answer(o.id, a)
	}
	mc.orders = rest
}

func micError(on bool, d Device) *wire.Error {
	switch {
	case d == DeviceBlocked:
		return &wire.Error{Code: wire.CodeUnavailable, Text: "the microphone is blocked: the host does not let us unmute, or the page has no permission for it"}
	case d == DeviceUnknown:
		return &wire.Error{Code: wire.CodeUncertain, Text: "the page does not show whether the microphone is on"}
	case on:
		return &wire.Error{Code: wire.CodeFailed, Text: "the microphone could not be switched on"}
	default:
		return &wire.Error{Code: wire.CodeFailed, Text: "the microphone could not be switched off; it carries only what is played, and switching it off is tried again"}
	}
}

// mute is the command. Muting stops nothing that is being said; unmuting holds for a bounded time.
func (m *Machine) mute(id string, mute bool) *wire.Error {
	mc := &m.mic
	if !m.life.state.In() {
		return &wire.Error{Code: wire.CodeNotYet, Text: "not in the meeting yet (state " + string(m.life.state) + ")"}
	}
	if !mute && !m.o.Permits.Speak {
		return &wire.Error{Code: wire.CodeNotAllowed, Text: "this meeting was joined without the permission to speak"}
	}
	if mute {
		mc.hold, mc.linger, mc.armed = time.Time{}, time.Time{}, time.Time{}
		if m.voice.wantsMic() {
			m.hush("stop") // shut in the middle of an utterance, the rest would be said to nobody
		}
	} else {
		mc.hold, mc.hostMuted = m.now.Add(micHoldBound), false
	}
	mc.failedOn, mc.retries = false, 0
	if mc.op == 0 && mc.device == map[bool]Device{true: DeviceOff, false: DeviceOn}[mute] {
		m.answer(id, wire.Answer{Mic: &wire.Mic{State: string(mc.device)}})
		return nil
	}
	mc.orders = append(mc.orders, micOrder{id: id, on: !mute})
	return nil
}

// seen is what the page shows of itself: a host may mute us, and platforms reset devices.
func (mc *microphone) seen(m *Machine, ev SeenDevice) {
	if ev.Camera != "" {
		mc.camera = ev.Camera
	}
	if ev.Microphone != "" && mc.op == 0 {
		if mc.device != ev.Microphone {
			mc.retries, mc.failedOn = 0, false
		}
		switch {
		case ev.Microphone == DeviceOn:
			mc.doubt, mc.hostMuted = time.Time{}, false
		case mc.device == DeviceOn && (ev.Microphone == DeviceOff || ev.Microphone == DeviceBlocked) && m.life.state.In():
			mc.doubt = m.now.Add(micDoubt)
		}
		mc.device = ev.Microphone
		m.micShown()
	}
	m.changed()
}

// muted by somebody else: what is being said is said to nobody, and the microphone stays shut until somebody asks.
func (m *Machine) mutedByHost() {
	mc := &m.mic
	mc.hostMuted = true
	mc.hold, mc.linger, mc.armed = time.Time{}, time.Time{}, time.Time{}
	m.floorStep(turn.Draft{}) // it would be said to nobody
	if m.voice.wantsMic() {
		m.hush("host-mute")
	}
	m.changed()
}

// askedToSpeak is the host's request to unmute: it takes the mute back.
func (m *Machine) askedToSpeak() { m.mic.hostMuted = false }

func (m *Machine) expireMicrophone() {
	mc := &m.mic
	if m.due(mc.hold) {
		mc.hold = time.Time{}
	}
	if m.due(mc.linger) {
		mc.linger = time.Time{}
	}
	if m.due(mc.armed) {
		mc.armed = time.Time{}
	}
	if m.due(mc.doubt) {
		mc.doubt = time.Time{}
		m.mutedByHost()
	}
	if m.due(mc.until) {
		m.microphoneSet(MicrophoneSet{Op: mc.op, Device: DeviceUnknown, Err: ErrLate})
	}
	if m.due(mc.retry) {
		mc.retry = time.Time{}
		if mc.op == 0 && !m.micWanted() && m.life.state.In() {
			m.switchMic(false)
		}
	}
}
