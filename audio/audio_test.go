package audio

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// count is a sink that counts samples.
type count struct{ n int }

func (c *count) Write(f Frame) error { c.n += len(f.PCM); return nil }

func frame(pos int64, pcm ...int16) Frame { return Frame{Pos: pos, PCM: pcm} }

func TestAGateIsShutUntilItIsOpened(t *testing.T) {
	var c count
	g := NewGate(&c)
	for _, step := range []struct {
		do   func()
		want int
	}{{func() {}, 0}, {g.Open, 2}, {g.Open, 4}, {g.Close, 4}, {g.Close, 4}, {g.Open, 6}} {
		step.do()
		if err := g.Write(frame(0, 1, 2)); err != nil {
			t.Fatal(err)
		}
		if c.n != step.want {
			t.Fatalf("%d samples passed, want %d", c.n, step.want)
		}
	}
	if got := g.Counts(); got != (GateCounts{Passed: 6, Blocked: 6}) {
		t.Errorf("counts %+v", got)
	}
}

func TestClosingAGateWaitsForNobody(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	g := NewGate(SinkFunc(func(Frame) error { inside <- true; <-release; return nil }))
	g.Open()
	go func() { _ = g.Write(frame(0, 1)) }()
	<-inside
	g.Close() // returns although the sink is stuck
	settled := make(chan bool)
	go func() { g.Settle(); close(settled) }()
	select {
	case <-settled:
		t.Error("settled while a frame was on its way")
	case <-time.After(20 * time.Millisecond):
	}
	release <- true
	<-settled
	if err := g.Write(frame(0, 1)); err != nil { // would block in the sink
		t.Error(err)
	}
}

func TestNothingPassesAfterClose(t *testing.T) {
	var mu sync.Mutex
	closed, late := false, 0
	g := NewGate(SinkFunc(func(Frame) error {
		mu.Lock()
		defer mu.Unlock()
		if closed {
			late++
		}
		return nil
	}))
	g.Open()
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = g.Write(frame(0, 1))
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	g.Close()
	g.Settle()
	mu.Lock()
	closed = true
	mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	close(stop)
	writers.Wait()
	if late > 0 {
		t.Errorf("%d frames after the gate had closed and settled", late)
	}
}

