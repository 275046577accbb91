package observe

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"parley/platforms"
	"parley/platforms/sign"
)

// Reader is what a module makes of what its page shows. All of it is called on Follow's goroutine.
type Reader struct {
	Take    func(time.Time, Report)    // a report of the page
	Look    func(time.Time, sign.Look) // the page cannot be asked: it crashed, hangs or is gone
	Decided func(sign.Decision)        // time alone decided
}

// Follow brings reports, the tab's health and time to an engine and its reader until the context ends or the tab is gone.
func Follow(ctx context.Context, engine *sign.Engine, reports <-chan json.RawMessage, events <-chan platforms.PageEvent, log *slog.Logger, r Reader) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if d := engine.Deadline(); !d.IsZero() {
			wait = max(time.Until(d), 0)
		}
		timer.Reset(wait)
		select {
		case raw, ok := <-reports:
			if !ok {
				reports = nil
				break
			}
			report, err := Decode(raw)
			if err != nil {
				log.Warn("unreadable report of the page", "error", err)
				report = Report{Failed: "unreadable"}
			}
			r.Take(time.Now(), report)
		case e, ok := <-events:
			if !ok { // the tab is gone
				r.Look(time.Now(), sign.Look{Health: sign.Crashed})
				return
			}
			switch e.Kind {
			case "crashed":
				r.Look(e.At, sign.Look{Health: sign.Crashed})
			case "hung":
				r.Look(e.At, sign.Look{Health: sign.Silent})
			}
		case <-timer.C:
			if d, changed := engine.Tick(time.Now()); changed {
				r.Decided(d)
			}
		case <-ctx.Done():
			return
		}
	}
}
