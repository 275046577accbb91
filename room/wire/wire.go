// Package wire has the messages that a room and its participants exchange over one WebSocket.
//
// Every message is one JSON object in a text frame with a "type". The room makes every offer, a participant
// answers; there are no candidates to exchange, since the room's are in its offer and a participant's show by
// themselves when it connects.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Bounds of what a participant may send.
const (
	// MaxMessage is the size of a whole message in bytes. An answer for sixteen people has about 20 kB.
	MaxMessage = 96 << 10
	// MaxSDP is the size of a session description in bytes.
	MaxSDP = 80 << 10
	// MaxName is the length of a display name in characters, after cleaning.
	MaxName = 60
	// MaxChat is the length of a chat message in characters, after cleaning.
	MaxChat = 4000
	// MaxID is the length of any identifier in bytes.
	MaxID = 64
)

// ErrMessage is wrapped by everything that ParseRequest and ParseNotice refuse.
var ErrMessage = errors.New("not a message of a room")

// Request is what a participant asks of the room: one of the types below.
type Request interface{ request() string }

// Join is the first message of a connection. With a Token it asks for the seat that an earlier connection of
// the same participant had; the seat is kept for some seconds after that connection was lost.
type Join struct {
	Name  string `json:"name"`
	Muted bool   `json:"muted,omitempty"`
	// Key is the host's key, from the host's link.
	Key   string `json:"key,omitempty"`
	Token string `json:"token,omitempty"`
	// Seen is the number of the last chat message that the participant has, when it comes back.
	Seen int64 `json:"seen,omitempty"`
}

// Answer answers the Offer with the same Media and N.
type Answer struct {
	Media int    `json:"media"`
	N     int    `json:"n"`
	SDP   string `json:"sdp"`
}

// Restart asks for a new media connection since the one numbered Media does not work any more.
type Restart struct {
	Media int `json:"media"`
}

// Mute says whether the participant's microphone is off.
type Mute struct {
	Muted bool `json:"muted"`
}

// Hand raises or lowers the participant's hand.
type Hand struct {
	Up bool `json:"up"`
}

// Say sends a chat message to everyone. Ref comes back in the Problem when the message is refused.
type Say struct {
	Text string `json:"text"`
	Ref  string `json:"ref,omitempty"`
}

// Admit lets somebody who waits in.
type Admit struct {
	ID string `json:"id"`
}

// Decline sends somebody who waits away.
type Decline struct {
	ID string `json:"id"`
}

// Remove puts somebody out. Only a host may.
type Remove struct {
	ID string `json:"id"`
}

// EndAll ends the meeting for everyone. Only a host may.
type EndAll struct{}

// Leave leaves for good: the seat is given up at once.
type Leave struct{}

// Ping asks for a Pong, so that a dead connection is noticed.
type Ping struct{}

func (Join) request() string    { return "join" }
func (Answer) request() string  { return "answer" }
func (Restart) request() string { return "restart" }
func (Mute) request() string    { return "mute" }
func (Hand) request() string    { return "hand" }
func (Say) request() string     { return "say" }
func (Admit) request() string   { return "admit" }
func (Decline) request() string { return "decline" }
func (Remove) request() string  { return "remove" }
func (EndAll) request() string  { return "end-all" }
func (Leave) request() string   { return "leave" }
func (Ping) request() string    { return "ping" }

// Notice is what the room tells a participant: one of the types below.
type Notice interface{ notice() string }

// Person is somebody in the room as everybody sees them. It is sent whole whenever any of it changes, Speaking
// apart, which has a message of its own.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Host bool   `json:"host,omitempty"`
	// Muted is what the participant says; the room forwards no sound of somebody who is muted.
	Muted bool `json:"muted,omitempty"`
	Hand  bool `json:"hand,omitempty"`
	// Lost is true while the participant's connection is gone and the seat is kept.
	Lost     bool `json:"lost,omitempty"`
	Speaking bool `json:"speaking,omitempty"`
}

// Waiter is somebody who asks to be let in.
type Waiter struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Welcome says that the participant is in. Everything the participant needs to know is in it.
type Welcome struct {
	Room    string   `json:"room"`
	Self    string   `json:"self"`
	Token   string   `json:"token"`
	People  []Person `json:"people"`
	Waiters []Waiter `json:"waiters,omitempty"`
	// Chat holds what was said since the participant came in and after Join.Seen.
	Chat []Chat `json:"chat,omitempty"`
	// Hold is how long a lost seat is kept, in milliseconds.
	Hold int64 `json:"hold"`
}

