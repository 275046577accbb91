package seat

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"parley/meeting/keeper"
	"parley/meeting/wire"
	"parley/store"
	"parley/tenant"
)

type attended struct {
	meetings []keeper.Status
	stopped  []string
}

func (a *attended) Attending(context.Context) []keeper.Status { return a.meetings }
func (a *attended) Command(_ context.Context, _ tenant.ID, id string, c wire.Command) (wire.Answer, error) {
	if c.StopTranscript != nil && c.StopTranscript.Reason == "daily-cap" {
		a.stopped = append(a.stopped, id)
	}
	return wire.Answer{}, nil
}

func at(id string, t tenant.ID, minutes float64) keeper.Status {
	return keeper.Status{ID: id, Tenant: t, Status: wire.Status{StreamedS: 60 * minutes}}
}

func TestTheDailyCapIsPerTenantAndSurvivesARestart(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	open := func() *store.Store {
		s, err := store.Open(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	paid := func(string) bool { return true }
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	s := open()
	meet := &attended{meetings: []keeper.Status{at("m1", "me", 2), at("m2", "me", 3), at("m3", "you", 4)}}
	m := &Meter{Paid: paid, CapMin: 10, Usage: s.Usage, Meet: meet, Log: slog.New(slog.DiscardHandler)}
	m.Count(ctx, now)
	m.Count(ctx, now) // nothing is counted twice
	if used, _ := s.Usage.Today(ctx, "me", usedMinutes, now); used != 5 {
		t.Errorf("me has used %v minutes, want 5", used)
	}
	if err := m.May(ctx, "me", "x", now); err != nil {
		t.Error(err)
	}
	_ = s.Close()

	s = open() // the service starts again; the meetings begin anew
	defer s.Close()
	meet = &attended{meetings: []keeper.Status{at("m4", "me", 4.9), at("m5", "you", 1)}}
	m = &Meter{Paid: paid, CapMin: 10, Usage: s.Usage, Meet: meet, Log: slog.New(slog.DiscardHandler)}
	m.Count(ctx, now)
	if len(meet.stopped) != 0 {
		t.Errorf("stopped before the cap: %v", meet.stopped)
	}
	meet.meetings[0] = at("m4", "me", 5)
	m.Count(ctx, now)
	if len(meet.stopped) != 1 || meet.stopped[0] != "m4" {
		t.Errorf("stopped %v, want m4", meet.stopped)
	}
	if m.May(ctx, "me", "x", now) == nil || m.May(ctx, "you", "x", now) != nil || m.May(ctx, "me", "x", now.Add(24*time.Hour)) != nil {
		t.Error("who may begin is not right")
	}
}

func TestWhatCostsNothingIsNotCounted(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	meet := &attended{meetings: []keeper.Status{at("m1", "me", 1000)}}
	m := &Meter{Paid: func(string) bool { return false }, CapMin: 1, Usage: s.Usage, Meet: meet, Log: slog.New(slog.DiscardHandler)}
	m.Count(t.Context(), time.Now())
	if used, _ := s.Usage.Today(t.Context(), "me", usedMinutes, time.Now()); used != 0 || len(meet.stopped) != 0 || m.May(t.Context(), "me", engine, time.Now()) != nil {
		t.Errorf("%v minutes, stopped %v", used, meet.stopped)
	}
}

func TestTheVoiceInTheCloudHasItsDaysCharacters(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	meet := &attended{meetings: []keeper.Status{{ID: "m1", Tenant: "me", Status: wire.Status{VoiceChars: 700}}, {ID: "m2", Tenant: "you", Status: wire.Status{VoiceChars: 10}}}}
	m := &Meter{Paid: func(string) bool { return false }, VoiceChars: 1000, Usage: s.Usage, Meet: meet, Log: slog.New(slog.DiscardHandler)}
	m.Count(t.Context(), now)
	m.Count(t.Context(), now) // nothing is counted twice
	meet.meetings[0].VoiceChars = 1200
	for want, at := range map[int64]time.Time{300: now, 1000: now.Add(24 * time.Hour)} {
		if left, err := m.VoiceLeft(t.Context(), "me", at); err != nil || left != want {
			t.Errorf("%d left, want %d: %v", left, want, err)
		}
	}
	m.Count(t.Context(), now)
	if left, err := m.VoiceLeft(t.Context(), "me", now); err != nil || left != 0 {
		t.Errorf("over the cap %d are left: %v", left, err)
	}
	if left, err := m.VoiceLeft(t.Context(), "you", now); err != nil || left != 990 {
		t.Errorf("the other tenant has %d left: %v", left, err)
	}
}
