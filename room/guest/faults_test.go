package guest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"parley/room"
	"parley/room/guest"
)

// holes counts what of each participant was heard and what is missing in between.
type holes struct {
	mu   sync.Mutex
	next map[string]int64
	have map[string]int64
	lost map[string]int64
}

func (h *holes) hear(s guest.Sound) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == nil {
		h.next, h.have, h.lost = map[string]int64{}, map[string]int64{}, map[string]int64{}
	}
	if gap := s.Pos - h.next[s.Participant]; gap > 0 && h.have[s.Participant] > 0 {
		h.lost[s.Participant] += gap
	}
	h.next[s.Participant] = s.End()
	h.have[s.Participant] += int64(len(s.PCM))
}

func TestLostPacketsAreMended(t *testing.T) {
	clip := tone(t, 5*time.Second)
	s := start(t, room.Options{Faults: room.Faults{Loss: 0.05, Delay: 10 * time.Millisecond, Jitter: 15 * time.Millisecond, Seed: 7}})
	var h holes
	_, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada", Muted: true, Network: "udp", OnAudio: h.hear})
	seenByAda.kind(guest.Joined)
	ben, _ := join(t, guest.Options{URL: s.Link("r"), Name: "Ben", Network: "udp"})
	seenByAda.kind(guest.Heard)
	if err := ben.Play(context.Background(), clip); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	have, lost := h.have[ben.Self()], h.lost[ben.Self()]
	t.Logf("of two losses of 5 %% one after the other, %.2f %% remain", 100*float64(lost)/float64(have+lost))
	if have < 3*guest.Rate || float64(lost)/float64(have+lost) > 0.03 {
		t.Errorf("%d samples, %d missing", have, lost)
	}
}
