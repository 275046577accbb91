package whisper

import (
	"math"
	"math/cmplx"
	"sync"
)

// The rates of the features.
const (
	SampleRate = 16000
	// Hop is the number of samples from one frame of features to the next: 100 frames a second.
	Hop = 160
	// window is the number of samples that a frame looks at.
	window = 400
)

// LogMel gives the features of 16 kHz samples (-1 to 1): 80 rows of frames values, one row a mel band. Frame i is
// centred on sample 160 i. What lies before the first sample is its mirror image; after the last one is silence.
//
// The values are those that Whisper was trained on: log10 of the power, nothing more than 8 below the loudest, then
// (x+4)/4. A frame depends on the rest only by that "loudest".
func LogMel(samples []float32, frames int) []float32 {
	out := make([]float32, Mels*frames)
	logMel(out, samples, frames)
	return out
}

func logMel(out []float32, samples []float32, frames int) {
	b := mel()
	top := float32(-10)
	var re, im [window]float64
	// Two frames go through one complex transform, as its real and its imaginary part.
	for f := 0; f < frames; f += 2 {
		one := fill(&re, samples, f*Hop-window/2, &b.hann)
		two := fill(&im, samples, (f+1)*Hop-window/2, &b.hann)
		if !one && !two {
			for m := range Mels {
				out[m*frames+f] = -10
				if f+1 < frames {
					out[m*frames+f+1] = -10
				}
			}
			continue
		}
		var x, y [window]complex128
		for i := range x {
			x[i] = complex(re[i], im[i])
		}
		fft400(&x, &y)
		var p, q [window/2 + 1]float32
		for k := range p {
			// The spectra of the two real signals are the even and the odd part.
			a, c := x[k], cmplx.Conj(x[(window-k)%window])
			s, d := a+c, a-c
			p[k] = float32((real(s)*real(s) + imag(s)*imag(s)) / 4)
			q[k] = float32((real(d)*real(d) + imag(d)*imag(d)) / 4)
		}
		for m := range b.filters {
			v := b.filters[m].log(&p)
			out[m*frames+f] = v
			top = max(top, v)
			if f+1 < frames {
				v = b.filters[m].log(&q)
				out[m*frames+f+1] = v
				top = max(top, v)
			}
		}
	}
	for i, v := range out {
		out[i] = (max(v, top-8) + 4) / 4
	}
}

// fill windows the samples from start on; false means that there is no sound at all in it.
func fill(dst *[window]float64, samples []float32, start int, hann *[window]float64) bool {
	if start >= len(samples) {
		*dst = [window]float64{}
		return false
	}
	for i := range dst {
		at := start + i
		if at < 0 {
			at = -at
		}
		if at < len(samples) {
			dst[i] = float64(samples[at]) * hann[i]
		} else {
			dst[i] = 0
		}
	}
	return true
}

// filter is a triangle over a few neighbouring bins.
type filter struct {
	first   int
	weights []float32
}

func (f filter) log(power *[window/2 + 1]float32) float32 {
	var sum float32
	for i, w := range f.weights {
		sum += w * power[f.first+i]
	}
	return float32(math.Log10(float64(max(sum, 1e-10))))
}

type melBank struct {
	hann    [window]float64
	filters [Mels]filter
}

// mel is the filter bank: Slaney's scale (linear to 1 kHz, logarithmic above), each triangle of the same area.
var mel = sync.OnceValue(func() *melBank {
	const linear = 200.0 / 3 // Hz for one mel below 1 kHz
	step := math.Log(6.4) / 27
	toMel := func(hz float64) float64 {
		if hz < 1000 {
			return hz / linear
		}
		return 1000/linear + math.Log(hz/1000)/step
	}
	toHz := func(m float64) float64 {
		if m < 1000/linear {
			return m * linear
		}
		return 1000 * math.Exp(step*(m-1000/linear))
	}
	b := &melBank{}
	for i := range b.hann {
		b.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/window)
	}
	var edge [Mels + 2]float64
	for i := range edge {
		edge[i] = toHz(toMel(SampleRate/2) * float64(i) / (Mels + 1))
	}
	for m := range b.filters {
		lo, mid, hi := edge[m], edge[m+1], edge[m+2]
		f := &b.filters[m]
		for k := 0; k <= window/2; k++ {
			hz := float64(k) * SampleRate / window
			w := min((hz-lo)/(mid-lo), (hi-hz)/(hi-mid)) * 2 / (hi - lo)
			if w <= 0 {
				continue
			}
			if len(f.weights) == 0 {
				f.first = k
			}
			f.weights = append(f.weights, float32(w))
		}
	}
	return b
})

// twiddle are the 400th roots of one.
var twiddle = func() (w [window]complex128) {
	for i := range w {
		w[i] = cmplx.Rect(1, -2*math.Pi*float64(i)/window)
	}
	return w
}()

// fft400 transforms x in place; y is room to work in. 400 = 4*4*5*5, and after an even number of passes the result is
// back in x.
func fft400(x, y *[window]complex128) {
	n, s := window, 1
	for pass, r := range [4]int{4, 4, 5, 5} {
		src, dst := x, y
		if pass%2 == 1 {
			src, dst = y, x
		}
		m := n / r
		for p := range m {
			for q := range s {
				at := q + s*p
				if r == 4 {
					a, b, c, d := src[at], src[at+s*m], src[at+2*s*m], src[at+3*s*m]
					ac, bd := a+c, b+d
					ca, db := a-c, mulI(b-d)
					to := q + s*4*p
					dst[to] = ac + bd
					dst[to+s] = (ca - db) * twiddle[p*s%window]
					dst[to+2*s] = (ac - bd) * twiddle[2*p*s%window]
					dst[to+3*s] = (ca + db) * twiddle[3*p*s%window]
					continue
				}
				a, b, c, d, e := src[at], src[at+s*m], src[at+2*s*m], src[at+3*s*m], src[at+4*s*m]
				be, cd := b+e, c+d
				eb, dc := b-e, c-d
				u := a + scale(cos1, be) + scale(cos2, cd)
				v := a + scale(cos2, be) + scale(cos1, cd)
				k := mulI(scale(sin1, eb) + scale(sin2, dc))
				l := mulI(scale(sin2, eb) - scale(sin1, dc))
				to := q + s*5*p
				dst[to] = a + be + cd
				dst[to+s] = (u - k) * twiddle[p*s%window]
				dst[to+2*s] = (v - l) * twiddle[2*p*s%window]
				dst[to+3*s] = (v + l) * twiddle[3*p*s%window]
				dst[to+4*s] = (u + k) * twiddle[4*p*s%window]
			}
		}
		n, s = m, s*r
	}
}

var (
	sin1, cos1 = math.Sincos(2 * math.Pi / 5)
	sin2, cos2 = math.Sincos(4 * math.Pi / 5)
)

func mulI(z complex128) complex128             { return complex(-imag(z), real(z)) }
func scale(f float64, z complex128) complex128 { return complex(f*real(z), f*imag(z)) }
