// Package roomcall attends the built-in room, until the module of the platform takes its place.
package roomcall

import (
	"context"
	"errors"
	"time"

	"parley/meeting"
	"parley/platforms"
)

var Platform = platforms.Platform{Name: "room", Hold: 250 * time.Millisecond, Permissions: []string{"audioCapture"}, Open: open}

func open(ctx context.Context, p platforms.Page, l platforms.Link, _ platforms.Options) (meeting.Call, error) {
	c := &call{p: p, l: l, ev: make(chan meeting.CallEvent, 64), stop: make(chan struct{})}
	return c, nil
}

type call struct {
	p    platforms.Page
	l    platforms.Link
	ev   chan meeting.CallEvent
	stop chan struct{}
}

type view struct {
	Screen string
	People []meeting.Person
	Chat   []struct {
		ID, Sender, Text string
		Own              bool
	}
	Mic      string
	Speaking []struct{ ID, Name string }
}

const look = `() => ({Screen: document.body.dataset.screen, Mic: document.getElementById('mic').dataset.state,
 People: [...document.querySelectorAll('#people [data-participant-id]')].map(e => ({ID: e.dataset.participantId, Name: e.querySelector('.name')?.textContent||'', Self: e.dataset.self==='true'})),
 Speaking: [...document.querySelectorAll('#people [data-speaking=true]')].filter(e=>e.dataset.self!=='true').map(e => ({ID: e.dataset.participantId, Name: e.querySelector('.name')?.textContent||''})),
 Chat: [...document.querySelectorAll('#chat-log [data-message-id]')].map(e => ({ID: e.dataset.messageId, Sender: e.querySelector('.sender')?.textContent||'', Text: e.querySelector('.text')?.textContent||'', Own: e.dataset.own==='true'}))})`

func (c *call) Join(ctx context.Context, r meeting.JoinRequest) error {
	if err := c.p.Navigate(ctx, c.l.URL); err != nil {
		return err
	}
	if err := c.p.Type(ctx, platforms.Target{Selector: "#name"}, r.Name); err != nil {
		return err
	}
	if err := c.p.Click(ctx, platforms.Target{Selector: "#lobby-mic"}); err != nil {
		return err
	}
	if err := c.p.Click(ctx, platforms.Target{Selector: "#join"}); err != nil {
		return err
	}
	go c.watch()
	return nil
}

func (c *call) watch() {
	defer close(c.ev)
	seen := map[string]bool{}
	place, n := "", -1
	for {
		select {
		case <-c.stop:
			return
		case <-time.After(150 * time.Millisecond):
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		var v view
		err := c.p.Run(ctx, look, nil, &v)
		cancel()
		if err != nil {
			return
		}
		if v.Screen != place {
			place = v.Screen
			m := map[string]meeting.Place{"lobby": meeting.PlaceLobby, "waiting": meeting.PlaceWaiting, "call": meeting.PlaceIn, "ended": meeting.PlaceOut}
			c.ev <- meeting.SeenPlace{Place: m[place], Reason: map[bool]string{true: "ended-for-all"}[place == "ended"]}
		}
		c.ev <- meeting.SeenDevice{Microphone: meeting.Device(v.Mic), Camera: meeting.DeviceOff}
		if len(v.People) != n {
			n = len(v.People)
			c.ev <- meeting.SeenPeople{Count: n, People: v.People}
		}
		s := meeting.SeenSpeaking{At: time.Now()}
		for _, p := range v.Speaking {
			s.IDs, s.Names = append(s.IDs, p.ID), append(s.Names, p.Name)
		}
		c.ev <- s
		for _, m := range v.Chat {
			if !seen[m.ID] {
				seen[m.ID] = true
				c.ev <- meeting.SeenChat{ID: m.ID, Sender: m.Sender, Text: m.Text, Own: m.Own, At: time.Now()}
			}
		}
	}
}

func (c *call) Events() <-chan meeting.CallEvent { return c.ev }
func (c *call) SendChat(ctx context.Context, text string, to meeting.Audience) (meeting.ChatReceipt, error) {
	var f platforms.Found
	var err error
	if f, err = c.p.Find(ctx, platforms.Target{Selector: "#message"}); err == nil && !f.OK {
		if err := c.p.Click(ctx, platforms.Target{Selector: "#chat-button"}); err != nil {
			return meeting.ChatReceipt{}, err
		}
	}
	if err := c.p.Type(ctx, platforms.Target{Selector: "#message"}, text); err != nil {
		return meeting.ChatReceipt{}, err
	}
	if err := c.p.Click(ctx, platforms.Target{Selector: "#send"}); err != nil {
		return meeting.ChatReceipt{}, err
	}
	return meeting.ChatReceipt{SentTo: to}, nil
}
func (c *call) SetMicrophone(ctx context.Context, on bool) (meeting.Device, error) {
	var v view
	if err := c.p.Run(ctx, look, nil, &v); err != nil {
		return meeting.DeviceUnknown, err
	}
	if (v.Mic == "on") != on {
		if err := c.p.Click(ctx, platforms.Target{Selector: "#mic"}); err != nil {
			return meeting.DeviceUnknown, err
		}
		time.Sleep(100 * time.Millisecond)
		if err := c.p.Run(ctx, look, nil, &v); err != nil {
			return meeting.DeviceUnknown, err
		}
	}
	return meeting.Device(v.Mic), nil
}
func (c *call) Leave(ctx context.Context) error {
	return c.p.Click(ctx, platforms.Target{Selector: "#leave"})
}
func (c *call) Picture(ctx context.Context) ([]byte, error) { return c.p.Picture(ctx) }
func (c *call) Close() error {
	select {
	case <-c.stop:
		return errors.New("twice")
	default:
		close(c.stop)
	}
	return nil
}
