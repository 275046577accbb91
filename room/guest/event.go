package guest

import (
	"time"

	"parley/room/wire"
)

// Kind says what an Event tells.
type Kind string

// The kinds of events.
const (
	Waiting  Kind = "waiting"  // somebody inside must let the guest in
	Joined   Kind = "joined"   // the guest is in: ID and Room are set
	People   Kind = "people"   // who is in now, after every change: People is set
	Left     Kind = "left"     // somebody else is out: ID, Name and Reason are set
	Speaking Kind = "speaking" // somebody began or ceased to speak: ID, Name and On are set
	Chat     Kind = "chat"     // a message: Seq, ID (of who wrote it), Name, Text and Own are set
	Knock    Kind = "knock"    // somebody waits to be let in: ID and Name are set
	Heard    Kind = "heard"    // the first sound of somebody has come: ID and Name are set
	Played   Kind = "played"   // a clip was played to its end: File is set, Seconds is its length
	Lost     Kind = "lost"     // the connection was lost; the guest tries to come back
	Back     Kind = "back"     // the guest is back in its seat
	Problem  Kind = "problem"  // the room did not do what the guest asked: Reason is set
	Recorded Kind = "recorded" // the recording is finished: File is set, Seconds is its length
	Ended    Kind = "ended"    // the guest is out, and nothing follows but Recorded: Reason is set
)

// Event is something that the guest saw or did. Names and texts in it are other people's words: untrusted.
type Event struct {
	Kind Kind      `json:"event"`
	At   time.Time `json:"at"`
	Room string    `json:"room,omitempty"`
	// ID is a participant's.
	ID      string      `json:"id,omitempty"`
	Name    string      `json:"name,omitempty"`
	People  []Person    `json:"people,omitempty"`
	On      *bool       `json:"on,omitempty"`
	Seq     int64       `json:"seq,omitempty"`
	Text    string      `json:"text,omitempty"`
	Own     bool        `json:"own,omitempty"`
	File    string      `json:"file,omitempty"`
	Seconds float64     `json:"seconds,omitempty"`
	Reason  wire.Reason `json:"reason,omitempty"`
}

// Person is somebody in the room.
type Person struct {
	wire.Person
	Self bool `json:"self,omitempty"`
}
