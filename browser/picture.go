package browser

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-rod/rod/lib/proto"
)

// PictureOptions say what of a page to picture, and how.
type PictureOptions struct {
	// Of is an element; nil is the viewport, or with Full the whole page.
	Of   *Object
	Full bool
	// Format is "jpeg" (the default), "webp" or "png".
	Format string
	// Quality of jpeg and webp, 1 to 100; zero is 75.
	Quality int
	// MaxEdge is the longest edge in pixels; what is larger is scaled down. Zero is 1568: models shrink what is larger.
	MaxEdge int
}

// Picture is a screenshot.
type Picture struct {
	Data []byte
	MIME string
	// Width and Height are in pixels.
	Width, Height int
	// X and Y are where its corner is in the viewport, in CSS pixels, and Scale how many of its pixels one of them has: 1
	// means that a point in the picture is that point in the viewport.
	X, Y, Scale float64
	// Cut tells that the page is so long that its end is not in the picture.
	Cut bool
}

// ErrNoPicture means that there is nothing to picture.
var ErrNoPicture = errors.New("it has no box on the page")

// maxPictured is how much of a page's length one picture holds.
const maxPictured = 16_000

// Picture takes a screenshot. Fields that were ever for passwords are drawn as dots.
func (p *Page) Picture(ctx context.Context, o PictureOptions) (*Picture, error) {
	if o.Format == "" {
		o.Format = "jpeg"
	}
	if o.Quality == 0 {
		o.Quality = 75
	}
	if o.MaxEdge == 0 {
		o.MaxEdge = 1568
	}
	c := p.Client(ctx)
	if o.Of != nil {
		if err := (proto.DOMScrollIntoViewIfNeeded{ObjectID: o.Of.ID}).Call(o.Of.Frame.Client(ctx)); err != nil {
			if said(err) != nil {
				return nil, ErrNoPicture
			}
			return nil, err
		}
	}
	m, err := proto.PageGetLayoutMetrics{}.Call(c)
	if err != nil {
		return nil, err
	}
	view := m.CSSVisualViewport
	clip := proto.PageViewport{X: view.PageX, Y: view.PageY, Width: view.ClientWidth, Height: view.ClientHeight}
	out := &Picture{MIME: "image/" + o.Format}
	switch {
	case o.Of != nil:
		x, y, w, h, err := o.Of.box(ctx)
		if err != nil {
			return nil, err
		}
		clip = proto.PageViewport{X: view.PageX + x, Y: view.PageY + y, Width: w, Height: h}
	case o.Full:
		clip = proto.PageViewport{Width: m.CSSContentSize.Width, Height: m.CSSContentSize.Height}
	}
	if clip.Height > maxPictured {
		clip.Height, out.Cut = maxPictured, true
	}
	clip.Width = min(clip.Width, maxPictured)
	if clip.Width < 1 || clip.Height < 1 {
		return nil, ErrNoPicture
	}
	clip.Scale = min(1, float64(o.MaxEdge)/max(clip.Width, clip.Height))
	out.Scale, out.X, out.Y = clip.Scale, clip.X-view.PageX, clip.Y-view.PageY
	out.Width, out.Height = int(math.Round(clip.Width*clip.Scale)), int(math.Round(clip.Height*clip.Scale))

	unveil := p.veil(ctx)
	defer unveil()
	shot := proto.PageCaptureScreenshot{Format: proto.PageCaptureScreenshotFormat(o.Format), Clip: &clip, CaptureBeyondViewport: o.Full || o.Of != nil}
	if o.Format != "png" {
		shot.Quality = &o.Quality
	}
	got, err := shot.Call(c)
	if err != nil {
		return nil, err
	}
	out.Data = got.Data
	return out, nil
}

// box is where an element is in the viewport, in CSS pixels.
func (o Object) box(ctx context.Context) (x, y, w, h float64, err error) {
	got, err := proto.DOMGetBoxModel{ObjectID: o.ID}.Call(o.Frame.Client(ctx))
	if err != nil {
		if said(err) != nil {
			err = ErrNoPicture
		}
		return 0, 0, 0, 0, err
	}
	q := got.Model.Border
	if len(q) < 8 {
		return 0, 0, 0, 0, ErrNoPicture
	}
	left, right := min(q[0], q[2], q[4], q[6]), max(q[0], q[2], q[4], q[6])
	top, bottom := min(q[1], q[3], q[5], q[7]), max(q[1], q[3], q[5], q[7])
	dx, dy, err := o.Frame.Corner(ctx)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	return left + dx, top + dy, right - left, bottom - top, nil
}

// veil draws dots over what was ever a password field and shows its text, in every frame, until the function it gives is
// called.
func (p *Page) veil(ctx context.Context) (unveil func()) {
	frames, err := p.Frames(ctx)
	if err != nil {
		return func() {}
	}
	var veiled []*Frame
	for _, f := range frames {
		if f.Err != nil {
			continue
		}
		_ = f.openClosed(ctx) // a root that cannot be had shows nothing of its own to read either
		var n int
		if f.Run(ctx, nil, "(on, kit) => kit.veil(on)", true, &n) == nil && n > 0 {
			veiled = append(veiled, f)
		}
	}
	return func() {
		for _, f := range veiled {
			_ = f.Run(ctx, nil, "(on, kit) => kit.veil(on)", false, nil) // dots that stay do no harm
		}
	}
}

// maxPDF bounds a page as a PDF.
const maxPDF = 8 << 20

// PDF prints the page.
func (p *Page) PDF(ctx context.Context, landscape bool) ([]byte, error) {
	unveil := p.veil(ctx)
	defer unveil()
	got, err := proto.PagePrintToPDF{Landscape: landscape, PrintBackground: true, TransferMode: proto.PagePrintToPDFTransferModeReturnAsBase64}.Call(p.Client(ctx))
	if err != nil {
		return nil, fmt.Errorf("print the page: %w", err)
	}
	if len(got.Data) > maxPDF {
		return nil, ErrTooLarge
	}
	return got.Data, nil
}

// ErrTooLarge means that what was asked for is larger than is given out.
var ErrTooLarge = errors.New("it is larger than 8 MiB")
