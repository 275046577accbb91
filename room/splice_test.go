package room

import (
	"testing"
	"time"
)

func TestSpliceLeavesNoHoles(t *testing.T) {
	type in struct {
		ms   int // when it comes
		ssrc uint32
		seq  uint16
		ts   uint32
	}
	type out struct {
		seq   uint16
		ts    uint32
		start bool
	}
	const lost = 0xffff_ffff // marks that nothing goes out
	for _, c := range []struct {
		name string
		in   []any // in, or "hold"
		want []out
	}{
		{"as it comes", []any{in{0, 1, 10, 960}, in{20, 1, 11, 1920}, in{40, 1, 12, 2880}},
			[]out{{10, 960, true}, {11, 1920, false}, {12, 2880, false}}},
		{"a hole of the network stays a hole, for it to be mended", []any{in{0, 1, 10, 960}, in{40, 1, 12, 2880}, in{50, 1, 11, 1920}},
			[]out{{10, 960, true}, {12, 2880, false}, {11, 1920, false}}},
		{"numbers go round", []any{in{0, 1, 65535, 0xffff_ff00}, in{20, 1, 0, 704}},
			[]out{{65535, 0xffff_ff00, true}, {0, 704, false}}},
		{"muted for a second", []any{in{0, 1, 10, 960}, "hold", in{1000, 1, 60, 48960}, in{1020, 1, 61, 49920}},
			[]out{{10, 960, true}, {11, 48960, true}, {12, 49920, false}}},
		{"muted, and one from before comes late", []any{in{0, 1, 10, 960}, in{40, 1, 12, 2880}, "hold", in{50, 1, 11, 1920}, in{80, 1, 14, 4800}, in{90, 1, 13, 3840}},
			[]out{{10, 960, true}, {12, 2880, false}, {0, lost, false}, {13, 4800, true}, {0, lost, false}}},
		{"a new connection", []any{in{0, 1, 10, 960}, in{500, 2, 40000, 777}, in{520, 2, 40001, 1737}},
			[]out{{10, 960, true}, {11, 24960, true}, {12, 25920, false}}},
		{"held before anything came", []any{"hold", in{0, 1, 10, 960}}, []out{{10, 960, true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s splice
			start := time.Unix(5, 0)
			n := 0
			for _, step := range c.in {
				p, ok := step.(in)
				if !ok {
					s.hold()
					continue
				}
				seq, ts, first, sent := s.next(start.Add(time.Duration(p.ms)*time.Millisecond), p.ssrc, p.seq, p.ts)
				want := c.want[n]
				n++
				if sent != (want.ts != lost) || sent && (seq != want.seq || ts != want.ts || first != want.start) {
					t.Errorf("%+v went out as %d, %d, %t (%t); want %+v", p, seq, ts, first, sent, want)
				}
			}
		})
	}
}

func TestLoudness(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []uint8
		want   string // one letter for each packet: x for loud
	}{
		{"silence", []uint8{127, 127, 127}, "..."},
		{"speech", []uint8{127, 49, 49, 30}, "..xx"},
		{"just not", []uint8{50, 50, 50}, "..."},
		{"a click", []uint8{127, 10, 127, 127, 127, 10, 127}, "......."},
		{"a pause of one packet", []uint8{30, 127, 30, 127}, "..x."},
	} {
		var l loudness
		got := ""
		for _, level := range c.levels {
			if l.step(level) {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMeterSurvivesAnything(t *testing.T) {
	var m meter
	for i := range 2000 {
		payload := make([]byte, i%300)
		x := uint32(i)
		for j := range payload {
			x = x*1664525 + 1013904223
			payload[j] = byte(x >> 24)
		}
		if level := m.level(payload); level > 127 {
			t.Fatalf("level %d", level)
		}
	}
	m = meter{}
	if level := m.level([]byte{0xf8, 0xff, 0xfe}); level < 60 {
		t.Errorf("silence is at %d", level)
	}
}
