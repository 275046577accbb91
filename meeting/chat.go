package meeting

import (
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/meeting/consent"
	"parley/meeting/wire"
)

// Bounds of the chat.
const (
	chatTime    = 30 * time.Second // one message, from the click to the proof
	outboxBound = 20
	chatLength  = 2000 // characters
	ownKept     = 50
	ownLong     = 24 // characters from which a text of ours is known wherever it stands in a message
	ownEcho     = 2 * time.Minute
	labelLong   = 40 // characters
)

// post is a message of ours that waits, or is on its way.
type post struct {
	op       Op
	text     string
	to       Audience
	order    string // command that is answered; empty: the machine's own message
	first    bool   // before what the agent wants to say
	confirms bool   // the confirmation of an objection
}

// chatbox is what we write and what we have written. One message is on its way at a time.
type chatbox struct {
	waiting []post
	now     *post
	until   time.Time
	own     []ownText
	n       int64 // messages of all, numbered
	last    said  // the newest message of another
}

// said is a message of somebody else that may go on in the next one.
type said struct {
	sender, text string
	at           time.Time
}

// goesOn is how soon the second half of a sentence follows the first.
const goesOn = 10 * time.Second

// ownText is a message of ours. Each accounts for one message that the page shows without saying whose it is.
type ownText struct {
	text string
	at   time.Time
	seen bool
}

func (c *chatbox) deadline() time.Time { return c.until }

// confirming says that the confirmation of an objection is still to be said.
func (c *chatbox) confirming() bool {
	if c.now != nil && c.now.confirms {
		return true
	}
	for _, p := range c.waiting {
		if p.confirms {
			return true
		}
	}
	return false
}

func (c *chatbox) giveUpConfirming() {
	c.keep(func(p post) bool { return !p.confirms })
	if c.now != nil && c.now.confirms {
		c.now, c.until = nil, time.Time{}
	}
}

func (c *chatbox) keep(ok func(post) bool) {
	var kept []post
	for _, p := range c.waiting {
		if ok(p) {
			kept = append(kept, p)
		}
	}
	c.waiting = kept
}

func (c *chatbox) drop(op Op) {
	c.keep(func(p post) bool { return p.op != op })
	if c.now != nil && c.now.op == op {
		c.now, c.until = nil, time.Time{}
	}
}

// dropAnnouncements takes back what was not said yet. One that is on its way stays: it is said, and known as ours.
func (c *chatbox) dropAnnouncements() {
	c.keep(func(p post) bool { return !p.first || p.confirms })
}

func (c *chatbox) push(m *Machine, p post) bool {
	p.text = typed(p.text)
	if len(c.waiting) >= outboxBound && !p.first {
		return false
	}
	if !p.first {
		c.waiting = append(c.waiting, p)
		return true
	}
	i := 0
	for i < len(c.waiting) && c.waiting[i].first {
		i++
	}
	c.waiting = append(c.waiting[:i:i], append([]post{p}, c.waiting[i:]...)...)
	return true
}

// typed leaves out of a message what nobody types and no page shows as written: control characters but line breaks and
// tabs, and characters that turn the direction of the text around them.
func typed(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"))
}

// settleChat sends the next message when none is on its way.
func (m *Machine) settleChat() {
	c := &m.chat
	if m.life.state == Leaving { // on the way out only the confirmation is worth waiting for
		m.dropOrders()
	}
	if c.now != nil || len(c.waiting) == 0 || m.life.state == Ended {
		return
	}
	if m.life.out.pageGone || m.life.out.left {
		m.dropChat()
		return
	}
	p := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.now, c.until = &p, m.now.Add(chatTime)
	c.own = append(c.own, ownText{text: fold(p.text), at: m.now})
	if len(c.own) > ownKept {
		c.own = c.own[len(c.own)-ownKept:]
	}
	m.do(SendChat{Op: p.op, Text: p.text, To: p.to})
}

func (m *Machine) dropOrders() {
	for _, p := range m.chat.waiting {
		if p.order != "" {
			m.answer(p.order, wire.Answer{Error: m.over()})
		}
	}
	m.chat.keep(func(p post) bool { return p.confirms })
}

// dropChat gives up what waits: there is no chat any more.
func (m *Machine) dropChat() {
	c := &m.chat
	all := c.waiting
	if c.now != nil {
		all = append(all, *c.now)
	}
	c.waiting, c.now, c.until = nil, nil, time.Time{}
	for _, p := range all {
		if p.order != "" {
			m.answer(p.order, wire.Answer{Error: m.over()})
		}
	}
}

func (m *Machine) chatSent(ev ChatSent) {
	c := &m.chat
	if c.now == nil || ev.Op != c.now.op {
		return
	}
	p := *c.now
	c.now, c.until = nil, time.Time{}
	switch {
	case p.op == m.announce.op && m.announce.sending:
		m.announced(ev)
	case p.confirms:
		what := "confirmed"
		if ev.Err != nil {
			what = "confirm-failed"
		}
		m.note(LedgerEntry{What: what, How: "chat", SentTo: string(p.to), Reason: string(chatFailure(ev, p.to))})
	case p.order != "":
		m.answer(p.order, chatAnswer(ev))
	}
	m.changed()
}

