package whisper

import (
	"math"
	"slices"
)

// FrameSamples is the number of samples of one position of the encoder: 20 ms.
const FrameSamples = 2 * Hop

// attention holds, for each predicted token, where each alignment head looked: rows of heads x frames.
type attention struct {
	heads, frames int
	rows          [][]float32
}

// place is the frame at which a token's heads look most, among the first frames; frames < 1 gives 0.
func (a *attention) place(row, frames int) int {
	r := a.rows[row]
	best, at := float32(-1), 0
	for f := range min(frames, a.frames) {
		var sum float32
		for h := range a.heads {
			sum += r[h*a.frames+f]
		}
		if sum > best {
			best, at = sum, f
		}
	}
	return at
}

// starts gives for each row the frame at which its token begins, and one more: where the last one ends. It looks at
// the first frames only, those with sound. Dynamic time warping finds the path from the first token to the last and
// from the first frame to the last on which the heads look most.
func (a *attention) starts(frames int) []int {
	n, m := len(a.rows), min(frames, a.frames)
	if n == 0 {
		return nil
	}
	out := make([]int, n+1)
	if m == 0 {
		return out
	}
	// Heads always look a little at some frames (the very first, say): what counts is looking there more than for
	// the other tokens.
	sum := make([]float64, n*m)
	one := make([]float64, n*m)
	smooth := make([]float64, m)
	for h := range a.heads {
		for i, r := range a.rows {
			row := r[h*a.frames : h*a.frames+m]
			var total float64
			for _, v := range row {
				total += float64(v)
			}
			for j, v := range row {
				one[i*m+j] = float64(v) / max(total, 1e-9)
			}
		}
		for j := range m {
			var mean, square float64
			for i := range n {
				mean += one[i*m+j]
			}
			mean /= float64(n)
			for i := range n {
				d := one[i*m+j] - mean
				square += d * d
			}
			dev := math.Sqrt(square/float64(n)) + 1e-9
			for i := range n {
				one[i*m+j] = (one[i*m+j] - mean) / dev
			}
		}
		for i := range n {
			median7(smooth, one[i*m:(i+1)*m])
			for j, v := range smooth {
				sum[i*m+j] += v
			}
		}
	}
	warp(out[:n], sum, n, m)
	out[n] = m
	return out
}

// median7 replaces each value by the median of the seven around it; beyond the ends the row is mirrored.
func median7(dst, src []float64) {
	n := len(src)
	if n < 4 {
		copy(dst, src)
		return
	}
	at := func(i int) float64 {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		return src[i]
	}
	// The window is kept sorted: from one place to the next one value goes and one comes.
	var w [7]float64
	for k := range w {
		w[k] = at(k - 3)
	}
	slices.Sort(w[:])
	for i := range src {
		dst[i] = w[3]
		if i == n-1 {
			break
		}
		gone, come := at(i-3), at(i+4)
		k := 0
		for k < 6 && w[k] != gone {
			k++
		}
		for ; k < 6 && w[k+1] < come; k++ {
			w[k] = w[k+1]
		}
		for ; k > 0 && w[k-1] > come; k-- {
			w[k] = w[k-1]
		}
		w[k] = come
	}
}

// warp finds the path through the n x m scores with the highest sum, from the first cell to the last, by steps of one
// row, one column or both; starts gets the column at which each row is entered.
func warp(starts []int, score []float64, n, m int) {
	const down, right, both = 0, 1, 2
	came := make([]uint8, n*m)
	above := make([]float64, m)
	here := make([]float64, m)
	for i := range n {
		for j := range m {
			best, from := 0.0, uint8(both)
			switch {
			case i > 0 && j > 0:
				best = above[j-1]
				if above[j] > best {
					best, from = above[j], down
				}
				if here[j-1] > best {
					best, from = here[j-1], right
				}
			case i > 0:
				best, from = above[j], down
			case j > 0:
				best, from = here[j-1], right
			}
			here[j] = best + score[i*m+j]
			came[i*m+j] = from
		}
		above, here = here, above
	}
	for i, j := n-1, m-1; i >= 0; {
		starts[i] = j // overwritten until the row is left
		switch {
		case i == 0 && j == 0:
			return
		case came[i*m+j] == down:
			i--
		case came[i*m+j] == right:
			j--
		default:
			i, j = i-1, j-1
		}
	}
}
