package browser

import "context"

// Snapshot is a page as text, at one moment.
type Snapshot struct{}

// ReadOptions say what of a page to read.
type ReadOptions struct{}

// Changes are the differences between two snapshots of a page.
type Changes struct {
	Added   []string `json:"added,omitempty" arg:"untrusted" doc:"Lines that are new."`
	Removed []string `json:"removed,omitempty" arg:"untrusted" doc:"Lines that are gone."`
	More    int      `json:"more,omitempty" doc:"How many more lines changed."`
}

// Snapshot reads the page.
func (p *Page) Snapshot(ctx context.Context, o ReadOptions) (*Snapshot, error) {
	return &Snapshot{}, nil
}

// Diff compares.
func Diff(old, now *Snapshot) *Changes { return &Changes{} }
