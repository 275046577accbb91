package platformtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/testkit/standin"
)

// Stand is a stand-in page as the stage of a test: its people are simulated, its page is told what to show.
type Stand struct {
	*standin.Server
	// PageID is the id that the page gives to a seat.
	PageID func(standin.Seat) string
	link   platforms.Link

	people int
}

// OpenStand starts a stand-in with a scenario, for one test.
func OpenStand(t *testing.T, k standin.Kind, o standin.Options) *Stand {
	t.Helper()
	o.Log = Quiet
	s, err := standin.New(k, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, standin.ErrClosed) {
			t.Error(err)
		}
	})
	set, err := platforms.ParseStandins(s.Setting())
	if err != nil {
		t.Fatal(err)
	}
	link, err := (platforms.Origins{Standins: set}).Parse(s.Link())
	if err != nil {
		t.Fatal(err)
	}
	return &Stand{Server: s, link: link, people: len(o.Scenario.People)}
}

// Link leads into the meeting.
func (s *Stand) Link() platforms.Link { return s.link }

// Host gives the person of the scenario who may let in, or brings one in.
func (s *Stand) Host(t *testing.T, name string) Participant {
	t.Helper()
	return s.come(t, name, "host")
}

// Guest brings somebody in.
func (s *Stand) Guest(t *testing.T, name string) Participant {
	t.Helper()
	return s.come(t, name, "")
}

func (s *Stand) come(t *testing.T, name, kind string) Participant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Do(ctx, standin.Action{Do: "come", Who: name, Kind: kind}); err != nil && !strings.Contains(err.Error(), "is there already") {
		t.Fatalf("%s comes: %v", name, err)
	}
	var seat standin.Seat
	if _, err := s.Await(ctx, func(st standin.State) bool {
		for _, p := range st.People {
			if p.Name == name {
				seat = p
			}
		}
		return seat.Name != ""
	}); err != nil {
		t.Fatalf("%s comes: %v", name, err)
	}
	return &actor{stand: s, seat: seat}
}

// actor is somebody simulated.
type actor struct {
	stand *Stand
	seat  standin.Seat
}

// ID is theirs on the page.
func (a *actor) ID() string {
	if a.stand.PageID == nil {
		return ""
	}
	return a.stand.PageID(a.seat)
}

func (a *actor) do(ctx context.Context, act standin.Action) error {
	act.Who = a.seat.Name
	return a.stand.Do(ctx, act)
}

func (a *actor) asked(ctx context.Context, name string) error {
	_, err := a.stand.Await(ctx, func(st standin.State) bool {
		v, ok := st.Newest()
		return ok && v.Tries > 0 && (v.Name == name || v.Name == "")
	})
	return err
}

func (a *actor) Admit(ctx context.Context, name string) error {
	if err := a.asked(ctx, name); err != nil {
		return err
	}
	return a.do(ctx, standin.Action{Do: "admit"})
}

func (a *actor) Decline(ctx context.Context, name string) error {
	if err := a.asked(ctx, name); err != nil {
		return err
	}
	return a.do(ctx, standin.Action{Do: "deny"})
}

func (a *actor) Remove(ctx context.Context, _ string) error {
	return a.do(ctx, standin.Action{Do: "remove"})
}
func (a *actor) EndForAll(ctx context.Context) error { return a.do(ctx, standin.Action{Do: "end"}) }
func (a *actor) Say(ctx context.Context, text string) error {
	return a.do(ctx, standin.Action{Do: "say", Text: text})
}
func (a *actor) Leave(ctx context.Context) error { return a.do(ctx, standin.Action{Do: "go"}) }

func (a *actor) Speak(ctx context.Context, hz float64, d time.Duration) error {
	if err := a.do(ctx, standin.Action{Do: "speak", Hz: hz, Seconds: d.Seconds()}); err != nil {
		return err
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *actor) Sees(ctx context.Context, name string, ok func(*meeting.Person) bool) error {
	_, err := a.stand.Await(ctx, func(st standin.State) bool {
		v, there := st.Newest()
		if !there || !v.In() {
			return ok(nil)
		}
		return ok(&meeting.Person{Name: v.Name, Self: true, Muted: !v.Microphone, HandUp: v.Hand})
	})
	if err != nil {
		return fmt.Errorf("%s never saw %s so: %w", a.seat.Name, name, err)
	}
	return nil
}

func (a *actor) Reads(ctx context.Context, _, text string) error {
	want := fold(text)
	_, err := a.stand.Await(ctx, func(st standin.State) bool {
		v, _ := st.Newest()
		all := ""
		for _, r := range v.Said {
			if fold(r.Text) == want {
				return true
			}
			all += " " + strings.TrimSpace(stripPart(r.Text))
		}
		return strings.Contains(fold(all), want)
	})
	return err
}

// stripPart takes the number off a part of a longer message.
func stripPart(s string) string {
	if strings.HasPrefix(s, "(") {
		if _, rest, ok := strings.Cut(s, ") "); ok {
			return rest
		}
	}
	return s
}
