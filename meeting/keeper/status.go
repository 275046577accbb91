package keeper

import (
	"encoding/json"
	"os"
	"time"

	"parley/meeting"
	"parley/meeting/files"
	"parley/meeting/wire"
	"parley/store"
	"parley/tenant"
)

// Status is how a meeting is: what its process said last, and what the keeper knows besides.
type Status struct {
	ID        string
	Tenant    tenant.ID
	Platform  string
	Name      string
	Requested time.Time
	Admitted  time.Time // zero: not yet, or never
	EndedAt   time.Time // zero: it is going on
	// Existing means that a join found us in the meeting already.
	Existing bool
	// Elsewhere means that another process on the same data folder attends it: what is known here is little.
	Elsewhere bool
	// Next is the cursor of the last event: Listen from here hears what happens from now on.
	Next int64
	wire.Status
}

func (a *attendance) snapshot() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{ID: a.row.ID, Tenant: a.row.Tenant, Platform: a.row.Platform, Name: a.name, Requested: a.row.Requested,
		Admitted: a.admitted, Next: a.log.next, Status: a.status}
	if a.gone {
		s.EndedAt = a.ended
	} else if s.RemainingMS > 0 {
		s.RemainingMS = max(s.RemainingMS-time.Since(a.at).Milliseconds(), 0)
	}
	return s
}

// rowData is what the book keeps of a status besides its own columns.
type rowData struct {
	Name     string          `json:"name,omitempty"`
	Announce *wire.Announced `json:"announce,omitempty"`
	Gap      float64         `json:"gap_s,omitempty"`
	Parts    int             `json:"parts,omitempty"`
	Objected bool            `json:"objected,omitempty"`
}

func (d rowData) bytes() []byte {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil // plain values: cannot happen
	}
	return raw
}

// fromRow is the status of a meeting that is not ours, or was long ago.
func (k *Keeper) fromRow(row store.Meeting) Status {
	var d rowData
	_ = json.Unmarshal(row.Data, &d) // an older form tells less
	s := Status{ID: row.ID, Tenant: row.Tenant, Platform: row.Platform, Name: d.Name, Requested: row.Requested, Admitted: row.Admitted, EndedAt: row.Ended}
	s.Status = wire.Status{
		State: row.State, Reason: row.Reason, Announce: d.Announce, Objected: d.Objected,
		RecordingSeconds: row.RecordingSeconds, RecordingBytes: row.RecordingBytes, RecordingGapS: d.Gap, RecordingParts: d.Parts,
		RecordingClosed: row.RecordingState == "ready", RecordingDamaged: row.RecordingState == "damaged", Deleted: row.RecordingState == "deleted", Recording: row.RecordingState == "writing" && row.Ended.IsZero(),
		Transcript: "off", Microphone: string(meeting.DeviceUnknown), Camera: string(meeting.DeviceUnknown),
	}
	s.Elsewhere = row.Ended.IsZero()
	if row.Reason != "" {
		e := meeting.Reason(row.Reason).Ending()
		s.What, s.Try = e.What, e.Try
	}
	if !row.Admitted.IsZero() {
		until := row.Ended
		if until.IsZero() {
			until = time.Now()
		}
		s.DurationS = until.Sub(row.Admitted).Seconds()
	}
	if set, err := files.Of(k.o.Data, string(row.Tenant), row.ID); err == nil && (s.RecordingClosed || s.RecordingDamaged) {
		s.RecordingPath = set.Recording()
	}
	return s
}

// withEvidence also looks for the evidence on the disk, which a list of meetings has no use for.
func (k *Keeper) withEvidence(s Status) Status {
	if set, err := files.Of(k.o.Data, string(s.Tenant), s.ID); err == nil {
		if _, err := os.Stat(set.Evidence()); err == nil {
			s.Evidence = set.Evidence()
		}
	}
	return s
}
