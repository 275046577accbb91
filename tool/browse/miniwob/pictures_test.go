//go:build accept

package miniwob

import (
	"fmt"
	"image"
	"regexp"
	"strings"
	"time"
)

// What only shows in pictures is read from pictures.

func rgb(img image.Image, x, y int) (r, g, b int) {
	R, G, B, _ := img.At(x, y).RGBA()
	return int(R >> 8), int(G >> 8), int(B >> 8)
}

// middle is the colour in the middle of an element.
func (b *bench) middle(selector string) (red, green, blue int) {
	img := b.picture(selector)
	return rgb(img, img.Bounds().Dx()/2, img.Bounds().Dy()/2)
}

// blobs gives the middles of connected dark parts, the largest first.
func blobs(img image.Image, dark func(r, g, b int) bool, least int) (list [][3]int) {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	seen := make([]bool, w*h)
	for at := range seen {
		if seen[at] {
			continue
		}
		queue := []int{at}
		x0, y0, x1, y1, n := w, h, 0, 0, 0
		for len(queue) > 0 {
			p := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			x, y := p%w, p/w
			if seen[p] {
				continue
			}
			seen[p] = true
			if r, g, b := rgb(img, x, y); !dark(r, g, b) {
				continue
			}
			n++
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
			for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
				if nx, ny := x+d[0], y+d[1]; nx >= 0 && ny >= 0 && nx < w && ny < h && !seen[ny*w+nx] {
					queue = append(queue, ny*w+nx)
				}
			}
		}
		if n >= least {
			list = append(list, [3]int{(x0 + x1) / 2, (y0 + y1) / 2, n})
		}
	}
	return list
}

func black(r, g, b int) bool { return r+g+b < 150 }

func init() {
	solve(func(b *bench) {
		r, g, bl := b.middle("#query .cc")
		b.typeIn("#col", fmt.Sprintf("%02x%02x%02x", r, g, bl))
		b.press("Tab")
		b.call("press", args{"selector": "#subbtn", "key": "Enter"})
	}, "use-colorwheel-2")
	solve(func(b *bench) {
		want := in(b.query(), `shades of (\w+)`)[0]
		for i := range 12 {
			r, g, bl := b.middle(fmt.Sprintf("#area span:nth-of-type(%d)", i+1))
			is := map[string]bool{"red": r > g && r > bl, "green": g > r && g > bl, "blue": bl > r && bl > g}
			if is[want] {
				b.clicks(fmt.Sprintf("#area span:nth-of-type(%d)", i+1))
			}
		}
		submit(b)
	}, "click-shades")
	solve(func(b *bench) {
		ring := blobs(b.picture("#area svg"), func(r, g, b int) bool { return r+g+b < 500 }, 60)
		b.clickAt("#area svg", float64(ring[0][0]), float64(ring[0][1]))
		submit(b)
	}, "circle-center")
	solve(func(b *bench) {
		dots := blobs(b.picture("#area svg"), black, 8)
		b.clickAt("#area svg", float64(dots[0][0]+dots[1][0])/2, float64(dots[0][1]+dots[1][1])/2)
		submit(b)
	}, "find-midpoint")
	solve(func(b *bench) {
		dot := blobs(b.picture("svg"), func(r, g, b int) bool { return r+g+b < 600 }, 8)[0]
		d := []float64{0, 60}
		if strings.Contains(b.query(), "horizontal") {
			d = []float64{60, 0}
		}
		b.call("drag", args{"selector": "svg", "from_at": []float64{float64(dot[0]) - d[0]/2, float64(dot[1]) - d[1]/2}, "by": d})
		submit(b)
	}, "draw-line")
	solve(func(b *bench) {
		var order []int
		lit, since := 0, time.Now()
		for time.Since(since) < 1500*time.Millisecond {
			now := 0
			for i := 1; i <= 4; i++ {
				if b.has(fmt.Sprintf("#button-%d.push", i)) {
					now = i
					break
				}
			}
			if now != 0 {
				since = time.Now()
				if now != lit {
					order = append(order, now)
				}
			}
			lit = now
		}
		for _, i := range order {
			b.clicks(fmt.Sprintf("#button-%d", i))
		}
	}, "simon-says")

	tags := map[string]string{"circles": "circle", "rectangles": "rect:not(#shape-container)", "triangles": "polygon"}
	solve(func(b *bench) {
		kind := in(b.query(), `Drag all (\w+) into`)[0]
		s := "#area_svg " + tags[kind]
		for i := range b.count(s, 9) {
			b.call("drag", args{"selector": s, "nth": i, "to": "#shape-container"})
		}
		submit(b)
	}, "drag-shapes")
	solve(func(b *bench) {
		what := in(b.query(), `Drag all (.+) into the left box`)[0]
		left := ""
		if tag, ok := tags[what]; ok {
			left = tag
		} else {
			colour := strings.Fields(what)[0]
			left = fmt.Sprintf("[fill=%s]", colour)
		}
		for _, s := range []string{"circle", "polygon", "rect:not([fill=none])"} {
			for i := range b.count("#area_svg "+s, 9) {
				to := "#area_svg rect[fill=none] >> nth=1"
				one := fmt.Sprintf("#area_svg %s >> nth=%d", s, i)
				if left == s || strings.HasPrefix(left, s) || strings.HasPrefix(left, "[") && b.has(fmt.Sprintf("%s >> xpath=self::*[@fill='%s']", one, regexp.MustCompile(`=(\w+)`).FindStringSubmatch(left)[1])) {
					to = "#area_svg rect[fill=none] >> nth=0"
				}
				b.call("drag", args{"selector": one, "to": to})
			}
		}
		submit(b)
	}, "drag-shapes-2")
}
