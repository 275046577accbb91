package mcpl

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Event is a push/event.
type Event struct {
	FeatureSet string
	// ID is unique for each occurrence, and the same again when the occurrence is sent again.
	ID     string
	At     time.Time
	Tags   []string
	Origin map[string]any
	// Text is what the model reads.
	Text string
	// CoalesceKey lets a host that can replace an unread event do so; Partial events are dropped first.
	CoalesceKey string
	Partial     bool
}

// pushTimeout is how long a host may take over an event. A busy one may hold it for long.
const pushTimeout = 30 * time.Second

// Taken is what a host made of an event.
type Taken struct {
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
}

// Push puts an event into the connection's queue and gives a function that waits for the host's answer.
// Of wait's errors ErrClosed, ErrNotGranted and the context's leave the event untaken: it may be sent again
// with the same ID. Any other says that the host did not want it.
func (s *Session) Push(e Event) (wait func(context.Context) (Taken, error), err error) {
	params := map[string]any{
		"featureSet": e.FeatureSet, "eventId": e.ID, "timestamp": e.At.UTC().Format(time.RFC3339Nano),
		"payload": map[string]any{"content": []any{map[string]any{"type": "text", "text": e.Text}}},
	}
	if len(e.Tags) > 0 {
		params["tags"] = e.Tags
	}
	if len(e.Origin) > 0 {
		params["origin"] = e.Origin
	}
	if e.CoalesceKey != "" && s.Host().CoalescesPushes {
		params["coalesce"] = map[string]any{"key": e.CoalesceKey}
	}
	reply, err := s.Begin(Use{Set: e.FeatureSet, Path: PathPushEvents, Partial: e.Partial}, "push/event", params)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (Taken, error) {
		ctx, cancel := context.WithTimeout(ctx, pushTimeout)
		defer cancel()
		raw, err := reply(ctx)
		if err != nil {
			return Taken{}, err
		}
		var t Taken
		if err := json.Unmarshal(raw, &t); err != nil {
			return Taken{}, errors.New("the host's answer to push/event cannot be read")
		}
		return t, nil
	}, nil
}

// Untaken tells whether an error of a push leaves the event to be sent again.
func Untaken(err error) bool {
	return errors.Is(err, ErrClosed) || errors.Is(err, ErrNotGranted) || errors.Is(err, ErrBusy) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
