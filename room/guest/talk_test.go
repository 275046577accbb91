package guest_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
)

// start runs a server for the length of a test.
func start(t *testing.T, o room.Options) *room.Server {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	s, err := room.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server did not end")
		}
	})
	return s
}

// watcher keeps a guest's events and lets a test wait for one.
type watcher struct {
	t  *testing.T
	mu sync.Mutex
	// all are the events so far; news is closed and replaced at each.
	all  []guest.Event
	news chan struct{}
	next int
}

func watch(t *testing.T) *watcher { return &watcher{t: t, news: make(chan struct{})} }

func (w *watcher) take(e guest.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, e)
	close(w.news)
	w.news = make(chan struct{})
}

// wait gives the next event for which ok is true, and passes over those before it.
func (w *watcher) wait(what string, ok func(guest.Event) bool) guest.Event {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		for w.next < len(w.all) {
			e := w.all[w.next]
			w.next++
			if ok(e) {
				w.mu.Unlock()
				return e
			}
		}
		news := w.news
		w.mu.Unlock()
		select {
		case <-news:
		case <-deadline:
			w.t.Fatalf("no event: %s; had %+v", what, w.all)
		}
	}
}

func (w *watcher) kind(k guest.Kind) guest.Event {
	w.t.Helper()
	return w.wait(string(k), func(e guest.Event) bool { return e.Kind == k })
}

func (w *watcher) people(n int) guest.Event {
	w.t.Helper()
	return w.wait("people", func(e guest.Event) bool { return e.Kind == guest.People && len(e.People) == n })
}

// join brings a guest in and lets it leave at the end of the test.
func join(t *testing.T, o guest.Options) (*guest.Guest, *watcher) {
	t.Helper()
	w := watch(t)
	g, err := guest.Join(context.Background(), o, w.take)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Leave() })
	return g, w
}

func tone(t *testing.T, length time.Duration) guest.Clip {
	t.Helper()
	need.Program(t, "ffmpeg")
	c, err := guest.Encode(context.Background(), "tone", guest.Tone(length))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pitch keeps what was heard of each participant.
type memory struct {
	mu  sync.Mutex
	pcm map[string][]int16
}

func (m *memory) hear(s guest.Sound) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pcm == nil {
		m.pcm = map[string][]int16{}
	}
	p := m.pcm[s.Participant]
	if need := int(s.End()) - len(p); need > 0 && need < 100*guest.Rate {
		p = append(p, make([]int16, need)...)
	}
	copy(p[s.Pos:], s.PCM)
	m.pcm[s.Participant] = p
}

func (m *memory) of(id string) []int16 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]int16(nil), m.pcm[id]...)
}

// hz is the frequency of a pure tone.
func hz(pcm []int16) float64 {
	crossings := 0
	for i := 1; i < len(pcm); i++ {
		if pcm[i-1] < 0 && pcm[i] >= 0 {
			crossings++
		}
	}
	return float64(crossings) * guest.Rate / float64(len(pcm))
}

// loud gives where the sound begins to be loud.
func loud(pcm []int16) int {
	for i, s := range pcm {
		if math.Abs(float64(s)) > 3000 {
			return i
		}
	}
	return len(pcm)
}

func TestGuestsHearEachOther(t *testing.T) {
	clip := tone(t, 3*time.Second)
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			s := start(t, room.Options{})
			var heard memory
			_, anna := join(t, guest.Options{URL: s.Link("r"), Name: "Anna", Network: network, OnAudio: heard.hear})
			anna.kind(guest.Joined)
			ben, _ := join(t, guest.Options{URL: s.Link("r"), Name: "Ben", Network: network})
			anna.people(2)
			anna.kind(guest.Heard)
			if err := ben.Play(context.Background(), clip); err != nil {
				t.Fatal(err)
			}
			e := anna.wait("Ben speaks", func(e guest.Event) bool { return e.Kind == guest.Speaking && *e.On })
			if e.Name != "Ben" || e.ID != ben.Self() {
				t.Errorf("speaking: %+v", e)
			}
			anna.wait("Ben is silent", func(e guest.Event) bool { return e.Kind == guest.Speaking && !*e.On })
			pcm := heard.of(ben.Self())
			from := loud(pcm)
			for n := range 3 {
				second := pcm[from+n*guest.Rate+guest.Rate/4 : from+n*guest.Rate+3*guest.Rate/4]
				if got, want := hz(second), guest.ToneHz(n); math.Abs(got-want) > 6 {
					t.Errorf("second %d: %.0f Hz, want %.0f", n, got, want)
				}
			}
		})
	}
}
