package seat

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/tenant"
	"parley/tool"
)

// meterEvery is how often paid minutes are counted: so much may be used over the cap, and lost with a crash.
const meterEvery = 10 * time.Second

// Usage remembers what tenants used on a day; store.Usage is one. It survives restarts.
type Usage interface {
	Add(ctx context.Context, t tenant.ID, what string, now time.Time, amount float64) (sum float64, err error)
	Today(ctx context.Context, t tenant.ID, what string, now time.Time) (sum float64, err error)
}

// Attended are the meetings whose minutes are counted; keeper.Keeper is one.
type Attended interface {
	Attending(ctx context.Context) []keeper.Status
	Command(ctx context.Context, t tenant.ID, id string, c wire.Command) (wire.Answer, error)
}

// Meter counts the minutes of live transcript that cost, per tenant and day (UTC), and stops what is over the cap.
type Meter struct {
	// Paid says which recognisers cost.
	Paid func(engine string) bool
	// CapMin is how many minutes a tenant may have each day.
	CapMin float64
	// VoiceChars is how many characters a tenant may give to a voice that costs each day; 0: there is no such voice.
	VoiceChars int64
	Usage      Usage
	Meet       Attended
	Log        *slog.Logger

	mu      sync.Mutex
	counted map[string]float64    // minutes, by meeting
	voiced  map[string]int64      // characters, by meeting
	today   map[tenant.ID]float64 // as of the last count
}

// usedMinutes is what they are counted as.
const usedMinutes = "live-transcript-minutes"

// usedChars is what a voice that costs is counted as.
const usedChars = "voice-characters"

// Run counts until ctx ends. It returns at once where nothing costs.
func (m *Meter) Run(ctx context.Context) {
	if !m.Paid(engine) && m.VoiceChars == 0 {
		return
	}
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.Count(ctx, time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// Count adds what was streamed since the last time, and stops the transcripts of tenants who have used up their day.
func (m *Meter) Count(ctx context.Context, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counted == nil {
		m.counted, m.voiced, m.today = map[string]float64{}, map[string]int64{}, map[tenant.ID]float64{}
	}
	alive := map[string]bool{}
	for _, st := range m.Meet.Attending(ctx) {
		alive[st.ID] = true
		if delta := st.VoiceChars - m.voiced[st.ID]; delta > 0 {
			if _, err := m.Usage.Add(ctx, st.Tenant, usedChars, now, float64(delta)); err != nil {
				m.Log.Error("characters of a voice were not counted", "err", err) // they are with the next count
			} else {
				m.voiced[st.ID] = st.VoiceChars
			}
		}
		minutes := st.StreamedS / 60
		if delta := minutes - m.counted[st.ID]; delta > 0 && m.Paid(engine) {
			sum, err := m.Usage.Add(ctx, st.Tenant, usedMinutes, now, delta)
			if err != nil {
				m.Log.Error("minutes of live transcript were not counted", "err", err) // they are with the next count
				continue
			}
			m.counted[st.ID], m.today[st.Tenant] = minutes, sum
			if sum >= m.CapMin {
				_, _ = m.Meet.Command(ctx, st.Tenant, st.ID, wire.Command{StopTranscript: &wire.StopTranscript{Reason: "daily-cap"}}) // one that is over needs none
			}
		}
	}
	for id := range m.counted {
		if !alive[id] {
			delete(m.counted, id)
		}
	}
	for id := range m.voiced {
		if !alive[id] {
			delete(m.voiced, id)
		}
	}
}

// VoiceLeft is how many characters a tenant may still give to a voice that costs today.
func (m *Meter) VoiceLeft(ctx context.Context, t tenant.ID, now time.Time) (int64, error) {
	used, err := m.Usage.Today(ctx, t, usedChars, now)
	if err != nil {
		return 0, fmt.Errorf("what was used today cannot be read: %w", err)
	}
	return max(m.VoiceChars-int64(used), 0), nil
}

// May says whether a tenant has minutes left; the error is for a person.
func (m *Meter) May(ctx context.Context, t tenant.ID, engine string, now time.Time) error {
	if !m.Paid(engine) {
		return nil
	}
	used, err := m.Usage.Today(ctx, t, usedMinutes, now)
	if err != nil {
		return fmt.Errorf("what was used today cannot be read: %w", err)
	}
	if used >= m.CapMin {
		return fmt.Errorf("the %.0f minutes of live transcript that a tenant has each day are used up (PARLEY_LIVE_TRANSCRIPT_DAILY_MIN); more at midnight UTC", m.CapMin)
	}
	return nil
}

// capped adds to a status what a paid recogniser has used today.
func (s *Seat) capped(t tenant.ID, out *tool.Transcribe) {
	m := s.o.Meter
	if m == nil || !m.Paid(engine) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	today, limit := m.today[t], m.CapMin
	out.TodayMin, out.DailyCapMin = &today, &limit
}
