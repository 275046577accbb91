package channel

import (
	"errors"
	"fmt"
	"slices"
)

// Conn is a connection of a host, as whoever carries it numbers them.
type Conn int64

// Grant is what a host lets us do with channels on a connection, and do for it.
type Grant struct {
	Register, Lifecycle, Publish, Incoming, Streaming bool
}

// Channel is a meeting's channel as hosts are told of it.
type Channel struct {
	ID       string
	Tenant   string
	Meeting  string
	Platform string
	// Label is short and for people.
	Label string
	// Speculative says that we speak what a host streams, if it marks it so.
	Speculative bool
}

// Action is something to be sent to a host: one of Register, Change, Remove, Send.
type Action interface{ action() }

// Register offers a channel to a connection.
type Register struct {
	Conn    Conn
	Channel Channel
}

// Change tells a connection that a channel it has is described otherwise now.
type Change struct {
	Conn    Conn
	Channel Channel
}

// Remove takes a channel away from a connection.
type Remove struct {
	Conn Conn
	ID   string
}

// Send tells a connection something.
type Send struct {
	Conn    Conn
	Message Message
}

func (Register) action() {}
func (Change) action()   {}
func (Remove) action()   {}
func (Send) action()     {}

// What a host's use of a channel is refused with.
var (
	// ErrUnknown: no such channel on this connection, whoever else may have one.
	ErrUnknown = errors.New("channel: there is no such channel on this connection")
	// ErrFull: a bound is reached.
	ErrFull = errors.New("channel: too many channels or connections")
)

// DeniedError says which capability the grant lacks.
type DeniedError struct{ Capability string }

// Error names it.
func (e DeniedError) Error() string { return "channel: the grant lacks " + e.Capability }

// The capabilities of a Grant.
const (
	CapRegister  = "channels.register"
	CapLifecycle = "channels.lifecycle"
	CapPublish   = "channels.publish"
	CapIncoming  = "channels.incoming"
	CapStreaming = "channels.streaming"
)

// The bounds of a desk.
const (
	connsMax    = 1024
	channelsMax = 256
)

// Desk knows which connection has which channel. Every channel of a tenant is offered on every connection of
// that tenant whose present grant allows it; what a connection may do is asked anew each time. It is pure and
// not safe for concurrent use: actions are sent in the order given.
type Desk struct {
	conns    map[Conn]*seat
	order    []Conn
	channels []Channel
}

// seat is one connection.
type seat struct {
	tenant string
	grant  Grant
	has    map[string]*place
}

// place is a channel on a connection.
type place struct {
	refused bool // the host did not take it
	shut    bool // the host closed it
}

// NewDesk makes an empty desk.
func NewDesk() *Desk { return &Desk{conns: map[Conn]*seat{}} }

// Attach takes a connection in, after its host's first policy.
func (d *Desk) Attach(c Conn, tenant string, g Grant) ([]Action, error) {
	if _, ok := d.conns[c]; !ok {
		if len(d.conns) >= connsMax {
			return nil, ErrFull
		}
		d.order = append(d.order, c)
	}
	d.conns[c] = &seat{tenant: tenant, grant: g, has: map[string]*place{}}
	return d.offer(c), nil
}

// Regrant replaces a connection's grant. Channels it lacks are offered when the grant now allows it; those it
// has stay registered, and are of no use while the grant does not cover what is tried.
func (d *Desk) Regrant(c Conn, g Grant) []Action {
	s, ok := d.conns[c]
	if !ok {
		return nil
	}
	s.grant = g
	return d.offer(c)
}

// Detach lets a connection go.
func (d *Desk) Detach(c Conn) {
	delete(d.conns, c)
	d.order = slices.DeleteFunc(d.order, func(o Conn) bool { return o == c })
}

// Begin opens a channel: its meeting is in the call, and people were told.
func (d *Desk) Begin(ch Channel) ([]Action, error) {
	if d.Has(ch.ID) {
		return nil, fmt.Errorf("channel: %s is there already", ch.ID)
	}
	if len(d.channels) >= channelsMax {
		return nil, ErrFull
	}
	d.channels = append(d.channels, ch)
	var out []Action
	for _, c := range d.order {
		out = append(out, d.offer(c)...)
	}
	return out, nil
}

// Describe replaces what is said of a channel that is open. Nothing happens where it says the same.
func (d *Desk) Describe(ch Channel) []Action {
	i := slices.IndexFunc(d.channels, func(o Channel) bool { return o.ID == ch.ID })
	if i < 0 || d.channels[i] == ch || d.channels[i].Tenant != ch.Tenant {
		return nil
	}
	d.channels[i] = ch
	var out []Action
	for _, c := range d.order {
		s := d.conns[c]
		if p := s.has[ch.ID]; p != nil && !p.refused && s.grant.Register {
			out = append(out, Change{c, ch})
		}
	}
	return out
}

// Has says whether there is a channel, whoever has it.
func (d *Desk) Has(id string) bool {
	return slices.ContainsFunc(d.channels, func(o Channel) bool { return o.ID == id })
}

