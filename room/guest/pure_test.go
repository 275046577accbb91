package guest

import (
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"
)

func TestOrder(t *testing.T) {
	type in struct {
		ms  int
		seq uint16
	}
	for _, c := range []struct {
		name string
		in   []in
		want [][]uint16
		lost int
	}{
		{"in order", []in{{0, 1}, {20, 2}, {40, 3}}, [][]uint16{{1}, {2}, {3}}, 0},
		{"swapped", []in{{0, 1}, {20, 3}, {25, 2}, {60, 4}}, [][]uint16{{1}, nil, {2, 3}, {4}}, 0},
		{"twice", []in{{0, 1}, {20, 2}, {21, 2}, {22, 1}}, [][]uint16{{1}, {2}, nil, nil}, 0},
		{"one is lost", []in{{0, 1}, {20, 3}, {139, 4}, {140, 5}}, [][]uint16{{1}, nil, nil, {3, 4, 5}}, 1},
		{"one comes after it was given up", []in{{0, 1}, {20, 3}, {140, 4}, {141, 2}}, [][]uint16{{1}, nil, {3, 4}, nil}, 1},
		{"round the corner", []in{{0, 65534}, {20, 0}, {21, 65535}}, [][]uint16{{65534}, nil, {65535, 0}}, 0},
		{"another stream", []in{{0, 1}, {20, 30000}, {40, 30001}}, [][]uint16{{1}, {30000}, {30001}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o order
			start := time.Unix(5, 0)
			for i, p := range c.in {
				var got []uint16
				for _, q := range o.push(start.Add(time.Duration(p.ms)*time.Millisecond), &rtp.Packet{Header: rtp.Header{SequenceNumber: p.seq}}) {
					got = append(got, q.SequenceNumber)
				}
				if !slices.Equal(got, c.want[i]) {
					t.Errorf("%v gave %v, want %v", p, got, c.want[i])
				}
			}
			if o.lost != c.lost {
				t.Errorf("%d lost, want %d", o.lost, c.lost)
			}
		})
	}
}

func TestOrderHoldsFew(t *testing.T) {
	var o order
	now := time.Unix(5, 0)
	o.push(now, &rtp.Packet{Header: rtp.Header{SequenceNumber: 1}})
	for seq := uint16(3); seq < 40; seq++ {
		o.push(now, &rtp.Packet{Header: rtp.Header{SequenceNumber: seq}})
		if len(o.held) >= holdMax {
			t.Fatalf("%d are held", len(o.held))
		}
	}
}

func TestMix(t *testing.T) {
	var m mix
	m.add(2, []int16{1, 2, 3})
	m.add(3, []int16{10, 32767})
	if got := m.take(4); !slices.Equal(got, []int16{0, 0, 1, 12}) {
		t.Errorf("%v", got)
	}
	m.add(2, []int16{5, 5, 7}) // two of them too late
	if got := m.take(8); !slices.Equal(got, []int16{32767, 0, 0, 0}) {
		t.Errorf("%v", got)
	}
	if m.late != 2 || m.take(8) != nil || m.take(3) != nil {
		t.Errorf("late %d", m.late)
	}
	m.add(m.done+maxAhead, []int16{1})
	if len(m.ahead) != 0 || m.late != 3 {
		t.Errorf("%d samples far in the future were kept", len(m.ahead))
	}
}

func TestPlace(t *testing.T) {
	var p place
	const n = 960
	if got := p.at(50_000, 0, n); got != 50_000-n {
		t.Errorf("the first frame lies at %d", got)
	}
	for i, jitter := range []int64{0, 4000, -3000, 14_000, -14_000, 0} {
		pos := int64(i+1) * n
		if got := p.at(50_000+pos+jitter, pos, n); got != 50_000-n+pos {
			t.Errorf("frame %d, which came %d samples off, lies at %d", i, jitter, got)
		}
	}
	pos := int64(100 * n)
	if got := p.at(50_000+pos+20_000, pos, n); got != 50_000-n+pos+20_000 || p.moved != 1 {
		t.Errorf("a frame far off lies at %d", got)
	}
}

func TestAddress(t *testing.T) {
	for link, want := range map[string]string{
		"http://127.0.0.1:7370/room/tea":                "ws://127.0.0.1:7370/room/tea/ws",
		"https://meet.example.org/x/room/tea/?name=Bot": "wss://meet.example.org/x/room/tea/ws",
	} {
		if got, _, err := address(link); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", link, got, err)
		}
	}
	if _, key, err := address("http://h/room/tea#host=a%20b"); err != nil || key != "a b" {
		t.Errorf("key %q, %v", key, err)
	}
	for _, bad := range []string{"", "ftp://h/room/tea", "http://h/tea", "/room/tea", "http:///room/tea", "http://h:x/room/tea"} {
		if _, _, err := address(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestToneSteps(t *testing.T) {
	pcm := Tone(22 * time.Second)
	for n := range 22 {
		second := pcm[n*Rate : (n+1)*Rate]
		crossings := 0
		for i := 1; i < len(second); i++ {
			if second[i-1] < 0 && second[i] >= 0 {
				crossings++
			}
		}
		if want := int(400 + 50*float64(n%20)); crossings < want-1 || crossings > want+1 {
			t.Errorf("second %d: %d Hz, want %d", n, crossings, want)
		}
	}
}
