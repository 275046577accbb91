package room

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/room"
	"parley/room/guest"
	"parley/room/wire"
)

// stage is a real room with guests in it.
type stage struct {
	server *room.Server
	id     string
	link   platforms.Link
}

func newStage(t *testing.T, o room.Options) *stage {
	t.Helper()
	o.Listen, o.Log, o.HostKey = "127.0.0.1:0", platformtest.Quiet, "test-host-key"
	s, err := room.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		_ = s.Close()
		<-done
	})
	st := &stage{server: s, id: room.NewID()}
	if st.link, err = (platforms.Origins{}).Parse(s.Link(st.id)); err != nil {
		t.Fatal(err)
	}
	return st
}

func (s *stage) Link() platforms.Link { return s.link }

func (s *stage) Host(t *testing.T, name string) platformtest.Participant {
	t.Helper()
	return s.enter(t, guest.Options{URL: s.server.HostLink(s.id), Name: name, Muted: true})
}

func (s *stage) Guest(t *testing.T, name string) platformtest.Participant {
	t.Helper()
	return s.enter(t, guest.Options{URL: s.server.Link(s.id), Name: name})
}

// participant is a guest and what it has seen.
type participant struct {
	*guest.Guest
	mu     sync.Mutex
	people map[string]wire.Person // by id
	knocks map[string]string      // name → id
	chat   map[string]int         // name + text → how often
	news   chan struct{}
}

func (s *stage) enter(t *testing.T, o guest.Options) *participant {
	t.Helper()
	o.Log = platformtest.Quiet
	p := &participant{people: map[string]wire.Person{}, knocks: map[string]string{}, chat: map[string]int{}, news: make(chan struct{})}
	g, err := guest.Join(context.Background(), o, p.take)
	if err != nil {
		t.Fatal(err)
	}
	p.Guest = g
	t.Cleanup(func() { _ = g.Leave() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := g.Admitted(ctx); err != nil {
		t.Fatalf("a guest of the test: %v", err)
	}
	return p
}

func (p *participant) take(e guest.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case guest.People:
		p.people = map[string]wire.Person{}
		for _, q := range e.People {
			p.people[q.ID] = q.Person
		}
	case guest.Knock:
		p.knocks[e.Name] = e.ID
	case guest.Chat:
		p.chat[e.Name+"\x00"+fold(e.Text)]++
	}
	close(p.news)
	p.news = make(chan struct{})
}

// until waits for what the guest sees.
func (p *participant) until(ctx context.Context, ok func() bool) error {
	for {
		p.mu.Lock()
		done, news := ok(), p.news
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *participant) ID() string { return p.Self() }

func (p *participant) knock(ctx context.Context, name string) (id string, err error) {
	err = p.until(ctx, func() bool { id = p.knocks[name]; return id != "" })
	return id, err
}

func (p *participant) Admit(ctx context.Context, name string) error {
	id, err := p.knock(ctx, name)
	if err != nil {
		return err
	}
	return p.Guest.Admit(id)
}

func (p *participant) Decline(ctx context.Context, name string) error {
	id, err := p.knock(ctx, name)
	if err != nil {
		return err
	}
	return p.Guest.Decline(id)
}

func (p *participant) Remove(ctx context.Context, name string) error {
	var id string
	if err := p.until(ctx, func() bool { q := p.named(name); id = q.ID; return id != "" }); err != nil {
		return err
	}
	return p.Guest.Remove(id)
}

func (p *participant) named(name string) wire.Person {
	for _, q := range p.people {
		if q.Name == name {
			return q
		}
	}
	return wire.Person{}
}

func (p *participant) EndForAll(context.Context) error          { return p.EndAll() }
func (p *participant) Say(_ context.Context, text string) error { return p.Guest.Say(text) }
func (p *participant) Leave(context.Context) error              { return p.Guest.Leave() }

func (p *participant) Speak(ctx context.Context, hz float64, d time.Duration) error {
	pcm := make([]int16, int(d.Seconds()*guest.Rate))
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*hz*float64(i)/guest.Rate))
	}
	clip, err := guest.Encode(ctx, fmt.Sprint(hz), pcm)
	if err != nil {
		return err
	}
	return p.Play(ctx, clip)
}

func (p *participant) Sees(ctx context.Context, name string, ok func(*meeting.Person) bool) error {
	return p.until(ctx, func() bool {
		q := p.named(name)
		if q.ID == "" {
			return ok(nil)
		}
		return ok(&meeting.Person{ID: q.ID, Name: q.Name, Host: q.Host, Muted: q.Muted, HandUp: q.Hand})
	})
}

func (p *participant) Reads(ctx context.Context, name, text string) error {
	return p.until(ctx, func() bool { return p.chat[name+"\x00"+fold(text)] > 0 })
}