// End removes a channel: its meeting is over, or somebody objected.
func (d *Desk) End(id string) []Action {
	d.channels = slices.DeleteFunc(d.channels, func(o Channel) bool { return o.ID == id })
	var out []Action
	for _, c := range d.order {
		s := d.conns[c]
		if p, ok := s.has[id]; ok {
			delete(s.has, id)
			if !p.refused && s.grant.Register {
				out = append(out, Remove{c, id})
			}
		}
	}
	return out
}

// offer registers what a connection lacks.
func (d *Desk) offer(c Conn) []Action {
	s := d.conns[c]
	if !s.grant.Register {
		return nil
	}
	var out []Action
	for _, ch := range d.channels {
		if ch.Tenant == s.tenant && s.has[ch.ID] == nil {
			s.has[ch.ID] = &place{}
			out = append(out, Register{c, ch})
		}
	}
	return out
}

// Registered notes a host's answer to Register. An offer that was refused is made again only after a new grant.
func (d *Desk) Registered(c Conn, id string, accepted bool) {
	s := d.conns[c]
	if s == nil || s.has[id] == nil {
		return
	}
	if !accepted {
		s.has[id].refused = true
	}
}

// Retry offers again what a connection refused, after its grant was widened.
func (d *Desk) Retry(c Conn) []Action {
	s := d.conns[c]
	if s == nil {
		return nil
	}
	for id, p := range s.has {
		if p.refused {
			delete(s.has, id)
		}
	}
	return d.offer(c)
}

// at finds a channel that a connection has.
func (d *Desk) at(c Conn, id string) (*seat, *place, error) {
	s := d.conns[c]
	if s == nil {
		return nil, nil, ErrUnknown
	}
	p := s.has[id]
	if p == nil || p.refused {
		return nil, nil, ErrUnknown
	}
	return s, p, nil
}

// Open is a host's wish to hear a channel; it may come before the answer to Register.
func (d *Desk) Open(c Conn, id string) (Channel, error) {
	return d.lifecycle(c, id, false)
}

// Shut is a host's wish not to hear it. Publishing to it still works.
func (d *Desk) Shut(c Conn, id string) (Channel, error) {
	return d.lifecycle(c, id, true)
}

func (d *Desk) lifecycle(c Conn, id string, shut bool) (Channel, error) {
	s, p, err := d.may(c, id, CapLifecycle)
	if err != nil {
		return Channel{}, err
	}
	p.shut = shut
	return d.channel(s, id)
}

// may finds a channel on a connection and checks its present grant. A connection that lacks the capability is
// told so whatever channel it names.
func (d *Desk) may(c Conn, id, capability string) (*seat, *place, error) {
	if s := d.conns[c]; s == nil || !s.grant.has(capability) {
		return nil, nil, DeniedError{capability}
	}
	return d.at(c, id)
}

func (g Grant) has(capability string) bool {
	switch capability {
	case CapRegister:
		return g.Register
	case CapLifecycle:
		return g.Lifecycle
	case CapPublish:
		return g.Publish
	case CapIncoming:
		return g.Incoming
	case CapStreaming:
		return g.Streaming
	}
	return false
}

func (d *Desk) channel(s *seat, id string) (Channel, error) {
	for _, ch := range d.channels {
		if ch.ID == id && ch.Tenant == s.tenant {
			return ch, nil
		}
	}
	return Channel{}, ErrUnknown
}

// List are the channels of a connection.
func (d *Desk) List(c Conn) []Channel {
	s := d.conns[c]
	if s == nil {
		return nil
	}
	var out []Channel
	for _, ch := range d.channels {
		if p := s.has[ch.ID]; ch.Tenant == s.tenant && p != nil && !p.refused {
			out = append(out, ch)
		}
	}
	return out
}

// Publish says whether a connection may publish to a channel, and whose meeting that is.
func (d *Desk) Publish(c Conn, id string) (Channel, error) {
	s, _, err := d.may(c, id, CapPublish)
	if err != nil {
		return Channel{}, err
	}
	return d.channel(s, id)
}

// Stream says the same of streamed pieces.
func (d *Desk) Stream(c Conn, id string) (Channel, error) {
	s, _, err := d.may(c, id, CapStreaming)
	if err != nil {
		return Channel{}, err
	}
	return d.channel(s, id)
}

// Tell sends a message to every connection that has its channel open.
func (d *Desk) Tell(m Message) []Action {
	var out []Action
	for _, c := range d.order {
		if d.Hears(c, m.Channel) {
			out = append(out, Send{c, m})
		}
	}
	return out
}

// Hears says whether a connection has a channel open and may be told something in it.
func (d *Desk) Hears(c Conn, id string) bool {
	s, p, err := d.at(c, id)
	if err != nil || p.shut || !s.grant.Incoming {
		return false
	}
	_, err = d.channel(s, id)
	return err == nil
}

// Taken says that somebody hears a channel: its text need not come as events, too.
func (d *Desk) Taken(id string) bool {
	return slices.ContainsFunc(d.order, func(c Conn) bool { return d.Hears(c, id) })
}
