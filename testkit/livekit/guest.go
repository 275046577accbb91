package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"
	"github.com/pion/webrtc/v4"
)

type guestOptions struct {
	link, name, play, record, chat string
	delay                          time.Duration
	orders                         io.Reader // what to do, line by line; nil: only what the flags say
}

// chatTopic is what LiveKit's page calls its chat.
const chatTopic = "lk.chat"

// event is a line of what the guest prints, in the words of `parley guest`.
type event struct {
	Kind    string    `json:"event"`
	At      time.Time `json:"at"`
	Room    string    `json:"room,omitempty"`
	ID      string    `json:"id,omitempty"`
	Name    string    `json:"name,omitempty"`
	People  []person  `json:"people,omitempty"`
	On      *bool     `json:"on,omitempty"`
	Text    string    `json:"text,omitempty"`
	File    string    `json:"file,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

type person struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Self  bool   `json:"self,omitempty"`
	Muted bool   `json:"muted,omitempty"`
}

// printer prints events one at a time.
type printer struct{ mu sync.Mutex }

func (p *printer) tell(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.At = time.Now()
	if err := json.NewEncoder(os.Stdout).Encode(e); err != nil {
		fmt.Fprintln(os.Stderr, "parley-livekit:", err)
	}
}

// attend is a guest's whole life: it joins, writes, plays, records what it hears, and leaves when the context ends or
// the meeting does.
func attend(ctx context.Context, o guestOptions) error {
	server, name, err := split(o.link)
	if err != nil {
		return err
	}
	if o.play != "" {
		if _, err := os.Stat(o.play); err != nil {
			return err
		}
	}
	lksdk.SetLogger(logger.GetDiscardLogger()) // it writes to where the events go
	token, err := accessToken(name, o.name)
	if err != nil {
		return err
	}
	var out printer
	tape := &tape{start: time.Now()}
	over := make(chan string, 1)
	room := lksdk.NewRoom(callbacks(&out, tape, o.record != "", over))
	if err := room.RegisterTextStreamHandler(chatTopic, func(r *lksdk.TextStreamReader, identity string) {
		text := r.ReadAll()
		shown := identity
		if p := room.GetParticipantByIdentity(identity); p != nil {
			shown = p.Name()
		}
		out.tell(event{Kind: "chat", ID: identity, Name: shown, Text: text})
	}); err != nil {
		return err
	}
	if err := room.JoinWithToken(server, token, lksdk.WithAutoSubscribe(true)); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	out.tell(event{Kind: "joined", Room: name, ID: room.LocalParticipant.Identity(), Name: o.name})
	out.tell(event{Kind: "people", People: people(room)})

	acting, stop := context.WithCancel(ctx)
	orders := make(chan order, 16)
	if o.orders != nil {
		go read(acting, o.orders, orders) // ends with the input, which nothing else can end
	}
	first := time.AfterFunc(o.delay, func() { orders <- order{Say: o.chat, Play: o.play} })
	defer first.Stop()
	acted := make(chan error, 1)
	go func() { acted <- obey(acting, room, orders, &out) }()
	reason := "left"
	select {
	case <-ctx.Done():
	case reason = <-over:
	case err = <-acted:
		acted <- nil
	}
	stop()
	if actErr := <-acted; err == nil && !errors.Is(actErr, context.Canceled) {
		err = actErr
	}
	room.Disconnect()
	out.tell(event{Kind: "ended", Reason: reason})
	if o.record != "" {
		seconds, werr := tape.write(o.record)
		if werr != nil {
			return errors.Join(err, werr)
		}
		out.tell(event{Kind: "recorded", File: o.record, Seconds: seconds})
	}
	return err
}

// callbacks print what happens in the room and put what is heard on the tape.
func callbacks(out *printer, tape *tape, record bool, over chan<- string) *lksdk.RoomCallback {
	c := lksdk.NewRoomCallback()
	c.OnDisconnectedWithReason = func(r lksdk.DisconnectionReason) {
		select {
		case over <- string(r):
		default:
		}
	}
	c.OnParticipantConnected = func(p *lksdk.RemoteParticipant) {
		out.tell(event{Kind: "came", ID: p.Identity(), Name: p.Name()})
	}
	c.OnParticipantDisconnected = func(p *lksdk.RemoteParticipant) {
		out.tell(event{Kind: "left", ID: p.Identity(), Name: p.Name()})
	}
	c.OnIsSpeakingChanged = func(p lksdk.Participant) {
		on := p.IsSpeaking()
		out.tell(event{Kind: "speaking", ID: p.Identity(), Name: p.Name(), On: &on})
	}
	muted := func(on bool) func(lksdk.TrackPublication, lksdk.Participant) {
		return func(_ lksdk.TrackPublication, p lksdk.Participant) {
			out.tell(event{Kind: "muted", ID: p.Identity(), Name: p.Name(), On: &on})
		}
	}
	c.OnTrackMuted, c.OnTrackUnmuted = muted(true), muted(false)
	c.OnTrackSubscribed = func(t *webrtc.TrackRemote, _ *lksdk.RemoteTrackPublication, p *lksdk.RemoteParticipant) {
		if t.Kind() != webrtc.RTPCodecTypeAudio {
			return
		}
		out.tell(event{Kind: "heard", ID: p.Identity(), Name: p.Name()})
		if record {
			go tape.hear(t)
		}
	}
	return c
}

func people(room *lksdk.Room) []person {
	self := room.LocalParticipant
	all := []person{{ID: self.Identity(), Name: self.Name(), Self: true}}
	for _, p := range room.GetRemoteParticipants() {
		all = append(all, person{ID: p.Identity(), Name: p.Name()})
	}
	return all
}