func TestATeeFeedsTheHealthyOnes(t *testing.T) {
	var a, b count
	bad := errors.New("full")
	var tee Tee
	tee.Add("a", &a)
	tee.Add("bad", SinkFunc(func(Frame) error { return bad }))
	tee.Add("b", &b)
	for range 3 {
		if err := tee.Write(frame(0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	tee.Remove("a")
	_ = tee.Write(frame(0, 1))
	if a.n != 3 || b.n != 4 {
		t.Errorf("a got %d, b %d", a.n, b.n)
	}
	faults := tee.Faults()
	if len(faults) != 1 || faults[0].Name != "bad" || faults[0].Count != 4 || faults[0].Last != bad {
		t.Errorf("faults %+v", faults)
	}
}

func TestARingKeepsTheLatest(t *testing.T) {
	r := NewRing(4)
	_ = r.Write(frame(0, 0, 1, 2))
	_ = r.Write(frame(3, 3, 4, 5)) // 0 and 1 go
	f, err := r.Read(t.Context())
	if err != nil || f.Pos != 2 || len(f.PCM) != 4 || f.PCM[0] != 2 || f.PCM[3] != 5 {
		t.Fatalf("%+v %v", f, err)
	}
	if r.Lost() != 2 || r.Len() != 0 {
		t.Errorf("lost %d, %d left", r.Lost(), r.Len())
	}
	_ = r.Write(frame(6, 6, 7, 8, 9, 10, 11)) // larger than the ring
	if f, _ = r.Read(t.Context()); f.Pos != 8 || len(f.PCM) != 4 || r.Lost() != 4 {
		t.Errorf("%+v, lost %d", f, r.Lost())
	}
}

func TestARingShowsGapsAndItsEnd(t *testing.T) {
	r := NewRing(100)
	_ = r.Write(frame(0, 1, 1))
	_ = r.Write(frame(2, 1))
	_ = r.Write(frame(10, 2, 2))
	r.Close()
	if err := r.Write(frame(12, 3)); !errors.Is(err, io.EOF) {
		t.Errorf("write after close: %v", err)
	}
	for _, want := range []struct {
		pos int64
		n   int
	}{{0, 3}, {10, 2}} {
		f, err := r.Read(t.Context())
		if err != nil || f.Pos != want.pos || len(f.PCM) != want.n {
			t.Fatalf("%+v %v, want %+v", f, err, want)
		}
	}
	if _, err := r.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestAReaderOfARingCanGiveUp(t *testing.T) {
	r := NewRing(10)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestARingLosesNothingBetweenTwoGoroutines(t *testing.T) {
	r := NewRing(1 << 16)
	const total = 50000
	go func() {
		rng := rand.New(rand.NewPCG(1, 1))
		for pos := int64(0); pos < total; {
			f := Frame{Pos: pos}
			for range min(int64(rng.IntN(300)+1), total-pos) {
				f.PCM = append(f.PCM, int16(pos))
				pos++
			}
			_ = r.Write(f)
		}
		r.Close()
	}()
	next := int64(0)
	for {
		f, err := r.Read(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if f.Pos != next {
			t.Fatalf("position %d, want %d", f.Pos, next)
		}
		for _, s := range f.PCM {
			if s != int16(next) {
				t.Fatalf("sample %d is %d", next, s)
			}
			next++
		}
	}
	if next != total || r.Lost() != 0 {
		t.Errorf("%d samples, lost %d", next, r.Lost())
	}
}

func sine(n, rate int, hz, amplitude float64) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = int16(math.Round(amplitude * math.Sin(2*math.Pi*hz*float64(i)/float64(rate))))
	}
	return out
}

func TestLevels(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) < 0.05 }
	full := sine(16000, 16000, 1000, 32767)
	if got := RMS(full); !near(got, -3.01) {
		t.Errorf("full sine: %v dBFS", got)
	}
	if got := RMS(sine(16000, 16000, 1000, 3276.7)); !near(got, -23.01) {
		t.Errorf("a tenth of it: %v dBFS", got)
	}
	if got := Peak([]int16{0, -32768}); got != 0 {
		t.Errorf("peak of the lowest sample: %v", got)
	}
	if RMS(make([]int16, 10)) != Floor || RMS(nil) != Floor || Peak(nil) != Floor {
		t.Error("silence is not at the floor")
	}
	m := NewMeter(16000)
	if m.Level() != (Level{Floor, Floor, Floor}) {
		t.Error("a new meter shows something")
	}
	for range 5 {
		_ = m.Write(frame(0, full[:320]...))
	}
	if l := m.Level(); !near(l.RMS, -3.01) || l.Smooth < -5 {
		t.Errorf("after 100 ms of sound: %+v", l)
	}
	for range 15 {
		_ = m.Write(frame(0, make([]int16, 320)...))
	}
	if l := m.Level(); l.RMS != Floor || l.Smooth < -90 || l.Smooth > -23 {
		t.Errorf("after 300 ms of silence: %+v", l)
	}
}

func TestGainMovesWithoutClicks(t *testing.T) {
	const rate = 24000
	pcm := sine(rate, rate, 440, 20000)
	var g Gain
	g.SetOver(Duck, 20*time.Millisecond, rate)
	g.Apply(pcm[rate/2:])
	if got, want := RMS(pcm[rate*3/4:])-RMS(pcm[:rate/4]), Duck; math.Abs(got-want) > 0.1 {
		t.Errorf("ducked by %v dB", got)
	}
	// The steepest the sine itself gets, and a little for the ramp.
	limit := 20000*2*math.Pi*440/rate + 80
	for i := 1; i < len(pcm); i++ {
		if d := math.Abs(float64(pcm[i]) - float64(pcm[i-1])); d > limit {
			t.Fatalf("a jump of %v at %d", d, i)
		}
	}
	g.SetOver(0, 20*time.Millisecond, rate)
	back := sine(rate/2, rate, 440, 20000)
	g.Apply(back)
	if got := RMS(back[rate/4:]); math.Abs(got-RMS(pcm[:rate/4])) > 0.01 {
		t.Errorf("not back: %v dBFS", got)
	}
	g.Set(Floor, 0)
	g.Apply(back)
	if Peak(back) != Floor {
		t.Error("the floor is not silence")
	}
}

func TestAChangeOfGainFromItsMiddle(t *testing.T) {
	var g Gain
	pcm := make([]int16, 100)
	for i := range pcm {
		pcm[i] = 10000
	}
	g.Set(-20, 100)
	g.Apply(pcm[:50]) // half way down
	g.Set(0, 50)
	g.Apply(pcm[50:])
	if d := int(pcm[49]) - int(pcm[50]); d > 300 || d < -300 {
		t.Errorf("a jump from %d to %d", pcm[49], pcm[50])
	}
	if pcm[99] < 9900 {
		t.Errorf("ends at %d", pcm[99])
	}
}

func TestMixDoesNotWrapAround(t *testing.T) {
	dst := []int16{30000, -30000, 1}
	Mix(dst, []int16{10000, -10000})
	if dst[0] != 32767 || dst[1] != -32768 || dst[2] != 1 {
		t.Errorf("%v", dst)
	}
}

func TestResamplingKeepsTonesAndTime(t *testing.T) {
	for _, c := range []struct{ from, to int }{{48000, 16000}, {24000, 16000}, {24000, 48000}, {16000, 24000}, {44100, 16000}, {22050, 24000}, {16000, 16000}} {
		nyquist := float64(min(c.from, c.to)) / 2
		for _, hz := range []float64{50, 440, 3000, 0.88 * nyquist} {
			in := sine(c.from, c.from, hz, 16000)
			got := resample(t, c.from, c.to, in)
			if len(got) != c.to {
				t.Fatalf("%d to %d: %d samples for a second", c.from, c.to, len(got))
			}
			// Sample k is the sine at k/to, the ends apart, where the filter sees the silence around the tone.
			want := sine(c.to, c.to, hz, 16000)
			edge := c.to / 50
			var noise float64
			for i := edge; i < c.to-edge; i++ {
				d := float64(got[i]) - float64(want[i])
				noise += d * d
			}
			snr := 20 * math.Log10(16000/math.Sqrt2/math.Sqrt(noise/float64(c.to-2*edge)))
			if snr < 50 { // over 70 but at the very edge
				t.Errorf("%d to %d at %.0f Hz: %.0f dB of signal to noise", c.from, c.to, hz, snr)
			}
		}
	}
}

func TestResamplingFoldsNothingBack(t *testing.T) {
	for _, c := range []struct {
		from, to int
		hz       float64
	}{{48000, 16000, 8300}, {48000, 16000, 9000}, {48000, 16000, 15000}, {48000, 16000, 23000}, {24000, 16000, 8300}, {24000, 16000, 11500}} {
		got := resample(t, c.from, c.to, sine(c.from, c.from, c.hz, 16000))
		edge := c.to / 50
		if left := RMS(got[edge:len(got)-edge]) - RMS(sine(c.from, c.from, c.hz, 16000)); left > -70 {
			t.Errorf("%d to %d: %.0f Hz comes back at %.0f dB", c.from, c.to, c.hz, left)
		}
	}
}

func TestResamplingInPiecesIsTheSame(t *testing.T) {
	in := sine(48000, 48000, 1000, 16000)
	whole := resample(t, 48000, 16000, in)
	r, err := NewResampler(48000, 16000)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 2 { // the second round shows that Flush resets
		var out []int16
		for rest := in; len(rest) > 0; {
			n := min(rng.IntN(700), len(rest))
			out = r.Append(out, rest[:n])
			rest = rest[n:]
		}
		out = r.Flush(out)
		if len(out) != len(whole) {
			t.Fatalf("%d samples, want %d", len(out), len(whole))
		}
		for i := range out {
			if out[i] != whole[i] {
				t.Fatalf("sample %d is %d, want %d", i, out[i], whole[i])
			}
		}
	}
}

func TestRatesThatMakeNoSense(t *testing.T) {
	for _, c := range [][2]int{{0, 16000}, {16000, -1}, {44101, 48000}} {
		if _, err := NewResampler(c[0], c[1]); err == nil {
			t.Errorf("%v was accepted", c)
		}
	}
}

func resample(t testing.TB, from, to int, in []int16) []int16 {
	t.Helper()
	r, err := NewResampler(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return r.Flush(r.Append(nil, in))
}

func BenchmarkResample48to16(b *testing.B) {
	r, err := NewResampler(48000, 16000)
	if err != nil {
		b.Fatal(err)
	}
	in := sine(960, 48000, 440, 10000)
	var out []int16
	for b.Loop() {
		out = r.Append(out[:0], in)
	}
}
