package whisper

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

func TestTheFastTransformIsTheTransform(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x, y [window]complex128
	for i := range x {
		x[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	in := x
	fft400(&x, &y)
	for k := range x {
		var want complex128
		for i, v := range in {
			want += v * cmplx.Rect(1, -2*math.Pi*float64(i*k%window)/window)
		}
		if cmplx.Abs(x[k]-want) > 1e-9 {
			t.Fatalf("bin %d: %v, want %v", k, x[k], want)
		}
	}
}

// slowMel follows the definition word by word.
func slowMel(samples []float32, frames int) []float32 {
	b := mel()
	out := make([]float32, Mels*frames)
	top := math.Inf(-1)
	logs := make([]float64, Mels*frames)
	for f := range frames {
		var power [window/2 + 1]float64
		for k := range power {
			var sum complex128
			for i := range window {
				at := f*Hop - window/2 + i
				if at < 0 {
					at = -at
				}
				if at < len(samples) {
					hann := math.Pow(math.Sin(math.Pi*float64(i)/window), 2)
					sum += complex(float64(samples[at])*hann, 0) * cmplx.Rect(1, -2*math.Pi*float64(i*k%window)/window)
				}
			}
			power[k] = real(sum)*real(sum) + imag(sum)*imag(sum)
		}
		for m, fl := range b.filters {
			var e float64
			for i, w := range fl.weights {
				e += float64(w) * power[fl.first+i]
			}
			v := math.Log10(math.Max(e, 1e-10))
			logs[m*frames+f] = v
			top = math.Max(top, v)
		}
	}
	for i, v := range logs {
		out[i] = float32((math.Max(v, top-8) + 4) / 4)
	}
	return out
}

func TestLogMelFollowsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 199, 201, 1600, 4801} {
		samples := make([]float32, n)
		for i := range samples {
			samples[i] = float32(0.3*math.Sin(float64(i)*0.2) + 0.01*r.NormFloat64())
		}
		for _, frames := range []int{1, 2, 37} {
			got, want := LogMel(samples, frames), slowMel(samples, frames)
			for i := range got {
				if math.Abs(float64(got[i]-want[i])) > 2e-5 {
					t.Fatalf("%d samples, %d frames: value %d is %v, want %v", n, frames, i, got[i], want[i])
				}
			}
		}
	}
}

func TestEachBandIsATriangleOfTheSameArea(t *testing.T) {
	for m, f := range mel().filters {
		if len(f.weights) == 0 {
			t.Errorf("band %d hears nothing", m)
		}
	}
	// Spot values of the published filter bank (80 bands, 400 points).
	b := mel().filters
	if got := b[0]; got.first != 1 || math.Abs(float64(got.weights[0])-0.02486259490251541) > 1e-8 {
		t.Errorf("band 0: %+v", got)
	}
	if got := b[79]; math.Abs(float64(got.weights[len(got.weights)-1])-0.00016109) > 1e-3 {
		t.Errorf("band 79: %+v", got)
	}
}

func BenchmarkLogMelTenSeconds(b *testing.B) {
	samples := make([]float32, 10*SampleRate)
	for i := range samples {
		samples[i] = float32(0.3 * math.Sin(float64(i)*0.2))
	}
	for b.Loop() {
		LogMel(samples, 1000)
	}
}
