package ruler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/room/guest"
)

// tone is a ruler at 16 kHz.
func tone(seconds int) []int16 {
	long := guest.Tone(time.Duration(seconds) * time.Second)
	out := make([]int16, len(long)/3)
	for i := range out {
		out[i] = long[3*i]
	}
	return out
}

func cut(pcm []int16, from, to float64) []int16 {
	return append(append([]int16(nil), pcm[:int(from*rate)]...), pcm[int(to*rate):]...)
}

func hush(pcm []int16, from, to float64) []int16 {
	out := append([]int16(nil), pcm...)
	clear(out[int(from*rate):int(to*rate)])
	return out
}

func TestRuler(t *testing.T) {
	whole := tone(25)
	pad := make([]int16, rate)
	twice := append(append([]int16(nil), whole[:5*rate]...), whole[4*rate:8*rate]...)
	swapped := append(append(append(append([]int16(nil), whole[:3*rate]...), whole[4*rate:5*rate]...), whole[3*rate:4*rate]...), whole[5*rate:8*rate]...)
	for _, c := range []struct {
		name string
		pcm  []int16
		want string // part of the error, "" for none
	}{
		{"whole, past the end of the steps", whole, ""},
		{"silence around it", append(append(append([]int16(nil), pad...), whole...), pad...), ""},
		{"cut at the ends", whole[rate/3 : 20*rate+rate/2], ""},
		{"a second is cut out", cut(whole, 7, 8), "seconds [7] are missing"},
		{"a tenth is cut out", cut(whole, 7.3, 7.4), "second 7, at 7s, lasts 900ms"},
		{"a fiftieth is cut out", cut(whole, 7.3, 7.32), ""},
		{"a hole", hush(whole, 7.3, 7.5), "no tone for"},
		{"a hole over a step", hush(whole, 7.9, 8.1), "no tone for"},
		{"a second comes twice", twice, "lasts 2s"},
		{"two seconds are swapped", swapped, "are out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Check(c.pcm)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Err(30 * time.Millisecond)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q\n%+v", err, c.want, r)
			}
		})
	}
}

func TestWhereTheSecondsAre(t *testing.T) {
	r, err := Check(append(make([]int16, rate/2), tone(24)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Seconds) != 24 {
		t.Fatalf("%d seconds", len(r.Seconds))
	}
	for n, s := range r.Seconds {
		off := s.At - (time.Duration(n)*time.Second + 500*time.Millisecond)
		if s.N != n || off.Abs() > 25*time.Millisecond {
			t.Errorf("second %d is shown as %d at %v", n, s.N, s.At)
		}
	}
	if lost, doubled := r.Lost(), r.Doubled(); lost > 30*time.Millisecond || doubled > 30*time.Millisecond {
		t.Errorf("lost %v, doubled %v", lost, doubled)
	}
}

func TestLostCountsWhatIsCutAndWhatIsSilent(t *testing.T) {
	r, err := Check(hush(cut(tone(12), 3, 4), 7.2, 7.5))
	if err != nil {
		t.Fatal(err)
	}
	if lost := r.Lost(); (lost - 1300*time.Millisecond).Abs() > 60*time.Millisecond {
		t.Errorf("lost %v, want 1.3 s", lost)
	}
}

func TestNoTone(t *testing.T) {
	for name, pcm := range map[string][]int16{"nothing": nil, "silence": make([]int16, rate), "noise": noise(rate)} {
		if _, err := Check(pcm); !errors.Is(err, ErrNoTone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func noise(n int) []int16 {
	out := make([]int16, n)
	x := uint32(1)
	for i := range out {
		x = x*1664525 + 1013904223
		out[i] = int16(x >> 16)
	}
	return out
}
