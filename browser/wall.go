package browser

import "context"

// Wall is a page that stands between us and what was asked for.
type Wall struct {
	Kind   string `json:"kind" doc:"challenge (a visible check for a person), denied (access refused), or reloading (a check that keeps reloading itself)."`
	Detail string `json:"detail" doc:"What was seen, and what can be tried."`
}

func (p *Page) wall(ctx context.Context) *Wall { return nil }
