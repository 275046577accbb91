package room

import (
	"crypto/tls"
	"log/slog"
	"net"
	"time"
)

// Options says how a Server behaves. The zero value is a server on loopback.
type Options struct {
	// Listen is the host and port of both the pages (TCP) and the sound (UDP, and TCP for those whose network
	// lets no UDP through). Empty means 127.0.0.1:7370; port 0 picks a free one.
	Listen string
	// BaseURL is what links begin with where people come in through a proxy ("https://meet.example.org").
	// Empty means the listener's own address.
	BaseURL string
	// PublicIPs are the addresses at which the sound's port is reached from outside, when the machine itself does
	// not have them. Empty means the machine's own addresses.
	PublicIPs []net.IP
	// TLS serves the pages over HTTPS. Nil means HTTP; browsers then give a microphone to pages on loopback only.
	TLS *tls.Config
	// Origins are further hosts ("meet.example.org", "*.example.org") whose pages may connect and by which the
	// server may be called. The host of BaseURL and the listener's own address always may.
	Origins []string

	// Lobby lets newcomers wait until somebody inside lets them in. The first one walks in.
	Lobby bool
	// HostKey makes everybody who comes by the host's link (see HostLink) a host, and nobody else. Empty means that
	// the first one in is the host, and after them whoever has been in the longest.
	HostKey string

	// MaxPeople is how many fit in a room. Zero means 16, which is also the most.
	MaxPeople int
	// MaxRooms is how many rooms there may be at once. Zero means 64.
	MaxRooms int
	// MaxConns is how many signalling connections there may be at once. Zero means 1024.
	MaxConns int
	// Hold is how long the seat of a lost participant is kept. Zero means 15 s.
	Hold time.Duration

	// Faults makes the network bad, for tests. Zero leaves it as it is.
	Faults Faults

	// Log takes what happens, without names, texts and addresses. Nil means slog.Default.
	Log *slog.Logger
}

// The bounds of a room.
const (
	defaultListen = "127.0.0.1:7370"
	// maxPeople bounds the sections of a session description and the packets sent per packet received.
	maxPeople = 16
	// maxChatKept is how many messages a room remembers for those who come back.
	maxChatKept = 200
	// outboxSize is how many messages may wait to be written to one participant; one who does not read them is cut off.
	outboxSize = 256
	// chatBurst messages may be sent at once, then one every chatEvery.
	chatBurst = 8
	chatEvery = time.Second
	// joinBurst people may join a room at once, then one every joinEvery, so that nobody can keep those inside busy
	// with the door. Coming back to a seat does not count.
	joinBurst = 40
	joinEvery = 250 * time.Millisecond
	// requestBurst requests may be sent at once, then one every requestEvery; who sends more is cut off.
	requestBurst = 120
	requestEvery = 50 * time.Millisecond
	// joinWithin is how long a connection may stay without asking to join.
	joinWithin = 10 * time.Second
	// pingEvery and pongWithin find out that a participant's connection is dead.
	pingEvery  = 5 * time.Second
	pongWithin = 8 * time.Second
	// writeWithin is how long one message may take to be written.
	writeWithin = 5 * time.Second
	// answerWithin is how long an offer may stay without an answer.
	answerWithin = 10 * time.Second
	// restartEvery is how soon a media connection may be made anew after the last time.
	restartEvery = 2 * time.Second
	// speakingHold is how long somebody is shown speaking after the last loud packet: longer than the pauses
	// between words, shorter than those between turns.
	speakingHold = 300 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = defaultListen
	}
	if o.MaxPeople <= 0 || o.MaxPeople > maxPeople {
		o.MaxPeople = maxPeople
	}
	if o.MaxRooms <= 0 {
		o.MaxRooms = 64
	}
	if o.MaxConns <= 0 {
		o.MaxConns = 1024
	}
	if o.Hold <= 0 {
		o.Hold = 15 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