func chatAnswer(ev ChatSent) wire.Answer {
	if ev.Err == nil {
		return wire.Answer{Chat: &wire.Sent{ID: ev.Receipt.ID, SentTo: string(ev.Receipt.SentTo), Private: ev.Receipt.Private}}
	}
	e := &wire.Error{Code: wire.CodeFailed, Text: "the message was not sent"}
	switch f := chatFailure(ev, Everyone); {
	case f == ChatNotConfirmed || errors.Is(ev.Err, ErrLate):
		e.Code, e.Text = wire.CodeUncertain, "the message was written, but it never showed up as ours: read the chat before sending it again"
	case f == ChatUnavailable:
		e.Code, e.Text = wire.CodeUnavailable, "this meeting has no chat, or it is turned off"
	case f == ChatRestricted:
		e.Code, e.Text = wire.CodeUnavailable, "this meeting's chat cannot be addressed to everyone"
	}
	return wire.Answer{Error: e}
}

func (m *Machine) expireChat() {
	if c := &m.chat; c.now != nil && m.due(c.until) {
		m.chatSent(ChatSent{Op: c.now.op, Err: ErrLate})
	}
}

// audience is where messages go: where the announcement went.
func (m *Machine) audience() Audience {
	if m.announce.sentTo == string(HostOnly) {
		return HostOnly
	}
	return Everyone
}

func (m *Machine) sendChat(id, text string, to Audience) *wire.Error {
	to = or(to, m.audience())
	switch {
	case to != Everyone && to != HostOnly:
		return &wire.Error{Code: wire.CodeBadInput, Text: "a message goes to everyone or to the host"}
	case !m.life.state.In():
		return &wire.Error{Code: wire.CodeNotYet, Text: "not in the meeting yet (state " + string(m.life.state) + "); wait for the state event"}
	case !m.o.Permits.Chat:
		return &wire.Error{Code: wire.CodeNotAllowed, Text: "this meeting was joined without the permission to chat"}
	case strings.TrimSpace(typed(text)) == "":
		return &wire.Error{Code: wire.CodeBadInput, Text: "the message is empty"}
	case utf8.RuneCountInString(text) > chatLength:
		return &wire.Error{Code: wire.CodeBadInput, Text: "the message is longer than 2000 characters; send it in parts"}
	case !m.chat.push(m, post{op: m.nextOp(), text: text, to: to, order: id}):
		return &wire.Error{Code: wire.CodeBusy, Text: "20 messages wait to be sent; try again when they are out"}
	}
	return nil
}

// seenChat reports every message, and obeys those that object.
func (m *Machine) seenChat(ev SeenChat) {
	if m.life.state == Ended || m.life.admitted.IsZero() {
		return
	}
	c := &m.chat
	c.n++
	rest, own, quoted := c.foreign(m.now, ev)
	yes, lang := false, ""
	if !own {
		yes, lang = c.objects(m.now, ev.Sender, rest)
	}
	if quoted && !yes && utf8.RuneCountInString(rest) <= labelLong {
		own = true // what stands around our words is the page's label: a name, a time
	}
	m.tell(wire.Report{Chat: &wire.Chat{N: c.n, ID: ev.ID, Sender: ev.Sender, Text: ev.Text, Own: own, Private: ev.Private}})
	if yes {
		m.object("chat", "", ev.Sender, lang)
	}
}

// objects looks at a message, and at one together with the message before it when the same person wrote both shortly
// after each other: "please don't", "record me". Halves that only happen to stand together ("No", "Recording?") do not
// count: the two have to be addressed to us, as words that are spoken have to be.
func (c *chatbox) objects(now time.Time, sender, text string) (yes bool, lang string) {
	before := c.last
	c.last = said{sender, text, now}
	if yes, lang = consent.Objects(text); yes {
		return true, lang
	}
	if before.text == "" || before.sender != sender || now.Sub(before.at) > goesOn {
		return false, ""
	}
	return consent.ObjectsAloud(before.text + " " + text)
}

// foreign takes out of a message what we have posted ourselves, and says whether it is all ours. The page's own mark
// is believed. Without it, a long text of ours is known wherever it is quoted, and a short one accounts for one message
// of just these words: anybody may say "OK". What somebody adds to a quotation is theirs.
func (c *chatbox) foreign(now time.Time, ev SeenChat) (rest string, own, quoted bool) {
	text := fold(ev.Text)
	for i := range c.own {
		o := &c.own[i]
		long := utf8.RuneCountInString(o.text) >= ownLong
		switch {
		case o.text == "":
		case text == o.text && (long || ev.Own || (!o.seen && now.Sub(o.at) < ownEcho)):
			o.seen = true
			return "", true, false
		case long && strings.Contains(text, o.text):
			text, quoted = strings.ReplaceAll(text, o.text, " "), true
		}
	}
	text = strings.TrimSpace(text)
	return text, ev.Own || text == "", quoted
}

// fold makes texts comparable: white space is one blank.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
