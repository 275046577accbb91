package pulse

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/audio"
	"parley/testkit/need"
)

func player(t testing.TB, s *Server, o PlayerOptions) *Player {
	t.Helper()
	p, err := s.Player(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// recording keeps what a source gives until it is stopped.
type recording struct {
	stop context.CancelFunc
	done chan struct{}
	pcm  []int16
}

func listenTo(t testing.TB, s *Server) *recording { t.Helper(); return listenOn(t, s, micMonitor) }

// end gives what was heard, silence at both ends cut off, after letting the last of it arrive.
func (r *recording) end() []int16 {
	pcm := r.raw()
	loud := func(s int16) bool { return s > 100 || s < -100 }
	from := slices.IndexFunc(pcm, loud)
	if from < 0 {
		return nil
	}
	to := len(pcm)
	for !loud(pcm[to-1]) {
		to--
	}
	return pcm[from:to]
}

func play(t testing.TB, p *Player, pieces Pieces) *Playing {
	t.Helper()
	s, err := p.Play(t.Context(), pieces)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wait(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: nothing after 10 s", what)
	}
}

// jumps counts the places where a sine of 16 kHz samples is not continued.
func jumps(pcm []int16, hz float64) int {
	// x[n] = 2 cos(w) x[n-1] - x[n-2] for every sine.
	c, n := 2*math.Cos(2*math.Pi*hz/audio.HearRate), 0
	for i := 2; i < len(pcm); i++ {
		if d := float64(pcm[i]) - c*float64(pcm[i-1]) + float64(pcm[i-2]); math.Abs(d) > 400 {
			n++
			i += 80
		}
	}
	return n
}

func TestWhatIsPlayedIsHeardWhole(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	r := listenTo(t, s)
	time.Sleep(200 * time.Millisecond)
	speech := Tone(1000, -10, time.Second)
	began := time.Now()
	a := play(t, p, Samples(speech))
	wait(t, "start", a.Started())
	wait(t, "end", a.Done())
	took := time.Since(began)
	if o := a.Outcome(); o.Err != nil || o.Played != int64(len(speech)) || o.Taken != o.Played || o.Gaps != 0 {
		t.Errorf("%+v", o)
	}
	if took < 950*time.Millisecond || took > 5*time.Second {
		t.Errorf("a second took %v", took)
	}
	pcm := r.end()
	if d := len(pcm) - audio.HearRate; p.Underruns() == 0 && (d < -32 || d > 64) {
		t.Errorf("heard %d samples, want %d", len(pcm), audio.HearRate)
	}
	if n := jumps(pcm[100:len(pcm)-100], 1000); n > 2*int(p.Underruns()) && !need.Overloaded(t) {
		t.Errorf("%d jumps, %d underruns", n, p.Underruns())
	}
}

func TestOneSpeechFollowsAnother(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	r := listenTo(t, s)
	time.Sleep(100 * time.Millisecond)
	// The end of one sine is the beginning of the next.
	a := play(t, p, Samples(Tone(1000, -10, 300*time.Millisecond)))
	b := play(t, p, Samples(Tone(1000, -10, 300*time.Millisecond)))
	wait(t, "first", a.Done())
	wait(t, "second", b.Done())
	pcm := r.end()
	if d := len(pcm) - audio.HearRate*6/10; p.Underruns() == 0 && (d < -32 || d > 64) {
		t.Errorf("heard %d samples, want %d", len(pcm), audio.HearRate*6/10)
	}
	if n := jumps(pcm[100:len(pcm)-100], 1000); n > 2*int(p.Underruns()) && !need.Overloaded(t) {
		t.Errorf("%d jumps, %d underruns", n, p.Underruns())
	}
	for range queueLimit + 1 {
		play(t, p, Samples(Tone(1000, -10, time.Second)))
	}
	if _, err := p.Play(t.Context(), Samples(nil)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("one too many: %v", err)
	}
	p.Stop()
}

func TestStopSilencesAndSaysHowFarItCame(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	r := listenTo(t, s)
	time.Sleep(100 * time.Millisecond)
	a := play(t, p, Samples(Tone(1000, -10, 5*time.Second)))
	wait(t, "start", a.Started())
	time.Sleep(500 * time.Millisecond)
	a.Stop()
	a.Stop()
	wait(t, "end", a.Done())
	o := a.Outcome()
	pcm := r.end()
	if !errors.Is(o.Err, ErrStopped) {
		t.Errorf("%+v", o)
	}
	if heard := int64(len(pcm)) * 3 / 2; p.Underruns() == 0 && (o.Played < heard-500 || o.Played > heard+500) {
		t.Errorf("played %d samples by the clock, %d were heard", o.Played, heard)
	}
	// It fades; there is no click at the end.
	if n := jumps(pcm[100:], 1000); n > 2*int(p.Underruns()) && !need.Overloaded(t) {
		t.Errorf("%d jumps, %d underruns", n, p.Underruns())
	}
	// And it speaks again.
	r = listenTo(t, s)
	b := play(t, p, Samples(Tone(1000, -10, 200*time.Millisecond)))
	wait(t, "second", b.Done())
	if n := len(r.end()); p.Underruns() == 0 && (n < 3100 || n > 3300) {
		t.Errorf("after a stop: heard %d samples of 3200", n)
	}
}

// Wherever in the sink's block a stop comes, the fade is whole. One lost to the scheduler of a busy machine is allowed.
func TestEveryStopFades(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	clicks := 0
	const stops = 16
	for i := range stops {
		r := listenTo(t, s)
		a := play(t, p, Samples(Tone(1000, -10, 5*time.Second)))
		wait(t, "start", a.Started())
		time.Sleep(150*time.Millisecond + time.Duration(i)*10300*time.Microsecond)
		p.Stop()
		wait(t, "end", a.Done())
		if pcm := r.end(); len(pcm) < 1000 {
			t.Fatalf("stop %d: heard %d samples", i, len(pcm))
		} else if jumps(pcm[100:], 1000) > 0 {
			clicks++
		}
	}
	if clicks > 1 && p.Underruns() == 0 && !need.Overloaded(t) {
		t.Errorf("%d of %d stops click", clicks, stops)
	}
}

func TestDuckingIsEighteenDecibelsAndComesBack(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	r := listenTo(t, s)
	time.Sleep(100 * time.Millisecond)
	a := play(t, p, Samples(Tone(1000, -10, 1500*time.Millisecond)))
	wait(t, "start", a.Started())
	time.Sleep(500 * time.Millisecond)
	p.Duck(audio.Duck)
	time.Sleep(400 * time.Millisecond)
	p.Restore()
	wait(t, "end", a.Done())
	pcm := r.end()
	if n := jumps(pcm[100:len(pcm)-100], 1000); n > 2*int(p.Underruns()) && !need.Overloaded(t) {
		t.Errorf("%d jumps, %d underruns", n, p.Underruns())
	}
	// The median of 20 ms: an underrun on a busy machine is no volume.
	level := func(from, to float64) float64 {
		var all []float64
		for at := int(from * 16000); at+320 <= int(to*16000); at += 320 {
			all = append(all, audio.RMS(pcm[at:at+320]))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	full := level(0.1, 0.4)
	if d := level(0.65, 0.85) - full; math.Abs(d-audio.Duck) > 0.5 && !need.Overloaded(t) {
		t.Errorf("ducked by %.1f dB", d)
	}
	if d := level(1.1, 1.4) - full; math.Abs(d) > 0.5 && !need.Overloaded(t) {
		t.Errorf("came back to %.1f dB", d)
	}
}

func TestPiecesThatComeLateLeaveAGap(t *testing.T) {
	s := start(t)
	var mu sync.Mutex
	var kinds []PlayerKind
	p := player(t, s, PlayerOptions{OnEvent: func(e PlayerEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind != PlayerUnderrun { // of a busy machine
			kinds = append(kinds, e.Kind)
		}
	}})
	n := 0
	a := play(t, p, PiecesFunc(func(ctx context.Context) ([]int16, error) {
		switch n++; n {
		case 2:
			time.Sleep(500 * time.Millisecond)
		case 3:
			return nil, io.EOF
		}
		return Tone(500, -10, 200*time.Millisecond), nil
	}))
	wait(t, "end", a.Done())
	o := a.Outcome()
	if gap := time.Duration(o.Gap) * time.Second / audio.SpeakRate; o.Gaps != 1 || gap < 200*time.Millisecond || gap > 450*time.Millisecond {
		t.Errorf("%+v: a gap of %v", o, gap)
	}
	if o.Played != 9600 || o.Err != nil {
		t.Errorf("%+v", o)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []PlayerKind{PlayerStarted, PlayerLate, PlayerFinished}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}

func TestPiecesThatFail(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	bad := errors.New("no voice")
	n := 0
	a := play(t, p, PiecesFunc(func(ctx context.Context) ([]int16, error) {
		if n++; n > 1 {
			return nil, bad
		}
		return Tone(500, -10, 100*time.Millisecond), nil
	}))
	wait(t, "end", a.Done())
	if o := a.Outcome(); !errors.Is(o.Err, bad) || o.Played != 2400 {
		t.Errorf("%+v", o)
	}
	// A context that ends is a stop.
	ctx, cancel := context.WithCancel(t.Context())
	b, err := p.Play(ctx, PiecesFunc(func(ctx context.Context) ([]int16, error) { <-ctx.Done(); return nil, ctx.Err() }))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	wait(t, "cancelled", b.Done())
	if o := b.Outcome(); !errors.Is(o.Err, context.Canceled) || o.Played != 0 {
		t.Errorf("%+v", o)
	}
}

func TestAPlayerEndsWithItsServer(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	a := play(t, p, Samples(Tone(500, -10, 5*time.Second)))
	wait(t, "start", a.Started())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wait(t, "player", p.Done())
	wait(t, "playing", a.Done())
	if o := a.Outcome(); !errors.Is(o.Err, ErrServerGone) || o.Played == 0 {
		t.Errorf("%+v", o)
	}
	if _, err := p.Play(t.Context(), Samples(nil)); !errors.Is(err, ErrServerGone) {
		t.Errorf("play without a server: %v", err)
	}
}

func TestStopDoesNotWaitForAServerThatHangs(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	a := play(t, p, Samples(Tone(500, -10, 20*time.Second)))
	wait(t, "start", a.Started())
	if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(400 * time.Millisecond) // the player asks for the time, and gets no answer
	began := time.Now()
	p.Duck(audio.Duck)
	a.Stop()
	p.Stop()
	p.Restore()
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Errorf("stopping took %v", took)
	}
	time.Sleep(2500 * time.Millisecond) // longer than any request waits
	if err := syscall.Kill(s.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait(t, "end", a.Done())
	if o := a.Outcome(); !errors.Is(o.Err, ErrStopped) {
		t.Errorf("%+v", o)
	}
	b := play(t, p, Samples(Tone(500, -10, 200*time.Millisecond)))
	wait(t, "after the server came back", b.Done())
	if o := b.Outcome(); o.Err != nil || o.Played != 4800 {
		t.Errorf("%+v", o)
	}
}

func TestManyStopsAndStarts(t *testing.T) {
	s := start(t)
	p := player(t, s, PlayerOptions{})
	for i := range 60 {
		a := play(t, p, Samples(Tone(800, -20, time.Second)))
		if i%3 > 0 {
			wait(t, "start", a.Started())
		}
		p.Duck(audio.Duck)
		if i%2 == 0 {
			a.Stop()
		} else {
			p.Stop()
		}
		p.Restore()
		wait(t, "end", a.Done())
	}
}

func TestFigures(t *testing.T) {
	s := start(t)
	need.Sound(t)
	for _, m := range []struct {
		name    string
		measure func(context.Context, *Server, int) ([]time.Duration, error)
		n       int
	}{{"write to monitor", MeasureLatency, 10}, {"stop to silence", MeasureStop, 8}, {"duck to lower", MeasureDuck, 5}, {"capture interval", MeasureCapture, 100}} {
		d, err := m.measure(t.Context(), s, m.n)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		slices.Sort(d)
		t.Logf("%s: p50 %v p95 %v most %v", m.name, d[len(d)/2], d[len(d)*95/100], d[len(d)-1])
		if d[len(d)/2] > time.Second {
			t.Errorf("%s: median %v", m.name, d[len(d)/2])
		}
	}
}
