package ogg

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/audio"
)

// tape is a timeline whose output can be looked at.
type tape struct {
	timeline
	pcm []int16
}

func newTape() *tape {
	t := &tape{timeline: timeline{began: time.Unix(1000, 0)}}
	t.emit = func(p []int16) { t.pcm = append(t.pcm, p...) }
	return t
}

func (t *tape) at(samples int64) time.Time {
	return t.began.Add(time.Duration(samples) * time.Second / rate)
}

// counted is a frame whose samples say where they are in the source.
func counted(pos, n int64, at time.Time) audio.Frame {
	f := audio.Frame{Pos: pos, At: at}
	for i := range n {
		f.PCM = append(f.PCM, int16((pos+i)%30000+1))
	}
	return f
}

func TestFramesFollowOneAnother(t *testing.T) {
	c := newTape()
	for i := range int64(100) {
		c.frame(counted(i*320, 320, c.at((i+1)*320)))
	}
	if c.end != 32000 || c.silence != 0 || c.late != 0 {
		t.Fatalf("end %d silence %d late %d", c.end, c.silence, c.late)
	}
	for i, s := range c.pcm {
		if s != int16(i%30000+1) {
			t.Fatalf("sample %d is %d", i, s)
		}
	}
}

func TestWhatWasBeforeTheBeginningIsLeftOut(t *testing.T) {
	c := newTape()
	c.frame(counted(5000, 480, c.at(160))) // 320 of the 480 samples were before
	if c.end != 160 || c.pcm[0] != 5321 {
		t.Fatalf("end %d, first sample %d", c.end, c.pcm[0])
	}
}

func TestAGapIsSilenceOfItsLength(t *testing.T) {
	c := newTape()
	c.frame(counted(0, 320, c.at(320)))
	c.frame(counted(1600, 320, c.at(1920)))
	if c.end != 1920 || c.silence != 1280 {
		t.Fatalf("end %d silence %d", c.end, c.silence)
	}
	if c.pcm[319] != 320 || c.pcm[320] != 0 || c.pcm[1599] != 0 || c.pcm[1600] != 1601 {
		t.Error("the frames are not in their places")
	}
}

func TestSoundThatIsLateStillFindsItsPlace(t *testing.T) {
	c := newTape()
	c.frame(counted(0, 320, c.at(320)))
	// Nothing for nearly all of the patience, then all of it at once.
	c.fill(c.at(320 + patience - 160))
	for i := int64(1); i <= patience/320; i++ {
		c.frame(counted(i*320, 320, c.at(320+patience-160)))
	}
	if c.silence != 0 || c.late != 0 || c.end != patience+320 {
		t.Fatalf("end %d silence %d late %d", c.end, c.silence, c.late)
	}
	// Too late: its place is taken.
	c = newTape()
	c.frame(counted(0, 320, c.at(320)))
	c.fill(c.at(320 + patience + 640))
	c.frame(counted(320, 1000, c.at(320+patience+640)))
	if c.silence != 640 || c.late != 640 || c.end != 1320 || c.pcm[960] != 961 {
		t.Fatalf("end %d silence %d late %d", c.end, c.silence, c.late)
	}
}

func TestNothingAtAllIsSilence(t *testing.T) {
	c := newTape()
	c.fill(c.at(10 * rate))
	c.finish(c.at(10 * rate))
	if c.end != 10*rate || c.silence != 10*rate {
		t.Fatalf("end %d silence %d", c.end, c.silence)
	}
}

func TestANewSourceTakesOver(t *testing.T) {
	c := newTape()
	for i := range int64(50) {
		c.frame(counted(i*320, 320, c.at((i+1)*320)))
	}
	c.frame(counted(0, 320, c.at(20000))) // the sound server was started again
	c.frame(counted(320, 320, c.at(20320)))
	if c.end != 20320 || c.silence != 20000-320-16000 || c.pcm[20319] != 640 {
		t.Fatalf("end %d silence %d last %d", c.end, c.silence, c.pcm[20319])
	}
}

func TestADriftingClockIsFollowed(t *testing.T) {
	for _, ppm := range []float64{-400, -100, 100, 400} {
		c := newTape()
		rng := rand.New(rand.NewPCG(1, uint64(int64(ppm))))
		const minutes = 10
		n := int64(float64(minutes*60*50) * (1 + ppm/1e6))
		for i := range n {
			// The source's clock is off; arrival has a jitter of its own.
			true := float64((i+1)*320) / (1 + ppm/1e6)
			at := c.at(int64(true))
			if i > 0 {
				at = at.Add(time.Duration(rng.IntN(30)) * time.Millisecond)
			}
			c.frame(counted(i*320, 320, at))
		}
		want := int64(minutes * 60 * rate)
		if d := c.end - want; d < -rate/20 || d > rate/20 {
			t.Errorf("%v ppm: %d samples off after %d minutes", ppm, d, minutes)
		}
		if c.silence > 0 {
			t.Errorf("%v ppm: %d samples of silence in a steady sound", ppm, c.silence)
		}
	}
}

func TestASteadyClockIsLeftAlone(t *testing.T) {
	c := newTape()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range int64(20000) {
		jitter := time.Duration(rng.ExpFloat64()*15) * time.Millisecond
		if i == 0 {
			jitter = 0
		}
		c.frame(counted(i*320, 320, c.at((i+1)*320).Add(min(jitter, 300*time.Millisecond))))
	}
	if c.silence != 0 || c.late != 0 || c.end != 20000*320 {
		t.Fatalf("end %d (want %d), silence %d, late %d", c.end, 20000*320, c.silence, c.late)
	}
}

func TestLostSoundIsMadeUp(t *testing.T) {
	c := newTape()
	// From the fifth second on the source hides that it lost half a second.
	for i := range int64(1000) {
		end := (i + 1) * 320
		if i >= 250 {
			end += rate / 2
		}
		c.frame(counted(i*320, 320, c.at(end)))
		c.fill(c.at(end))
	}
	if d := c.end - (1000*320 + rate/2); d < -tolerance || d > tolerance {
		t.Errorf("%d samples off", d)
	}
}

func FuzzTimeline(f *testing.F) {
	f.Add([]byte{0, 10, 10, 1, 20, 30})
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 60)]
		c := newTape()
		out := int64(0)
		c.emit = func(p []int16) { out += int64(len(p)) }
		now, pos := int64(0), int64(0)
		for len(script) >= 3 {
			now += int64(script[0]) * 100
			switch script[2] % 5 {
			case 0:
				c.fill(c.at(now))
			case 1:
				pos -= int64(script[1]) * 50
				pos = max(pos, 0)
				fallthrough
			default:
				pos += int64(script[2]/5) * 100
				c.frame(counted(pos, int64(script[1]), c.at(now)))
				pos += int64(script[1])
			}
			script = script[3:]
			if c.end != out {
				t.Fatalf("end %d, %d samples out", c.end, out)
			}
			if c.end > now+rate+256 {
				t.Fatalf("%d samples at %d: ahead of the clock", c.end, now)
			}
		}
		c.finish(c.at(now))
		if c.end < now {
			t.Fatalf("%d samples at %d", c.end, now)
		}
	})
}
