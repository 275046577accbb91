// Package client is the caller's side of the control endpoint, without the network: what to send, and what to believe.
package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"parley/control/sign"
	"parley/control/wire"
)

// ErrUntrusted says that what answered is not the endpoint the connection file names: most often the endpoint was
// started anew since.
var ErrUntrusted = errors.New("the answer does not come from the endpoint of this connection file: pair anew")

// ErrNoReply says that the answer to an action is no sealed reply, so whether the action happened is unknown.
var ErrNoReply = errors.New("the endpoint did not answer with a sealed reply; whether the action happened is unknown")

// Endpoint is what the connection file says.
type Endpoint struct {
	Pins       sign.Pins
	Instance   wire.Instance
	Principal  wire.Principal
	Capability *wire.Capability
}

// Call is one action on its way: Ask, then Act with the answer, then Read with the next answer. It serves once and
// belongs to one goroutine.
type Call struct {
	end    Endpoint
	ask    wire.Ask
	opener *wire.Opener
}

// Message is one POST: the value of wire.ProofHeader and the body.
type Message struct {
	Route, Proof string
	Body         []byte
}

// New starts a call.
func New(e Endpoint) (*Call, error) {
	if err := e.Pins.Check(); err != nil {
		return nil, err
	}
	if !e.Principal.Valid() || e.Capability == nil {
		return nil, wire.ErrMalformed
	}
	return &Call{end: e}, nil
}

func (c *Call) message(now time.Time, route string, body []byte) (Message, error) {
	var nonce [wire.NonceSize]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return Message{}, fmt.Errorf("draw a nonce: %w", err)
	}
	proof := wire.Prove(c.end.Capability, c.end.Instance, route, c.end.Principal, now, nonce, body)
	return Message{Route: route, Proof: proof.Header(), Body: body}, nil
}

// Ask asks for a challenge.
func (c *Call) Ask(now time.Time) (Message, error) {
	if _, err := rand.Read(c.ask.Nonce[:]); err != nil {
		return Message{}, fmt.Errorf("draw a nonce: %w", err)
	}
	return c.message(now, wire.RouteChallenge, c.ask.Bytes())
}

// Act checks the challenge and seals the action to it.
func (c *Call) Act(now time.Time, answer []byte, r wire.Request) (Message, error) {
	ch, err := wire.ParseChallenge(answer)
	if err != nil || !ch.Check(c.end.Pins, c.end.Instance, c.ask, c.end.Principal, now) {
		return Message{}, ErrUntrusted
	}
	plain, err := r.Bytes()
	if err != nil {
		return Message{}, fmt.Errorf("write the action: %w", err)
	}
	defer clear(plain)
	var id wire.RequestID
	if _, err := rand.Read(id[:]); err != nil {
		return Message{}, fmt.Errorf("draw a request id: %w", err)
	}
	a, opener, err := wire.SealAction(c.end.Pins, ch, id, plain)
	if err != nil {
		return Message{}, fmt.Errorf("seal the action: %w", err)
	}
	c.opener = opener
	return c.message(now, wire.RouteAction, a.Bytes())
}

// Read opens the reply. HTTP's status plays no part in it: only what is inside the seal does.
func (c *Call) Read(answer []byte) (wire.Reply, error) {
	if c.opener == nil {
		return wire.Reply{}, wire.ErrUsed
	}
	plain, err := c.opener.Open(answer)
	if err != nil {
		return wire.Reply{}, ErrNoReply
	}
	r, err := wire.ParseReply(plain)
	if err != nil {
		return wire.Reply{}, ErrNoReply
	}
	return r, nil
}

// Waits are the pauses before the second, third and fourth try of an action that was answered with wire.CodeBusy. Each
// try is a new Call with the same arguments; no other answer is ever tried again.
var Waits = []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 600 * time.Millisecond}
