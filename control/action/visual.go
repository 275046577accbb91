package action

import (
	"context"
	"errors"
	"strings"

	"parley/control/shot"
	"parley/control/span"
	"parley/control/tabs"
	"parley/control/wire"
	"parley/tool"
)

// Shot is what screenshot gives beside its data.
type Shot struct {
	MIME   string `json:"mime"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

func (d *Desk) visual() []tool.Tool {
	return []tool.Tool{define("screenshot", "Gives a picture of what a person sees of the page in the foreground, after it was looked through.", true, d.screenshot)}
}

// look is what the watching script says.
type look struct {
	No        string `json:"no"`
	Sensitive int    `json:"sensitive"`
	Revision  int    `json:"revision"`
	Moved     bool   `json:"moved"`
}

func (d *Desk) screenshot(ctx context.Context, c *Call, a Target) (Shot, error) {
	capture, err := d.take(ctx, c, a.Session, tabs.Need{Foreground: true, Interactive: true, Website: true})
	if err != nil {
		return Shot{}, err
	}
	if !strings.HasPrefix(capture.Tab().URL, "https://") {
		return Shot{}, fail(wire.CodeDenied, "only pages over https are pictured")
	}
	if d.Reader == nil {
		return Shot{}, fail(wire.CodeDenied, "nobody here reads pictures, so none leaves")
	}
	end := c.Trace.Start(span.ShotCapture)
	raw, err := d.picture(ctx, capture)
	end(err != nil)
	if err != nil {
		return Shot{}, err
	}
	end = c.Trace.Start(span.ShotBound)
	p, err := shot.Clean(raw)
	clear(raw)
	end(err != nil)
	if err != nil {
		return Shot{}, fail(wire.CodeDenied, "the picture is out of bounds")
	}
	defer p.Wipe()
	end = c.Trace.Start(span.ShotInspect)
	err = shot.Inspect(ctx, d.Reader, p)
	end(err != nil)
	switch {
	case ctx.Err() != nil:
		return Shot{}, ctx.Err()
	case errors.Is(err, shot.ErrShows):
		return Shot{}, fail(wire.CodeDenied, "the picture shows what must not leave")
	case err != nil:
		return Shot{}, fail(wire.CodeDenied, "the picture could not be looked through")
	}
	if err := capture.Check(ctx); err != nil {
		return Shot{}, err
	}
	data, err := p.Data()
	if err != nil {
		return Shot{}, fail(wire.CodeDenied, "the picture changed")
	}
	c.mu.Lock()
	c.blob = data
	c.mu.Unlock()
	holds(c, capture)
	c.guard(func() bool {
		end := c.Trace.Start(span.ShotRelease)
		ok := c.Blob() == data
		end(!ok)
		return ok
	})
	return Shot{"image/png", p.Width, p.Height}, nil
}

// picture takes a picture of a page that shows nothing secret and does not change meanwhile.
func (d *Desk) picture(ctx context.Context, capture *tabs.Capture) ([]byte, error) {
	made := func() error {
		s, err := capture.Structure(ctx)
		if err != nil {
			return err
		}
		if s.Frames > 0 || s.Closed > 0 || s.Declarative > 0 {
			return fail(wire.CodeDenied, "the page has parts that cannot be looked into")
		}
		return nil
	}
	seen := func(arg map[string]bool) error {
		var l look
		if err := capture.Run(ctx, tabs.Look, arg, &l); err != nil {
			return err
		}
		switch {
		case l.Moved:
			return tabs.ErrDocument
		case l.No != "" || l.Revision > 0:
			return tabs.ErrStale
		case l.Sensitive > 0:
			return fail(wire.CodeDenied, "the page has fields for credentials")
		}
		return nil
	}
	if err := made(); err != nil {
		return nil, err
	}
	if err := seen(map[string]bool{"begin": true}); err != nil {
		return nil, err
	}
	png, err := capture.Picture(ctx)
	if err == nil {
		err = seen(map[string]bool{"end": true})
	}
	if err == nil {
		err = made()
	}
	if err != nil {
		clear(png)
		return nil, err
	}
	return png, nil
}
