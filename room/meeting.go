package room

import (
	"crypto/subtle"
	"slices"
	"time"

	"parley/room/wire"
)

// connID numbers a connection of the server. Zero is none.
type connID int64

// seat is somebody in a room, or at its door.
type seat struct {
	id    string
	token string
	name  string
	// conn is where the participant is connected; zero while the connection is lost.
	conn   connID
	lostAt time.Time

	inside   bool // or waiting at the door
	host     bool
	muted    bool
	hand     bool
	speaking bool
	// loudAt is when a loud packet came last.
	loudAt time.Time
	// chatFrom is the number of the last message before the participant came in.
	chatFrom int64
	chat     bucket
	// media numbers the media connection; zero is none yet.
	media   int
	mediaAt time.Time
	// mediaDue is when a new media connection is to be made; zero is never.
	mediaDue time.Time
}

func (s *seat) person() wire.Person {
	return wire.Person{
		ID: s.id, Name: s.name, Host: s.host, Muted: s.muted, Hand: s.hand,
		Lost: s.conn == 0, Speaking: s.speaking,
	}
}

func (s *seat) waiter() wire.Waiter { return wire.Waiter{ID: s.id, Name: s.name} }

// meeting is what happens in one room: who is in, who waits, what was said in the chat. It is pure: it takes the
// time as an argument and returns what is to be done as effects. One goroutine, its hall's, calls it.
type meeting struct {
	room  string
	rules Options
	// fresh gives an id and a token; it is a field so that tests have the same ones every time.
	fresh func() (id, token string)

	seats []*seat // in the order of arrival; those who wait are in between
	chat  []wire.Chat
	seq   int64
	door  bucket
}

// effect is something for the hall to do: one of the types below.
type effect interface{ effect() }

type (
	// tell sends a notice over a connection.
	tell struct {
		conn   connID
		notice wire.Notice
	}
	// hang ends a connection after what was told to it before.
	hang struct {
		conn   connID
		reason wire.Reason
	}
	// openMedia begins a new media connection of a seat, in place of the one before.
	openMedia struct {
		seat  string
		conn  connID
		media int
	}
	// closeMedia ends the media connection of a seat. With forget nobody hears the seat any more; without, its
	// place in everybody's session stays for when it comes back.
	closeMedia struct {
		seat   string
		forget bool
	}
	// hush stops or lets through the sound of a seat.
	hush struct {
		seat  string
		muted bool
	}
	// answer hands a session description to a media connection.
	answer struct {
		seat string
		wire.Answer
	}
)

func (tell) effect()       {}
func (hang) effect()       {}
func (openMedia) effect()  {}
func (closeMedia) effect() {}
func (hush) effect()       {}
func (answer) effect()     {}

// empty says whether nobody is in the room and nobody waits.
func (m *meeting) empty() bool { return len(m.seats) == 0 }

func (m *meeting) seatOf(conn connID) *seat {
	for _, s := range m.seats {
		if s.conn == conn && conn != 0 {
			return s
		}
	}
	return nil
}

