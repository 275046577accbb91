package audio

import (
	"fmt"
	"math"
)

// Resampler changes the rate of mono sound by a ratio of whole numbers with a linear-phase filter
// (passband to 90 % of the lower Nyquist frequency, what would fold back at least 75 dB down).
//
// Output sample k stands for the time k/to exactly: nothing is shifted. The filter looks ahead, so output comes
// Delay input samples late; Flush gives the rest. It belongs to one goroutine.
type Resampler struct {
	up, down int
	half     int         // input samples the filter reaches to each side
	phases   [][]float32 // up filters of 2*half+1 taps
	hist     []float32   // input from index base on
	base     int64       // input index of hist[0]; starts negative: the filter's reach before the sound began
	in, out  int64       // samples taken and given
}

// The filter reaches that many samples of the lower rate to each side.
const resampleReach = 32

// NewResampler makes one between two rates in Hz.
func NewResampler(from, to int) (*Resampler, error) {
	if from <= 0 || to <= 0 {
		return nil, fmt.Errorf("audio: cannot resample %d Hz to %d Hz", from, to)
	}
	g := gcd(from, to)
	up, down := to/g, from/g
	if up > 960 || down > 960 {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz is not a simple ratio", from, to)
	}
	r := &Resampler{up: up, down: down}
	if up == down {
		return r, nil
	}
	// Everything in units of one input sample. Cut at the middle of the transition band, below the lower Nyquist.
	lower := min(1, float64(up)/float64(down))
	r.half = int(math.Ceil(resampleReach / lower))
	cut := 0.95 * lower
	r.phases = make([][]float32, up)
	for p := range r.phases {
		taps := make([]float32, 2*r.half+1)
		var sum float64
		for i := range taps {
			x := float64(i-r.half) - float64(p)/float64(up)
			v := cut * sinc(cut*x) * kaiser(x/(float64(r.half)+1))
			taps[i] = float32(v)
			sum += v
		}
		for i := range taps {
			taps[i] = float32(float64(taps[i]) / sum) // exactly 0 dB for a constant, in every phase
		}
		r.phases[p] = taps
	}
	r.Reset()
	return r, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is the window of shape 8 (side lobes about 80 dB down) at -1..1.
func kaiser(x float64) float64 {
	const beta = 8
	if x <= -1 || x >= 1 {
		return 0
	}
	return bessel(beta*math.Sqrt(1-x*x)) / bessel(beta)
}

func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-12*sum; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}

// Reset forgets all sound: the next sample is the first.
func (r *Resampler) Reset() {
	r.in, r.out = 0, 0
	r.base = -int64(r.half)
	r.hist = append(r.hist[:0], make([]float32, r.half)...)
}

// Delay is how many input samples the output lags behind.
func (r *Resampler) Delay() int { return r.half }

// Append takes input and appends the output that is ready to dst.
func (r *Resampler) Append(dst, in []int16) []int16 {
	r.in += int64(len(in))
	if r.up == r.down {
		return append(dst, in...)
	}
	for _, s := range in {
		r.hist = append(r.hist, float32(s))
	}
	return r.drain(dst, math.MaxInt64)
}

// Flush appends what is left, so that the output is as long as the input was (rounded up), and resets.
func (r *Resampler) Flush(dst []int16) []int16 {
	if r.up == r.down {
		return dst
	}
	total := (r.in*int64(r.up) + int64(r.down) - 1) / int64(r.down)
	r.hist = append(r.hist, make([]float32, r.half+1)...)
	dst = r.drain(dst, total)
	r.Reset()
	return dst
}

func (r *Resampler) drain(dst []int16, total int64) []int16 {
	for r.out < total {
		at := r.out * int64(r.down)
		centre, phase := at/int64(r.up), at%int64(r.up)
		first := centre - int64(r.half) - r.base
		if first+int64(2*r.half+1) > int64(len(r.hist)) {
			break
		}
		taps := r.phases[phase]
		window := r.hist[first : first+int64(len(taps))]
		var sum float32
		for i, c := range taps {
			sum += c * window[i]
		}
		dst = append(dst, clip(float64(sum)))
		r.out++
	}
	// Forget what no later output can reach.
	keep := r.out*int64(r.down)/int64(r.up) - int64(r.half) - r.base
	if keep > 4096 {
		r.hist = append(r.hist[:0], r.hist[min(keep, int64(len(r.hist))):]...)
		r.base += keep
	}
	return dst
}
