// Package ruler reads the stepping tone (guest.Tone) back from a recording, and says what is missing from it, what is
// in it twice, and what is out of order.
package ruler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"parley/room/guest"
)

// ErrNoTone is returned for a recording that has no ruler in it.
var ErrNoTone = errors.New("there is no stepping tone in the recording")

// Second is one second of the ruler as it was found.
type Second struct {
	// N counts the ruler's seconds from 0. The tone repeats every guest.ToneSteps seconds; N does not.
	N int
	// At is where in the recording it begins.
	At time.Duration
	// Length is how much of it is there: 1 s if nothing was lost and nothing was put in.
	Length time.Duration
}

// Span is a stretch of the recording.
type Span struct{ At, Length time.Duration }

// Report is what was found. Steps are found to about 10 ms.
type Report struct {
	// Length is the recording's.
	Length time.Duration
	// Seconds are the ruler's seconds in the order of the recording.
	Seconds []Second
	// Gaps are stretches between the first and the last tone where there is none.
	Gaps []Span
	// Missing are seconds that ought to lie between two that are there.
	Missing []int
	// Back are seconds that come after a later one, or again.
	Back []int
}

// How the tone is looked for.
const (
	rate   = 16000
	window = rate * 40 / 1000
	hop    = rate * 5 / 1000
	// quiet is the level below which a window is silence, of 32768.
	quiet = 200
	// pure is the part of a window's energy that must be in one tone.
	pure = 0.6
	// glitch is the longest stretch without a clear tone that a step or a codec explains.
	glitch = 45 * time.Millisecond
)

// Read decodes a recording of any format and checks it.
func Read(ctx context.Context, file string) (Report, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return Report{}, err
	}
	cmd := exec.CommandContext(ctx, "ffmpeg", "-hide_banner", "-nostdin", "-v", "error", "-i", abs,
		"-f", "s16le", "-ac", "1", "-ar", fmt.Sprint(rate), "pipe:1")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return Report{}, fmt.Errorf("ruler: ffmpeg: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	pcm := make([]int16, out.Len()/2)
	if err := binary.Read(&out, binary.LittleEndian, pcm); err != nil {
		return Report{}, fmt.Errorf("ruler: %w", err)
	}
	return Check(pcm)
}

// Check reads the ruler from samples at 16 kHz. The report is of use also with ErrNoTone.
func Check(pcm []int16) (Report, error) {
	r := Report{Length: at(len(pcm))}
	labels := make([]int, 0, len(pcm)/hop)
	for i := 0; i+window <= len(pcm); i += hop {
		labels = append(labels, label(pcm[i:i+window]))
	}
	r.walk(runs(labels))
	if len(r.Seconds) == 0 {
		return r, ErrNoTone
	}
	return r, nil
}

func at(samples int) time.Duration { return time.Duration(samples) * time.Second / rate }

// label gives the step that a window sounds, or -1.
func label(pcm []int16) int {
	var energy float64
	for i, s := range pcm {
		v := float64(s) * hann[i]
		energy += v * v
	}
	if energy/float64(len(pcm)) < quiet*quiet/4 {
		return -1
	}
	best, most := -1, 0.0
	for n := range guest.ToneSteps {
		if e := goertzel(pcm, coefficients[n]); e > most {
			best, most = n, e
		}
	}
	// A pure tone of energy E within the window has a Goertzel energy of E·sum(w)²/(2·sum(w²)).
	if most/(energy*full) < pure {
		return -1
	}
	return best
}

var (
	hann         = makeHann()
	full         = makeFull()
	coefficients = makeCoefficients()
)

func makeHann() []float64 {
	w := make([]float64, window)
	for i := range w {
		w[i] = 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/window)
	}
	return w
}

func makeFull() float64 {
	var sum, squares float64
	for _, w := range hann {
		sum += w
		squares += w * w
	}
	return sum * sum / (2 * squares)
}

func makeCoefficients() []float64 {
	c := make([]float64, guest.ToneSteps)
	for n := range c {
		c[n] = 2 * math.Cos(2*math.Pi*guest.ToneHz(n)/rate)
	}
	return c
}

func goertzel(pcm []int16, c float64) float64 {
	var a, b float64
	for i, s := range pcm {
		a, b = float64(s)*hann[i]+c*a-b, a
	}
	return a*a + b*b - c*a*b
}

// run is a stretch of windows with one label.
type run struct{ label, from, to int }

