package platforms

import (
	"context"
	"errors"
	"testing"
)

// moving is a page that goes to another document while a script runs, so many times.
type moving struct {
	Page
	moves int
	runs  int
	end   error
}

func (m *moving) Run(context.Context, string, any, any) error {
	m.runs++
	if m.runs <= m.moves {
		return ErrNavigated
	}
	return m.end
}

func TestAReadFollowsThePage(t *testing.T) {
	other := errors.New("something else")
	for _, c := range []struct {
		name  string
		moves int
		end   error
	}{{"a page that stays", 0, nil}, {"one that moves twice", 2, nil}, {"one that moves and breaks", 1, other}} {
		t.Run(c.name, func(t *testing.T) {
			p := &moving{moves: c.moves, end: c.end}
			if err := Read(t.Context(), p, "() => 1", nil, nil); !errors.Is(err, c.end) || p.runs != c.moves+1 {
				t.Errorf("%v after %d runs", err, p.runs)
			}
		})
	}
}

func TestAReadOfAPageThatMovesForeverEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &moving{moves: 1 << 30}
	if err := Read(ctx, p, "() => 1", nil, nil); !errors.Is(err, ErrNavigated) || !errors.Is(err, context.Canceled) || p.runs != 1 {
		t.Errorf("%v after %d runs", err, p.runs)
	}
}
