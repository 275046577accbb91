// Package vad notices by energy alone that somebody speaks: good enough to lower our own voice within a tenth of a
// second, and in need of no model.
package vad

import (
	"math"
	"time"

	"parley/audio"
)

// Options say how to listen; zero works.
type Options struct {
	// Rate of the sound in Hz; zero is 16000.
	Rate int
	// Margin is by how many decibels speech is above the noise; zero is 9.
	Margin float64
	// Least is the level in dBFS below which nothing is speech; zero is -55.
	Least float64
	// Hang is how long a voice may pause and still be speaking; zero is 250 ms.
	Hang time.Duration
}

// Change is the beginning (On) or the end of a voice.
type Change struct {
	On bool
	// At is the sample it happened at: the beginning of the first loud stretch, the end of the last one.
	At int64
}

// Detector listens to one stream. It belongs to one goroutine and knows no clock but the samples.
//
// The noise is taken from the quietest moments of the last two seconds: a fan that starts is a voice for that
// long, and a voice, which pauses at every syllable, stays one. The onset of a voice is told after 40 ms.
type Detector struct {
	o     Options
	block int // samples of 10 ms

	pos   int64 // of the next sample
	part  []int16
	last  float64 // high pass: the input before
	out   float64 // and its output
	level float64

	quiet [floors]float64 // the quietest smoothed level of each stretch
	now   int
	count int
	slow  float64
	began bool
	any   bool

	recent uint32 // the latest blocks, 1 is loud; lowest bit last
	loud   int64  // end of the last loud block
	on     bool
}

const (
	// The noise is the least of so many stretches of so many blocks.
	floors       = 8
	floorBlocks  = 25
	onsetOf      = 5 // a voice is onsetLoud loud blocks of the last onsetOf
	onsetLoud    = 4
	release      = 3.0 // decibels by which the end lies below the beginning
	noiseBias    = 2.0 // the quietest moment of noise lies that much below its mean
	highPassHz   = 120 // hum is no voice
	smoothBlocks = 4
)

// New makes a detector.
func New(o Options) *Detector {
	if o.Rate == 0 {
		o.Rate = audio.HearRate
	}
	if o.Margin == 0 {
		o.Margin = 9
	}
	if o.Least == 0 {
		o.Least = -55
	}
	if o.Hang == 0 {
		o.Hang = 250 * time.Millisecond
	}
	d := &Detector{o: o, block: o.Rate / 100, level: audio.Floor, slow: audio.Floor}
	for i := range d.quiet {
		d.quiet[i] = math.Inf(1)
	}
	return d
}

// Write takes a frame and returns what changed in it. A gap in the positions is silence.
func (d *Detector) Write(f audio.Frame) []Change {
	var changes []Change
	if gap := f.Pos - d.pos - int64(len(d.part)); gap > 0 && d.any {
		// Silence without end changes nothing more than some seconds of it.
		blocks := min(gap/int64(d.block), floors*floorBlocks)
		d.pos = f.Pos - blocks*int64(d.block)
		d.part = d.part[:0]
		for range blocks {
			changes = d.step(changes, audio.Floor, false)
		}
	}
	if !d.any || f.Pos < d.pos {
		d.pos, d.any = f.Pos, true
		d.part = d.part[:0]
	}
	for pcm := f.PCM; len(pcm) > 0; {
		n := min(d.block-len(d.part), len(pcm))
		d.part = append(d.part, pcm[:n]...)
		pcm = pcm[n:]
		if len(d.part) == d.block {
			level := d.measure()
			d.part = d.part[:0]
			changes = d.step(changes, level, true)
		}
	}
	return changes
}

// measure is the level of a block above the hum.
func (d *Detector) measure() float64 {
	a := 1 / (1 + 2*math.Pi*highPassHz/float64(d.o.Rate))
	var sum float64
	for _, s := range d.part {
		d.out = a * (d.out + float64(s) - d.last)
		d.last = float64(s)
		sum += d.out * d.out
	}
	rms := math.Sqrt(sum/float64(len(d.part))) / 32768
	return max(audio.Floor, 20*math.Log10(rms+1e-9))
}

// step judges one block. A gap is not real: it tells nothing of the noise.
func (d *Detector) step(changes []Change, level float64, real bool) []Change {
	begin := d.pos
	d.pos += int64(d.block)
	d.level = level
	if real {
		d.track(level)
	}
	bar := max(d.Noise()+d.o.Margin, d.o.Least)
	if d.on {
		bar -= release
	}
	d.recent <<= 1
	if level > bar {
		d.recent |= 1
		d.loud = d.pos
	}
	if !d.on && ones(d.recent&(1<<onsetOf-1)) >= onsetLoud {
		d.on = true
		first := int64(0) // how many blocks back the first loud one is
		for i := range int64(onsetOf) {
			if d.recent&(1<<i) != 0 {
				first = i
			}
		}
		return append(changes, Change{On: true, At: begin - first*int64(d.block)})
	}
	if d.on && d.pos-d.loud >= int64(d.o.Hang.Seconds()*float64(d.o.Rate)) {
		d.on, d.recent = false, 0
		return append(changes, Change{At: d.loud})
	}
	return changes
}

func ones(b uint32) (n int) {
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}

// track follows the noise.
func (d *Detector) track(level float64) {
	if !d.began {
		d.slow, d.began = level, true // whatever it begins with is the noise until something is quieter
	}
	d.slow += (level - d.slow) / smoothBlocks
	d.quiet[d.now] = min(d.quiet[d.now], d.slow)
	if d.count++; d.count == floorBlocks {
		d.count = 0
		d.now = (d.now + 1) % floors
		d.quiet[d.now] = math.Inf(1)
	}
}

// Noise is what the background is thought to be, in dBFS.
func (d *Detector) Noise() float64 {
	low := math.Inf(1)
	for _, q := range d.quiet {
		low = min(low, q)
	}
	if math.IsInf(low, 1) {
		return audio.Floor
	}
	return low + noiseBias
}

// Level is the level of the last 10 ms, in dBFS.
func (d *Detector) Level() float64 { return d.level }

// On tells whether somebody speaks.
func (d *Detector) On() bool { return d.on }
