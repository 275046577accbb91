package browser

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoMatch means that nothing visible matches a selector.
var ErrNoMatch = errors.New("nothing visible matches")

// ErrBadSelector means that a selector cannot be read.
var ErrBadSelector = errors.New("the selector cannot be read")

// First gives the first visible match of a CSS selector, in page order through frames, without waiting.
func (p *Page) First(ctx context.Context, selector string) (Object, error) {
	frames, err := p.Frames(ctx)
	if err != nil {
		return Object{}, err
	}
	for _, f := range frames {
		if f.Err != nil {
			continue
		}
		found, err := f.Objects(ctx, nil, "(s, kit) => kit.first(s)", selector)
		var x *ScriptError
		switch {
		case errors.As(err, &x):
			return Object{}, fmt.Errorf("%q: %w", clip(selector, 100), ErrBadSelector)
		case err != nil && f.Parent == nil:
			return Object{}, err
		case len(found) > 0:
			return found[0], nil
		}
	}
	return Object{}, fmt.Errorf("%q: %w", clip(selector, 100), ErrNoMatch)
}
