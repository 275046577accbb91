package ogg

import (
	"bytes"
	"encoding/binary"
	"math"
	"os/exec"
	"testing"
	"time"

	"parley/audio"
)

// The ruler of these tests: the tone changes each tenth of a second, and the sequence never repeats for a minute, so
// that a decoded file tells which source time each of its moments holds.
const (
	step  = rate / 10
	tones = 29 // prime, so that pairs do not repeat early
)

func tone(k int64) float64 { return 400 + 100*float64((k*k+3*k)%tones) }

// steppingTone gives the source's samples from pos on.
func steppingTone(pos, n int64) []int16 {
	out := make([]int16, n)
	for i := range out {
		at := pos + int64(i)
		out[i] = wave[int64(tone(at/step)/100)*(at%step)%int64(len(wave))]
	}
	return out
}

// wave is a sine of 100 Hz, which all tones are multiples of.
var wave = func() (w [rate / 100]int16) {
	for i := range w {
		w[i] = int16(9000 * math.Sin(2*math.Pi*float64(i)/float64(len(w))))
	}
	return w
}()

// power is how strong a frequency is in the samples.
func power(pcm []int16, hz float64) float64 {
	var re, im float64
	for i, s := range pcm {
		re += float64(s) * math.Cos(2*math.Pi*hz*float64(i)/rate)
		im += float64(s) * math.Sin(2*math.Pi*hz*float64(i)/rate)
	}
	return math.Hypot(re, im) / float64(len(pcm))
}

// heard is the frequency of a stretch, 0 for silence, -1 for what is no tone of ours.
func heard(pcm []int16) float64 {
	if audio.RMS(pcm) < -50 {
		return 0
	}
	best, at := 0.0, -1.0
	for k := range tones {
		hz := 400 + 100*float64(k)
		if p := power(pcm, hz); p > best {
			best, at = p, hz
		}
	}
	if best < 1500 { // of 4500 for our tone alone
		return -1
	}
	return at
}

// steps reads a recording as tones, one for each tenth of a second that is whole.
func steps(pcm []int16, shift int64) []float64 {
	var out []float64
	for at := shift; at+step <= int64(len(pcm)); at += step {
		out = append(out, heard(pcm[at+step/4:at+3*step/4]))
	}
	return out
}

// decode gives a recording's samples, as a foreign program reads them.
func decode(t testing.TB, path string) []int16 {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command("ffmpeg", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", "16000", "-")
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("decode: %v: %s", err, errs.String())
	}
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm
}

// pacer feeds the ruler in real time, as a capture would.
type pacer struct {
	pos  int64
	stop chan struct{}
	done chan struct{}
}

func pace(t testing.TB, sink audio.Sink) *pacer {
	p := &pacer{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		began := time.Now()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				now := time.Now()
				n := int64(now.Sub(began)/(time.Second/rate)) - p.pos
				if err := sink.Write(audio.Frame{Pos: p.pos, PCM: steppingTone(p.pos, n), At: now}); err != nil {
					return
				}
				p.pos += n
			}
		}
	}()
	t.Cleanup(p.end)
	return p
}

func (p *pacer) end() {
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	<-p.done
}
