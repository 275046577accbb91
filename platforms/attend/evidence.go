package attend

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"

	"parley/platforms"
	"parley/platforms/sign"
)

// rect is a part of the viewport, in its pixels.
type rect struct{ X, Y, W, H float64 }

// private gives the parts of the page in which people write or are named, and how wide the viewport is.
const private = `(selectors, kit) => {
	const rects = [];
	for (const selector of selectors) for (const el of kit.all({ selector })) {
		const r = el.getBoundingClientRect();
		let x = r.left, y = r.top;
		for (let f = el.ownerDocument.defaultView && el.ownerDocument.defaultView.frameElement; f; f = f.ownerDocument.defaultView && f.ownerDocument.defaultView.frameElement) { const o = f.getBoundingClientRect(); x += o.left; y += o.top; }
		if (rects.length < 500) rects.push({ X: x, Y: y, W: r.width, H: r.height });
	}
	return { width: innerWidth, rects };
}`

// Picture is a PNG of the page for the evidence. What people write and how they are called is painted over: in the
// picture, since a page that is altered may throw us out.
func (c *Call) Picture(ctx context.Context) ([]byte, error) {
	var cover struct {
		Width float64
		Rects []rect
	}
	if err := platforms.Read(ctx, c.Page, private, c.m.Table.Exclude, &cover); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	raw, err := c.Page.Picture(ctx)
	if err != nil || len(cover.Rects) == 0 || cover.Width <= 0 {
		return raw, err
	}
	return paintOver(raw, cover.Width, cover.Rects)
}

// paintOver blackens parts of a picture of a viewport that is width wide.
func paintOver(raw []byte, width float64, rects []rect) ([]byte, error) {
	shot, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	b := shot.Bounds()
	scale := float64(b.Dx()) / width
	out := image.NewRGBA(b)
	draw.Draw(out, b, shot, b.Min, draw.Src)
	for _, r := range rects {
		at := image.Rect(int(r.X*scale), int(r.Y*scale), int((r.X+r.W)*scale)+1, int((r.Y+r.H)*scale)+1).Intersect(b)
		draw.Draw(out, at, image.NewUniform(color.RGBA{40, 40, 40, 255}), image.Point{}, draw.Src)
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, out); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return buf.Bytes(), nil
}

// words gives the text of the page without the parts in which people write.
const words = `(exclude, kit) => {
	const out = [];
	let left = 4000;
	const visit = (n) => {
		if (left <= 0) return;
		if (n.nodeType === 3) { const t = n.data.replace(/\s+/g, ' ').trim(); if (t) { out.push(kit.clip(t, 300)); left -= t.length; } return; }
		if (n.nodeType === 1) {
			if (/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD|TEXTAREA)$/.test(n.tagName) || !kit.opens(n) || exclude.some((s) => n.matches(s))) return;
			if (n.tagName === 'IFRAME') { try { if (n.contentDocument) visit(n.contentDocument); } catch { /* another origin */ } return; }
		}
		(n.shadowRoot || n).childNodes.forEach(visit);
	};
	visit(document);
	return { title: kit.clip(document.title, 200), here: location.host + location.pathname, text: out.join('\n') };
}`

// Testimony is what the page showed lately, for the evidence: signs with their times, the page's own words. People's words
// and names are not in it.
func (c *Call) Testimony(ctx context.Context) any {
	var t struct {
		Here  string          `json:"here"`
		Title string          `json:"title"`
		Text  string          `json:"text"`
		Error string          `json:"error,omitempty"`
		Signs []sign.Evidence `json:"signs"`
		Now   []sign.Hit      `json:"now"`
	}
	c.Look(func(s *State) {
		t.Signs, t.Now = slices.Clone(s.evidence), slices.Clone(s.hits)
	})
	if err := platforms.Read(ctx, c.Page, words, append([]string{}, c.m.Table.Exclude...), &t); err != nil {
		t.Error = "the page could not be read"
	}
	return t
}
