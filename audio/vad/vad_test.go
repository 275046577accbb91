package vad

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/audio"
	"parley/testkit/need"
	"parley/testkit/voices"
)

// scene is sound put together of stretches.
type scene struct {
	pcm []int16
	rng *rand.Rand
}

func newScene() *scene { return &scene{rng: rand.New(rand.NewPCG(5, 5))} }

// add appends a stretch of some seconds: make gives a sample at a time within it, 1 is full scale.
func (s *scene) add(seconds float64, make func(t float64) float64) *scene {
	for i := range int(seconds * audio.HearRate) {
		s.pcm = append(s.pcm, int16(32767*min(1, max(-1, make(float64(i)/audio.HearRate)))))
	}
	return s
}

func amplitude(db float64) float64 { return math.Pow(10, db/20) }

func (s *scene) noise(db float64) func(float64) float64 {
	return func(float64) float64 { return amplitude(db) * s.rng.NormFloat64() }
}

// voice is noise and a buzz in syllables, four a second, over noise at a level.
func (s *scene) voice(db, noise float64) func(float64) float64 {
	return func(t float64) float64 {
		syllable := max(0, math.Sin(2*math.Pi*4*t+0.3)) // 125 ms loud, 125 ms not
		buzz := math.Sin(2*math.Pi*140*t) + math.Sin(2*math.Pi*700*t) + 0.5*math.Sin(2*math.Pi*2100*t)
		return amplitude(db)*syllable*buzz + amplitude(noise)*s.rng.NormFloat64()
	}
}

func silence(float64) float64 { return 0 }

// detect writes the scene in frames of a size.
func detect(pcm []int16, frame int) []Change {
	d := New(Options{})
	var out []Change
	for pos := 0; pos < len(pcm); pos += frame {
		out = append(out, d.Write(audio.Frame{Pos: int64(pos), PCM: pcm[pos:min(len(pcm), pos+frame)]})...)
	}
	return out
}

func seconds(at int64) float64 { return float64(at) / audio.HearRate }

func TestVoicesAndWhatIsNone(t *testing.T) {
	s := newScene()
	for _, c := range []struct {
		name string
		pcm  []int16
		want [][2]float64 // from and to, in seconds; 0.06 s of play
	}{
		{"silence", s.add(5, silence).pcm, nil},
		{"steady noise", newScene().add(5, s.noise(-45)).pcm, nil},
		{"a voice in silence", newScene().add(1, silence).add(1.5, s.voice(-20, -96)).add(1, silence).pcm, [][2]float64{{1, 2.5}}},
		{"a voice in noise", newScene().add(3, s.noise(-50)).add(2, s.voice(-20, -50)).add(1, s.noise(-50)).pcm, [][2]float64{{3, 5}}},
		{"a voice twice", newScene().add(1, silence).add(0.6, s.voice(-25, -96)).add(1, silence).add(0.6, s.voice(-25, -96)).add(1, silence).pcm, [][2]float64{{1, 1.62}, {2.6, 3.22}}},
		{"too soft to be one", newScene().add(1, silence).add(2, s.voice(-70, -96)).add(1, silence).pcm, nil},
		{"hardly above the noise", newScene().add(3, s.noise(-30)).add(2, s.noise(-27)).pcm, nil},
		{"a click", newScene().add(1, silence).add(0.02, s.noise(-10)).add(1, silence).pcm, nil},
		{"hum of the mains", newScene().add(3, func(t float64) float64 { return 0.01 * math.Sin(2*math.Pi*50*t) }).pcm, nil},
	} {
		for _, frame := range []int{160, 333, 4096} {
			got := detect(c.pcm, frame)
			if len(got) != 2*len(c.want) {
				t.Errorf("%s (frames of %d): %v, want %v", c.name, frame, got, c.want)
				continue
			}
			for i, w := range c.want {
				on, off := got[2*i], got[2*i+1]
				if !on.On || off.On || math.Abs(seconds(on.At)-w[0]) > 0.06 || math.Abs(seconds(off.At)-w[1]) > 0.06 {
					t.Errorf("%s (frames of %d): from %.2f to %.2f, want %v", c.name, frame, seconds(on.At), seconds(off.At), w)
				}
			}
		}
	}
}

func TestANoiseThatBeginsIsNoVoiceForLong(t *testing.T) {
	s := newScene()
	got := detect(s.add(2, s.noise(-60)).add(6, s.noise(-40)).pcm, 160)
	if len(got) != 2 || seconds(got[1].At) > 5 {
		t.Errorf("%v", got)
	}
}

func TestTheOnsetIsToldWithinATenthOfASecond(t *testing.T) {
	s := newScene()
	s.add(3, s.noise(-50)).add(1, s.voice(-20, -50))
	d := New(Options{})
	for pos := 0; pos < len(s.pcm); pos += 160 {
		if len(d.Write(audio.Frame{Pos: int64(pos), PCM: s.pcm[pos : pos+160]})) > 0 {
			if late := seconds(int64(pos+160)) - 3; late < 0 || late > 0.1 {
				t.Errorf("told after %.2f s", late)
			}
			return
		}
	}
	t.Error("never told")
}

func TestAGapEndsAVoice(t *testing.T) {
	s := newScene()
	s.add(1, silence).add(0.5, s.voice(-20, -96))
	d := New(Options{})
	d.Write(audio.Frame{PCM: s.pcm})
	if !d.On() {
		t.Fatal("not on")
	}
	got := d.Write(audio.Frame{Pos: int64(len(s.pcm)) + 1<<40, PCM: make([]int16, 160)})
	if len(got) != 1 || got[0].On || d.On() {
		t.Errorf("%v", got)
	}
	// Positions that begin again are another source's.
	d.Write(audio.Frame{PCM: s.pcm})
	if !d.On() {
		t.Error("not on in the second source")
	}
}

// TestRealVoices plays recorded people, with silence before and after: the voice has to be noticed soon after its first
// loud sound, and nothing else.
func TestRealVoices(t *testing.T) {
	need.Program(t, "ffmpeg")
	list, err := voices.Prompts()
	if err != nil {
		t.Fatal(err)
	}
	var late []time.Duration
	step := max(1, len(list)/20)
	for i := 0; i < len(list); i += step {
		voice, err := voices.Decode(t.Context(), list[i].Path, audio.HearRate)
		if err != nil {
			t.Fatal(err)
		}
		pcm := slices.Concat(make([]int16, audio.HearRate), voice, make([]int16, audio.HearRate))
		begin := audio.HearRate
		for begin < len(pcm)-160 && audio.RMS(pcm[begin:begin+160]) < -40 {
			begin += 160
		}
		d := New(Options{})
		const never = time.Hour
		told := never
		for pos := 0; pos+160 <= len(pcm); pos += 160 {
			for _, c := range d.Write(audio.Frame{Pos: int64(pos), PCM: pcm[pos : pos+160]}) {
				if c.On && told == never {
					told = time.Duration(pos+160-begin) * time.Second / audio.HearRate
				}
			}
		}
		if told > 150*time.Millisecond || told < -300*time.Millisecond {
			t.Errorf("%s: told %v after the voice began", list[i].ID, told)
		}
		if d.On() {
			t.Errorf("%s: still on a second after its end", list[i].ID)
		}
		late = append(late, told)
	}
	if len(late) < 15 {
		t.Fatalf("only %d recordings", len(late))
	}
	var sum time.Duration
	for _, l := range late {
		sum += l
	}
	t.Logf("%d voices, told on average %v after their first loud 10 ms", len(late), sum/time.Duration(len(late)))
}