// runs gathers windows, leaving out stretches too short to be anything but a step between two tones.
func runs(labels []int) []run {
	var out []run
	for i := 0; i < len(labels); {
		j := i
		for j < len(labels) && labels[j] == labels[i] {
			j++
		}
		if at((j-i)*hop) >= 20*time.Millisecond {
			if n := len(out); n > 0 && out[n-1].label == labels[i] {
				out[n-1].to = j
			} else {
				out = append(out, run{labels[i], i, j})
			}
		}
		i = j
	}
	return out
}

// walk follows the ruler's seconds through the runs.
func (r *Report) walk(all []run) {
	middle := func(i int) time.Duration { return at(i*hop + window/2) }
	last := -1 // index of the last tone's run
	n := 0
	for i, u := range all {
		if u.label < 0 {
			continue
		}
		begin, end := middle(u.from)-at(hop/2), middle(u.to)-at(hop/2)
		if last < 0 {
			n = u.label
			r.Seconds = append(r.Seconds, Second{n, begin, end - begin})
			last = i
			continue
		}
		before := &r.Seconds[len(r.Seconds)-1]
		hole := begin - (before.At + before.Length)
		if hole > glitch {
			r.Gaps = append(r.Gaps, Span{before.At + before.Length, hole})
		} else { // the step lies in the middle of what is unclear
			before.Length += hole / 2
			begin -= hole / 2
		}
		step := (u.label - n%guest.ToneSteps + guest.ToneSteps) % guest.ToneSteps
		switch {
		case step == 0: // the same second goes on after a hole
			if hole > glitch {
				r.Seconds = append(r.Seconds, Second{n, begin, end - begin})
			} else {
				before.Length = end - before.At
			}
		case step <= guest.ToneSteps/2:
			for m := n + 1; m < n+step; m++ {
				r.Missing = append(r.Missing, m)
			}
			n += step
			r.Seconds = append(r.Seconds, Second{n, begin, end - begin})
		default:
			n -= guest.ToneSteps - step
			r.Back = append(r.Back, n)
			r.Seconds = append(r.Seconds, Second{n, begin, end - begin})
		}
		last = i
	}
}

// whole joins the pieces of each second.
func (r Report) whole() []Second {
	var out []Second
	for _, s := range r.Seconds {
		if n := len(out); n > 0 && out[n-1].N == s.N {
			out[n-1].Length += s.Length
			continue
		}
		out = append(out, s)
	}
	return out
}

// Lost is how much of the ruler is missing between its first and its last second, whether as holes or cut out.
func (r Report) Lost() time.Duration {
	lost := time.Duration(len(r.Missing)) * time.Second
	for _, s := range r.inner() {
		lost += max(0, time.Second-s.Length)
	}
	return lost
}

// Doubled is by how much the inner seconds are too long.
func (r Report) Doubled() time.Duration {
	var more time.Duration
	for _, s := range r.inner() {
		more += max(0, s.Length-time.Second)
	}
	return more
}

// inner are the seconds that ought to be whole: all but the first and the last.
func (r Report) inner() []Second {
	all := r.whole()
	if len(all) < 3 {
		return nil
	}
	return all[1 : len(all)-1]
}

// Span is from the first tone to the last.
func (r Report) Span() Span {
	if len(r.Seconds) == 0 {
		return Span{}
	}
	last := r.Seconds[len(r.Seconds)-1]
	return Span{r.Seconds[0].At, last.At + last.Length - r.Seconds[0].At}
}

// Err says what is wrong when any second is missing, out of order, or off by more than slack, or a gap is longer than
// it; nil when the ruler is whole.
func (r Report) Err(slack time.Duration) error {
	var wrong []string
	if len(r.Seconds) == 0 {
		return ErrNoTone
	}
	if len(r.Missing) > 0 {
		wrong = append(wrong, fmt.Sprintf("seconds %v are missing", r.Missing))
	}
	if len(r.Back) > 0 {
		wrong = append(wrong, fmt.Sprintf("seconds %v are out of order", r.Back))
	}
	for _, g := range r.Gaps {
		if g.Length > slack {
			wrong = append(wrong, fmt.Sprintf("no tone for %v at %v", g.Length.Round(time.Millisecond), g.At.Round(time.Millisecond)))
		}
	}
	for _, s := range r.inner() {
		if d := s.Length - time.Second; d > slack || d < -slack {
			wrong = append(wrong, fmt.Sprintf("second %d, at %v, lasts %v", s.N, s.At.Round(time.Millisecond), s.Length.Round(time.Millisecond)))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("ruler: " + strings.Join(wrong, "; "))
}
