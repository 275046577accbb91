package platformtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	meetstandin "parley/platforms/meet/standin"
	"parley/testkit/standin"
)

func TestMain(m *testing.M) { Main(m) }

// naive is a module that takes a button to leave for the meeting: the mistake of which public bots' issues are full.
type naive struct {
	page   platforms.Page
	url    string
	events chan meeting.CallEvent
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func naivePlatform() platforms.Platform {
	return platforms.Platform{
		Name: "meet", Permissions: []string{"audioCapture", "videoCapture"},
		Open: func(_ context.Context, page platforms.Page, link platforms.Link, _ platforms.Options) (meeting.Call, error) {
			ctx, stop := context.WithCancel(context.Background())
			n := &naive{page: page, url: link.URL + "?hl=en", events: make(chan meeting.CallEvent, 16), stop: stop}
			n.done.Go(func() { n.look(ctx) })
			return n, nil
		},
	}
}

func (n *naive) look(ctx context.Context) {
	defer close(n.events)
	for ctx.Err() == nil {
		leave, err := n.page.Find(ctx, platforms.Target{Role: "button", Names: []string{"Leave call"}})
		if err == nil && leave.OK {
			select {
			case n.events <- meeting.SeenPlace{Place: meeting.PlaceIn, Signs: []string{"leave-button"}}:
			case <-ctx.Done():
			}
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (n *naive) Join(ctx context.Context, r meeting.JoinRequest) error {
	if err := n.page.Navigate(ctx, n.url); err != nil {
		return err
	}
	if err := n.page.Type(ctx, platforms.Target{Selector: `input[aria-label="Your name"]`}, r.Name); err != nil {
		return err
	}
	return n.page.Click(ctx, platforms.Target{Role: "button", Names: []string{"Ask to join"}})
}

func (n *naive) Events() <-chan meeting.CallEvent { return n.events }
func (n *naive) SendChat(context.Context, string, meeting.Audience) (meeting.ChatReceipt, error) {
	return meeting.ChatReceipt{}, &meeting.ChatError{}
}
func (n *naive) SetMicrophone(context.Context, bool) (meeting.Device, error) {
	return meeting.DeviceUnknown, nil
}
func (n *naive) Leave(context.Context) error             { return nil }
func (n *naive) Picture(context.Context) ([]byte, error) { return nil, nil }
func (n *naive) Close() error {
	n.stop()
	n.done.Wait()
	return nil
}

// The runner must notice the mistake that it is made for.
func TestAFalseInIsNoticed(t *testing.T) {
	Browser(t)
	k := meetstandin.Kind()
	s, err := standin.Load(k, "lobby-looks-like-a-call")
	if err != nil {
		t.Fatal(err)
	}
	s.Expect.WithinMS = 60_000 // it ends with the mistake
	o := Play(t, naivePlatform(), k, s, standin.Mutation{})
	if len(o.False) == 0 || !strings.Contains(o.False[0], `at the screen "waiting"`) {
		t.Errorf("a lobby was taken for the meeting and nobody noticed: %+v", o)
	}
	if o.Survived() {
		t.Error("it survived")
	}
}

func TestThroughIsAnOrder(t *testing.T) {
	for _, c := range []struct {
		seen, want string
		ok         bool
	}{
		{"lobby waiting in", "waiting in", true},
		{"lobby in waiting", "waiting in", false},
		{"waiting in out(removed)", "in out", true},
		{"", "in", false},
		{"in", "", true},
	} {
		if got := through(strings.Fields(c.seen), strings.Fields(c.want)); got != c.ok {
			t.Errorf("%q through %q: %v", c.seen, c.want, got)
		}
	}
}
