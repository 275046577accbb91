package turnend

import (
	"math"
	"testing"
)

func TestPrepare(t *testing.T) {
	for _, n := range []int{0, 1, 16000, Window, Window + 5000} {
		pcm := make([]int16, n)
		for i := range pcm {
			pcm[i] = int16(1000*math.Sin(float64(i)/20)) + 50
		}
		out := prepare(pcm)
		if len(out) != Window {
			t.Fatalf("%d samples from %d", len(out), n)
		}
		sum, squares := 0.0, 0.0
		for _, v := range out {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		if math.Abs(sum/Window) > 1e-3 {
			t.Errorf("%d: mean %v", n, sum/Window)
		}
		if variance := squares / Window; n > 1000 && math.Abs(variance-1) > 0.01 || math.IsNaN(variance) {
			t.Errorf("%d: variance %v", n, variance)
		}
		if n > 0 && n < Window && out[0] != out[Window-n-1] {
			t.Errorf("%d: the front is not silent", n)
		}
	}
}
