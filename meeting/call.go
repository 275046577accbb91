// Package meeting is one attendance at one meeting, from asking to join to the end.
package meeting

import (
	"context"
	"time"
)

// ID names a meeting of ours ("m" and twelve hex digits).
type ID string

// Call is a platform's room as we work it. Platform modules implement it.
//
// Join runs once; the others may be called at any time, also at once. All return by their deadline.
type Call interface {
	// Join walks from the link to having asked to join: devices off, name given, button pressed. It returns
	// once the request was made (or we are in already); what follows arrives as Events.
	Join(ctx context.Context, r JoinRequest) error
	// Events tells what the page shows. The channel is closed when the page is gone.
	Events() <-chan CallEvent
	// SendChat writes a message and proves that it arrived, and to whom.
	SendChat(ctx context.Context, text string, to Audience) (ChatReceipt, error)
	// SetMicrophone switches the microphone and reads it back.
	SetMicrophone(ctx context.Context, on bool) (Device, error)
	// Leave leaves as a person would and waits for the page to say so.
	Leave(ctx context.Context) error
	// Picture is a PNG of the page, for evidence.
	Picture(ctx context.Context) ([]byte, error)
	// Close lets go of the page.
	Close() error
}

// HandRaiser is a Call that can raise a hand.
type HandRaiser interface {
	RaiseHand(ctx context.Context, up bool) error
}

// Witness is a Call that can say what its page showed lately: a value for the evidence, as JSON. It holds signs and the
// page's own words, nothing that people wrote or said.
type Witness interface {
	Testimony(ctx context.Context) any
}

// TrackTapper is a Call whose participants can be heard one by one. Frames are 16 kHz mono.
type TrackTapper interface {
	Tracks() <-chan TrackFrame
}

// TrackFrame is sound of one participant.
type TrackFrame struct {
	Participant string // id on the platform, "" when not known yet
	Name        string // as shown, "" when not known
	Track       string // id of the track
	Pos         int64  // samples since the track's first
	PCM         []int16
	At          time.Time
}

// JoinRequest is what a Call needs in order to join.
type JoinRequest struct {
	Name string // our display name
	// DryRun stops in the lobby.
	DryRun bool
}

// Audience is who a chat message is for.
type Audience string

// The audiences.
const (
	Everyone Audience = "everyone"
	HostOnly Audience = "host"
)

// ChatReceipt proves a message.
type ChatReceipt struct {
	SentTo  Audience
	Private bool
	ID      string
}

// Device is the state of a microphone or camera. Unknown is an answer: nobody acts on it.
type Device string

// The states of a device.
const (
	DeviceOn      Device = "on"
	DeviceOff     Device = "off"
	DeviceBlocked Device = "blocked"
	DeviceUnknown Device = "unknown"
)

// CallEvent is one of the Seen… types below.
type CallEvent interface{ callEvent() }

// SeenPlace is where the page says we are.
type SeenPlace struct {
	Place  Place
	Signs  []string // names of the signs that were seen
	Text   string   // the text that decided, from the page: untrusted
	Reason string   // for PlaceOut, and for PlaceWaiting when nobody will come: a reason of the table of ends
	// Breakout is true in a breakout room, which is PlaceIn.
	Breakout bool
}

// SeenLobby is what the lobby offers. It comes before Join returns; a dry run reports it.
type SeenLobby struct {
	As         string // account or guest
	JoinButton string // its visible text, from the page: untrusted
	Challenge  bool
	SignedIn   string // yes, no; empty: unknown
	Profile    bool   // the browser has a profile that was made to be signed in
	Page       string // the address without its query
}

// Place is where we are, in the page's own words.
type Place string

// The places.
const (
	PlaceLobby   Place = "lobby"   // before asking
	PlaceWaiting Place = "waiting" // asked, not in
	PlaceIn      Place = "in"      // in the call
	PlaceOut     Place = "out"     // denied, removed, ended, left: Reason says which
	PlaceUnknown Place = "unknown" // blank, crashed, failed read
)

// SignCrashed is the sign of a page that died. It does not come back by itself, other than a blank or a silent one.
const SignCrashed = "crashed"

// SeenPeople is the roster. Count is how many are in the call, ourselves included; -1 when the page does not tell.
// People may be fewer than Count (a page that shows only some), or none (a page that shows only the number).
type SeenPeople struct {
	Count  int
	People []Person
}

// Person is somebody in the call.
type Person struct {
	ID       string
	Name     string
	Self     bool
	Host     bool
	Muted    bool
	HandUp   bool
	LikelyAI bool
}

// SeenSpeaking is who the page shows speaking, ourselves left out.
type SeenSpeaking struct {
	IDs   []string
	Names []string
	// Self says that the page shows ourselves speaking; false also where a page never shows that.
	Self bool
	At   time.Time
	// Always says that the page shows somebody also when nobody speaks: a stage, no mark.
	Always bool
}

// SeenCaption is a line of the platform's captions that came or grew: a second source of who speaks. The words
// themselves are not taken over.
type SeenCaption struct {
	ID      string // "" when the name is not one person's
	Name    string
	Letters int
	At      time.Time
}

// SeenChat is a message in the chat.
type SeenChat struct {
	ID      string
	Sender  string
	Text    string
	Own     bool
	Private bool
	At      time.Time
}

// SeenDevice is a device of ours.
type SeenDevice struct {
	Microphone Device
	Camera     Device
}

// SeenDialog is a dialog in the way.
type SeenDialog struct {
	ID      string
	Kind    string // consent, recording-notice, device, tip, cookie, sign-in, challenge, unmute-request, survey, unknown
	Text    string
	Choices []string
	Open    bool
	// Unsure says of a consent gate that it was not known by its own words, or that its accepting choice is not: it is
	// asked about whatever the policy says.
	Unsure bool
}

// SeenFault is something that the meeting depends on and the page does not give, although everything was tried: it is
// tried again. Mended takes it back.
type SeenFault struct {
	Part   Part
	Kind   string // safe to log: "audio-not-joined"
	Mended bool
}

func (SeenPlace) callEvent()    {}
func (SeenLobby) callEvent()    {}
func (SeenPeople) callEvent()   {}
func (SeenSpeaking) callEvent() {}
func (SeenCaption) callEvent()  {}
func (SeenChat) callEvent()     {}
func (SeenDevice) callEvent()   {}
func (SeenDialog) callEvent()   {}
func (SeenFault) callEvent()    {}
