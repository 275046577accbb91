// Package wire is what the speech process and its clients say to each other over a private Unix socket.
//
// A frame is a type (one byte), a length (uint32, big endian) and a body: JSON, or samples where the type says so.
// A connection serves one purpose: it begins with Hello from the client and Ready from the process, then carries
// one Listen, or one Say, or any number of State questions. Closing it cancels what it asked for. Positions are
// sample indices of the stream, so that replay after a crash and the removal of doubles are arithmetic.
// Unknown types are skipped, so that both sides need not change on the same day.
package wire

import "parley/speech"

// Version of the protocol; it is part of the socket's name, so that different versions never meet.
const Version = 1

// SocketName, LockName and LogName are the files in the run folder.
const (
	SocketName = "speech1.sock"
	LockName   = "speech1.lock"
	LogName    = "speech1.log"
)

// MaxBody is the longest body of a frame, in bytes: some twenty seconds of speech.
const MaxBody = 1 << 20

// maxJSON is the longest body that is parsed as JSON: a text to say and its overhead fit many times.
const maxJSON = 256 << 10

// Type says what a frame's body is.
type Type byte

// What clients send.
const (
	TypeHello  Type = 'H' // Hello
	TypeListen Type = 'L' // Listen
	TypeAudio  Type = 'A' // position (int64, little endian), then s16le at 16 kHz
	TypeFlush  Type = 'F' // Flush
	TypeSay    Type = 'S' // Say
	TypeMore   Type = 'M' // empty: one more piece may be made
	TypeAsk    Type = 'Q' // empty: asks for State
)

// What the process sends.
const (
	TypeReady    Type = 'r' // Ready
	TypeAccepted Type = 'o' // empty: Listen or Say was accepted
	TypePartial  Type = 'p' // Partial
	TypeFinal    Type = 'f' // Final
	TypeActivity Type = 'a' // Activity
	TypeTurnEnd  Type = 't' // TurnEnd
	TypeHeard    Type = 'h' // Heard
	TypeFlushed  Type = 'd' // Flush
	TypeFault    Type = 'x' // Fault
	TypePiece    Type = 'w' // text length (uint16, little endian), text, s16le at 24 kHz
	TypeSaid     Type = 'e' // empty: the last piece was sent
	TypeState    Type = 'q' // State
)

// Hello is a client's first frame.
type Hello struct {
	Version int    `json:"v"`
	Label   string `json:"label,omitempty"` // for the process's log: never a name
}

// Ready is the process's first frame.
type Ready struct {
	Version int `json:"v"`
	PID     int `json:"pid"`
}

// Listen asks for a stream.
type Listen struct {
	Label     string `json:"label,omitempty"`
	Lang      string `json:"lang,omitempty"`
	Partials  bool   `json:"partials,omitempty"`
	Words     bool   `json:"words,omitempty"`
	SilenceMS int    `json:"silence_ms,omitempty"`
	// From is the first position that is not answered yet; nothing before it will be sent or wanted.
	From int64 `json:"from"`
}

// Flush asks to end the segment that is being said; the same id comes back after its final.
type Flush struct {
	ID int64 `json:"id"`
	At int64 `json:"at"` // all audio before this position was sent
}

// Partial is speech.Partial.
type Partial struct {
	Start int64  `json:"s"`
	End   int64  `json:"e"`
	Text  string `json:"t"`
	Lang  string `json:"l,omitempty"`
}

// Final is speech.Final and what it answers: everything before Upto.
type Final struct {
	Start    int64   `json:"s"`
	End      int64   `json:"e"`
	Upto     int64   `json:"u"`
	Text     string  `json:"t"`
	Lang     string  `json:"l,omitempty"`
	Words    []Word  `json:"w,omitempty"`
	NoSpeech float64 `json:"ns"`
	LogProb  float64 `json:"lp,omitempty"`
	LagMS    int64   `json:"lag"`
}

// Word is speech.Word.
type Word struct {
	Text  string  `json:"t"`
	Start int64   `json:"s"`
	End   int64   `json:"e"`
	Prob  float64 `json:"p,omitempty"`
}

// Activity is speech.Activity.
type Activity struct {
	On bool  `json:"on"`
	At int64 `json:"at"`
}

// TurnEnd is speech.TurnEnd.
type TurnEnd struct {
	At   int64   `json:"at"`
	Prob float64 `json:"p"`
}

// Heard says that everything before Upto is answered though no final came: there was no speech.
type Heard struct {
	Upto int64 `json:"u"`
}

// Fault is an error; with Fatal the connection is over.
type Fault struct {
	Kind  speech.Kind `json:"kind"`
	Text  string      `json:"text"`
	Fatal bool        `json:"fatal,omitempty"`
}

// Say asks for speech. Credit is how many pieces may be made before the first More.
type Say struct {
	Text   string  `json:"text"`
	Voice  string  `json:"voice,omitempty"`
	Lang   string  `json:"lang,omitempty"`
	Speed  float64 `json:"speed,omitempty"`
	Credit int     `json:"credit"`
	// Prepare loads the voice and says nothing.
	Prepare bool `json:"prepare,omitempty"`
}

// State is how the process fares.
type State struct {
	Version   int      `json:"v"`
	PID       int      `json:"pid"`
	UptimeMS  int64    `json:"uptime_ms"`
	Hear      Load     `json:"hear"`  // the recogniser with its models
	Voice     Load     `json:"voice"` // loaded when first needed
	Voices    []Voice  `json:"voices,omitempty"`
	Notes     []string `json:"notes,omitempty"` // what works less well than it could, and the remedy
	Weak      bool     `json:"weak,omitempty"`
	RSS       int64    `json:"rss"` // bytes
	Clients   int      `json:"clients"`
	Streams   int      `json:"streams"`
	Clips     int      `json:"clips"`
	Queued    Counts   `json:"queued"`
	Done      Counts   `json:"done"`
	Dropped   Counts   `json:"dropped"`
	LagMS     int64    `json:"lag_ms"` // of the latest final: wall time from the end of its speech
	WorstMS   int64    `json:"worst_lag_ms"`
	CPUMillis int64    `json:"cpu_ms"`
	SpentMS   Counts   `json:"spent_ms"` // processor time of what was decoded, in ms by kind
}

// Load says whether a part is "loading", "ready", "idle" or "failed".
type Load struct {
	State string `json:"state"`
	Text  string `json:"text,omitempty"`
}

// Counts are jobs of the recogniser by kind, and clauses of the voice.
type Counts struct {
	Partials int64 `json:"partials"`
	Drafts   int64 `json:"drafts"`
	Finals   int64 `json:"finals"`
	Clauses  int64 `json:"clauses"`
}

// Voice is speech.Voice.
type Voice struct {
	ID   string `json:"id"`
	Lang string `json:"lang"`
	Note string `json:"note,omitempty"`
}