func (m *meeting) seatByID(id string) *seat {
	for _, s := range m.seats {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (m *meeting) count(inside bool) int {
	n := 0
	for _, s := range m.seats {
		if s.inside == inside {
			n++
		}
	}
	return n
}

// everyone tells all who are in and connected, except one.
func (m *meeting) everyone(except *seat, n wire.Notice) []effect {
	var out []effect
	for _, s := range m.seats {
		if s.inside && s.conn != 0 && s != except {
			out = append(out, tell{s.conn, n})
		}
	}
	return out
}

// join seats a new participant, or gives one who comes back the seat it had.
func (m *meeting) join(now time.Time, conn connID, r wire.Join) []effect {
	if s := m.seatByToken(r.Token); s != nil {
		return m.comeBack(now, s, conn, r)
	}
	refuse := func(reason wire.Reason) []effect {
		return []effect{tell{conn, wire.Refused{Reason: reason}}, hang{conn, reason}}
	}
	name, err := wire.CleanName(r.Name)
	if err != nil {
		return refuse(wire.ReasonBadName)
	}
	keyed := m.rules.HostKey != ""
	host := keyed && subtle.ConstantTimeCompare([]byte(r.Key), []byte(m.rules.HostKey)) == 1
	waits := m.rules.Lobby && !host && (keyed || m.count(true) > 0)
	// As many may wait as fit in; a host need not queue behind them.
	if m.count(true) >= m.rules.MaxPeople || waits && m.count(false) >= m.rules.MaxPeople {
		return refuse(wire.ReasonFull)
	}
	if !m.door.take(now, joinBurst, joinEvery) {
		return refuse(wire.ReasonBusy)
	}
	id, token := m.fresh()
	s := &seat{id: id, token: token, name: name, conn: conn, muted: r.Muted, host: host}
	m.seats = append(m.seats, s)
	if waits {
		out := []effect{tell{conn, m.waitingNotice(s)}}
		return append(out, m.everyone(nil, wire.Knock{Waiter: s.waiter()})...)
	}
	return m.enter(now, s)
}

func (m *meeting) seatByToken(token string) *seat {
	if token == "" {
		return nil
	}
	for _, s := range m.seats {
		if subtle.ConstantTimeCompare([]byte(s.token), []byte(token)) == 1 {
			return s
		}
	}
	return nil
}

func (m *meeting) comeBack(now time.Time, s *seat, conn connID, r wire.Join) []effect {
	var out []effect
	if s.conn != 0 {
		out = append(out, tell{s.conn, wire.Ended{Reason: wire.ReasonReplaced}}, hang{s.conn, wire.ReasonReplaced})
	}
	s.conn, s.lostAt = conn, time.Time{}
	if !s.inside {
		out = append(out, tell{conn, m.waitingNotice(s)})
		return append(out, m.everyone(nil, wire.Knock{Waiter: s.waiter()})...)
	}
	if s.muted != r.Muted {
		s.muted = r.Muted
		out = append(out, hush{s.id, s.muted})
	}
	out = append(out, tell{conn, m.welcome(s, max(r.Seen, s.chatFrom))})
	out = append(out, m.everyone(s, wire.Here{Person: s.person()})...)
	return append(out, m.newMedia(now, s))
}

func (m *meeting) newMedia(now time.Time, s *seat) effect {
	s.media++
	s.mediaAt, s.mediaDue = now, time.Time{}
	return openMedia{s.id, s.conn, s.media}
}

func (m *meeting) waitingNotice(s *seat) wire.Notice {
	return wire.Waiting{Room: m.room, Token: s.token, Hold: m.rules.Hold.Milliseconds()}
}

func (m *meeting) welcome(s *seat, seen int64) wire.Notice {
	w := wire.Welcome{Room: m.room, Self: s.id, Token: s.token, Hold: m.rules.Hold.Milliseconds()}
	for _, o := range m.seats {
		if o.inside {
			w.People = append(w.People, o.person())
		} else if o.conn != 0 {
			w.Waiters = append(w.Waiters, o.waiter())
		}
	}
	for _, c := range m.chat {
		if c.Seq > seen {
			w.Chat = append(w.Chat, c)
		}
	}
	return w
}

// enter lets a seat in.
func (m *meeting) enter(now time.Time, s *seat) []effect {
	s.inside = true
	s.chatFrom = m.seq
	// Who is let in counts as arriving now, so that hosting passes on in the order of being inside.
	m.seats = append(slices.DeleteFunc(m.seats, func(o *seat) bool { return o == s }), s)
	if m.rules.HostKey == "" && m.count(true) == 1 {
		s.host = true
	}
	out := []effect{tell{s.conn, m.welcome(s, m.seq)}, hush{s.id, s.muted}}
	out = append(out, m.everyone(s, wire.Here{Person: s.person()})...)
	return append(out, m.newMedia(now, s))
}

// leave takes a seat away for good.
func (m *meeting) leave(s *seat, reason wire.Reason) []effect {
	m.seats = slices.DeleteFunc(m.seats, func(o *seat) bool { return o == s })
	if !s.inside {
		return m.everyone(nil, wire.Unknock{ID: s.id})
	}
	out := []effect{closeMedia{s.id, true}}
	out = append(out, m.everyone(nil, wire.Gone{ID: s.id, Reason: reason})...)
	if m.count(true) == 0 {
		return append(out, m.end(wire.ReasonEnded)...)
	}
	if s.host && m.rules.HostKey == "" {
		heir := m.heir()
		heir.host = true
		out = append(out, m.everyone(nil, wire.Here{Person: heir.person()})...)
	}
	return out
}

// heir is who becomes the host when the host is gone: the longest inside, those connected first.
func (m *meeting) heir() *seat {
	var heir *seat
	for _, s := range m.seats {
		if s.inside && (heir == nil || heir.conn == 0 && s.conn != 0) {
			heir = s
		}
	}
	return heir
}

// end empties the room.
func (m *meeting) end(reason wire.Reason) []effect {
	var out []effect
	for _, s := range m.seats {
		if s.conn != 0 {
			out = append(out, tell{s.conn, wire.Ended{Reason: reason}}, hang{s.conn, reason})
		}
		if s.inside {
			out = append(out, closeMedia{s.id, true})
		}
	}
	m.seats, m.chat, m.seq = nil, nil, 0
	return out
}

// lost notes that a connection ended without a goodbye: the seat is kept for a while.
func (m *meeting) lost(now time.Time, conn connID) []effect {
	s := m.seatOf(conn)
	if s == nil {
		return nil
	}
	s.conn, s.lostAt = 0, now
	if !s.inside {
		return m.everyone(nil, wire.Unknock{ID: s.id})
	}
	s.speaking, s.mediaDue = false, time.Time{}
	out := []effect{closeMedia{s.id, false}}
	return append(out, m.everyone(nil, wire.Here{Person: s.person()})...)
}

// request carries out what a seated participant asks for.
func (m *meeting) request(now time.Time, conn connID, r wire.Request) []effect {
	s := m.seatOf(conn)
	if s == nil {
		return nil // a message that crossed with the end of its seat
	}
	switch r := r.(type) {
	case wire.Leave:
		out := []effect{tell{conn, wire.Ended{Reason: wire.ReasonLeft}}, hang{conn, wire.ReasonLeft}}
		return append(out, m.leave(s, wire.ReasonLeft)...)
	case wire.Ping:
		return []effect{tell{conn, wire.Pong{}}}
	case wire.Join:
		return []effect{tell{conn, wire.Problem{Code: wire.ReasonProtocol}}}
	case wire.Mute:
		if !s.inside { // decided at the door
			s.muted = r.Muted
			return nil
		}
	}
	if !s.inside {
		return []effect{tell{conn, wire.Problem{Code: wire.ReasonProtocol}}}
	}
	switch r := r.(type) {
	case wire.Answer:
		if r.Media != s.media {
			return nil // to an offer of a connection that was replaced
		}
		return []effect{answer{s.id, r}}
	case wire.Restart:
		return m.restart(now, s, r.Media)
	case wire.Mute:
		return m.mute(s, r.Muted)
	case wire.Hand:
		if s.hand == r.Up {
			return nil
		}
		s.hand = r.Up
		return m.everyone(nil, wire.Here{Person: s.person()})
	case wire.Say:
		return m.say(now, s, r)
	case wire.Admit:
		return m.admit(now, s, r.ID)
	case wire.Decline:
		return m.decline(s, r.ID)
	case wire.Remove:
		return m.remove(s, r.ID)
	case wire.EndAll:
		if !s.host {
			return []effect{tell{conn, wire.Problem{Code: wire.ReasonNotHost}}}
		}
		return m.end(wire.ReasonEnded)
	}
	return []effect{tell{conn, wire.Problem{Code: wire.ReasonProtocol}}}
}

// restart makes a media connection anew, though not too soon after the last time. A request about one that was
// replaced already is late and changes nothing.
func (m *meeting) restart(now time.Time, s *seat, media int) []effect {
	if media != s.media || s.conn == 0 {
		return nil
	}
	if due := s.mediaAt.Add(restartEvery); now.Before(due) {
		s.mediaDue = due
		return nil
	}
	return []effect{m.newMedia(now, s)}
}

func (m *meeting) mute(s *seat, muted bool) []effect {
	if s.muted == muted {
		return nil
	}
	s.muted = muted
	if muted {
		s.speaking = false
	}
	out := []effect{hush{s.id, muted}}
	return append(out, m.everyone(nil, wire.Here{Person: s.person()})...)
}

func (m *meeting) say(now time.Time, s *seat, r wire.Say) []effect {
	problem := func(code wire.Reason) []effect { return []effect{tell{s.conn, wire.Problem{Code: code, Ref: r.Ref}}} }
	text, err := wire.CleanChat(r.Text)
	if err != nil {
		return problem(wire.ReasonBadChat)
	}
	if !s.chat.take(now, chatBurst, chatEvery) {
		return problem(wire.ReasonTooFast)
	}
	m.seq++
	c := wire.Chat{Seq: m.seq, From: s.id, Name: s.name, Text: text, At: now.UnixMilli()}
	m.chat = append(m.chat, c)
	if len(m.chat) > maxChatKept {
		m.chat = slices.Delete(m.chat, 0, len(m.chat)-maxChatKept)
	}
	return m.everyone(nil, c)
}

func (m *meeting) admit(now time.Time, by *seat, id string) []effect {
	s := m.seatByID(id)
	switch {
	case s == nil || s.inside || s.conn == 0:
		return []effect{tell{by.conn, wire.Problem{Code: wire.ReasonUnknown}}}
	case m.count(true) >= m.rules.MaxPeople:
		return []effect{tell{by.conn, wire.Problem{Code: wire.ReasonFull}}}
	}
	out := m.everyone(nil, wire.Unknock{ID: s.id})
	return append(out, m.enter(now, s)...)
}

func (m *meeting) decline(by *seat, id string) []effect {
	s := m.seatByID(id)
	if s == nil || s.inside {
		return []effect{tell{by.conn, wire.Problem{Code: wire.ReasonUnknown}}}
	}
	var out []effect
	if s.conn != 0 {
		out = []effect{tell{s.conn, wire.Refused{Reason: wire.ReasonDeclined}}, hang{s.conn, wire.ReasonDeclined}}
	}
	return append(out, m.leave(s, wire.ReasonDeclined)...)
}

func (m *meeting) remove(by *seat, id string) []effect {
	s := m.seatByID(id)
	switch {
	case !by.host:
		return []effect{tell{by.conn, wire.Problem{Code: wire.ReasonNotHost}}}
	case s == nil || !s.inside || s == by:
		return []effect{tell{by.conn, wire.Problem{Code: wire.ReasonUnknown}}}
	}
	var out []effect
	if s.conn != 0 {
		out = []effect{tell{s.conn, wire.Ended{Reason: wire.ReasonRemoved}}, hang{s.conn, wire.ReasonRemoved}}
	}
	return append(out, m.leave(s, wire.ReasonRemoved)...)
}

// loud notes that a seat's packets are loud.
func (m *meeting) loud(now time.Time, id string) []effect {
	s := m.seatByID(id)
	if s == nil || !s.inside || s.muted || s.conn == 0 {
		return nil
	}
	s.loudAt = now
	if s.speaking {
		return nil
	}
	s.speaking = true
	return m.everyone(nil, wire.Speaking{ID: s.id, On: true})
}

// mediaFailed notes that a media connection broke while its participant is still connected.
func (m *meeting) mediaFailed(now time.Time, id string, media int) []effect {
	if s := m.seatByID(id); s != nil && s.inside {
		return m.restart(now, s, media)
	}
	return nil
}

// deadline is when tick has something to do; zero when it has not.
func (m *meeting) deadline() time.Time {
	var first time.Time
	at := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	for _, s := range m.seats {
		if s.conn == 0 {
			at(s.lostAt.Add(m.rules.Hold))
		}
		if s.speaking {
			at(s.loudAt.Add(speakingHold))
		}
		if !s.mediaDue.IsZero() {
			at(s.mediaDue)
		}
	}
	return first
}

// tick does what is due: it gives up seats that were lost for too long, ends the marks of those who ceased to speak,
// and makes media connections that were put off.
func (m *meeting) tick(now time.Time) []effect {
	var out []effect
	for _, s := range slices.Clone(m.seats) {
		if s.speaking && !now.Before(s.loudAt.Add(speakingHold)) {
			s.speaking = false
			out = append(out, m.everyone(nil, wire.Speaking{ID: s.id, On: false})...)
		}
		if !s.mediaDue.IsZero() && !now.Before(s.mediaDue) {
			out = append(out, m.newMedia(now, s))
		}
		if s.conn == 0 && !now.Before(s.lostAt.Add(m.rules.Hold)) && slices.Contains(m.seats, s) {
			out = append(out, m.leave(s, wire.ReasonLost)...)
		}
	}
	return out
}

// bucket counts what somebody may still send: a burst at once, then one in each interval.
type bucket struct {
	used float64
	at   time.Time
}

// take says whether one more is allowed at this moment, and counts it.
func (b *bucket) take(now time.Time, burst int, every time.Duration) bool {
	if !b.at.IsZero() {
		b.used = max(0, b.used-float64(now.Sub(b.at))/float64(every))
	}
	b.at = now
	if b.used+1 > float64(burst) {
		return false
	}
	b.used++
	return true
}