// Waiting says that somebody inside must let the participant in. Token keeps the place in the queue.
type Waiting struct {
	Room  string `json:"room"`
	Token string `json:"token"`
	Hold  int64  `json:"hold"`
}

// Refused says that the participant does not get in. The connection ends after it.
type Refused struct {
	Reason Reason `json:"reason"`
}

// Offer is the room's session description. Media numbers the media connection: a new number means a new one.
type Offer struct {
	Media int    `json:"media"`
	N     int    `json:"n"`
	SDP   string `json:"sdp"`
}

// Here tells that a person came or changed.
type Here struct {
	Person Person `json:"person"`
}

// Gone tells that a person is not in the room any more.
type Gone struct {
	ID     string `json:"id"`
	Reason Reason `json:"reason"`
}

// Speaking tells that a person began or ceased to speak.
type Speaking struct {
	ID string `json:"id"`
	On bool   `json:"on"`
}

// Knock tells that somebody waits to be let in.
type Knock struct {
	Waiter Waiter `json:"waiter"`
}

// Unknock tells that somebody waits no more.
type Unknock struct {
	ID string `json:"id"`
}

// Chat is a message in the chat. Seq counts from 1 and grows.
type Chat struct {
	Seq  int64  `json:"seq"`
	From string `json:"from"`
	Name string `json:"name"`
	Text string `json:"text"`
	// At is in milliseconds since 1970.
	At int64 `json:"at"`
}

// Problem says that a request was not carried out.
type Problem struct {
	Code Reason `json:"code"`
	Ref  string `json:"ref,omitempty"`
}

// Ended says that the participant is out. The connection ends after it.
type Ended struct {
	Reason Reason `json:"reason"`
}

// Pong answers a Ping.
type Pong struct{}

func (Welcome) notice() string  { return "welcome" }
func (Waiting) notice() string  { return "waiting" }
func (Refused) notice() string  { return "refused" }
func (Offer) notice() string    { return "offer" }
func (Here) notice() string     { return "here" }
func (Gone) notice() string     { return "gone" }
func (Speaking) notice() string { return "speaking" }
func (Knock) notice() string    { return "knock" }
func (Unknock) notice() string  { return "unknock" }
func (Chat) notice() string     { return "chat" }
func (Problem) notice() string  { return "problem" }
func (Ended) notice() string    { return "ended" }
func (Pong) notice() string     { return "pong" }

// Reason says why somebody is out or a request was not carried out.
type Reason string

// The reasons.
const (
	ReasonLeft     Reason = "left"      // left by themselves
	ReasonLost     Reason = "lost"      // the connection was lost and did not come back in time
	ReasonRemoved  Reason = "removed"   // a host put them out
	ReasonEnded    Reason = "ended"     // the meeting is over
	ReasonReplaced Reason = "replaced"  // the same seat was taken by a newer connection
	ReasonFull     Reason = "full"      // no seat is free
	ReasonDeclined Reason = "declined"  // somebody inside said no
	ReasonBadName  Reason = "bad-name"  // the name is empty or too long
	ReasonBadChat  Reason = "bad-chat"  // the text is empty or too long
	ReasonTooFast  Reason = "too-fast"  // too many messages in too short a time
	ReasonNotHost  Reason = "not-host"  // only a host may do that
	ReasonBusy     Reason = "busy"      // the server has too many rooms or connections
	ReasonUnknown  Reason = "unknown"   // nobody has that id
	ReasonProtocol Reason = "protocol"  // the message made no sense
	ReasonSlow     Reason = "slow"      // the participant did not take its messages
	ReasonMedia    Reason = "no-media"  // the media connection could not be made
	ReasonShutdown Reason = "shut-down" // the server is going away

	// ReasonUnreachable is no room's: it is what a participant says of a room that does not answer.
	ReasonUnreachable Reason = "unreachable"
)

// Time gives the moment of a chat message.
func (c Chat) Time() time.Time { return time.UnixMilli(c.At) }

// Encode writes a Request or a Notice as it goes over the wire.
func Encode(message any) ([]byte, error) {
	var kind string
	switch m := message.(type) {
	case Request:
		kind = m.request()
	case Notice:
		kind = m.notice()
	default:
		return nil, fmt.Errorf("wire: %T is no message", message)
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("wire: encode %s: %w", kind, err)
	}
	out := append(make([]byte, 0, len(body)+len(kind)+12), `{"type":"`...)
	out = append(out, kind...)
	out = append(out, '"')
	if string(body) != "{}" {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}
