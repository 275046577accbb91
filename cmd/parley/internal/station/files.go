package station

import (
	"context"

	"parley/meeting"
	"parley/meeting/files"
)

// kept are a meeting's files as the meeting's port.
type kept struct{ set files.Set }

// Mark writes the deletion marker.
func (k kept) Mark(context.Context) error { return k.set.Mark() }

// Unlink removes what stands beside it.
func (k kept) Unlink(context.Context) error { return k.set.Unlink() }

// Keep writes a file of the evidence bundle.
func (k kept) Keep(name string, data []byte) (string, error) { return k.set.Keep(name, data) }

// Note appends to the consent ledger.
func (k kept) Note(e meeting.LedgerEntry) error { return k.set.Note(e) }

var _ meeting.Files = kept{}
