package tape

import (
	"math/rand/v2"
	"testing"
)

// ramp gives samples whose value tells their position.
func ramp(pos int64, n int) []int16 {
	pcm := make([]int16, n)
	for i := range pcm {
		pcm[i] = int16(pos + int64(i))
	}
	return pcm
}

// drain reads all there is to send and checks that samples lie where they were written.
func drain(t *testing.T, tp *Tape) (first, end, count int64) {
	t.Helper()
	first = -1
	for {
		pos, pcm, ok := tp.Next(700)
		if !ok {
			return first, end, count
		}
		if first < 0 {
			first = pos
		}
		if pos < end {
			t.Fatalf("position %d after %d", pos, end)
		}
		for i, s := range pcm {
			if s != int16(pos+int64(i)) {
				t.Fatalf("at %d: %d", pos+int64(i), s)
			}
		}
		end = pos + int64(len(pcm))
		count += int64(len(pcm))
	}
}

func TestTapeSendsAgainWhatWasNotAnswered(t *testing.T) {
	tp := Tape{limit: 100_000}
	tp.Write(0, ramp(0, 20_000))
	drain(t, &tp)
	tp.Answered(5_000)
	tp.Write(20_000, ramp(20_000, 1_000))
	if lost := tp.Rewind(); lost != 0 {
		t.Errorf("lost %d", lost)
	}
	if first, end, count := drain(t, &tp); first != 5_000 || end != 21_000 || count != 16_000 {
		t.Errorf("%d..%d, %d samples", first, end, count)
	}
}

func TestTapeIgnoresWhatItHasAndKeepsGaps(t *testing.T) {
	tp := Tape{limit: 100_000}
	tp.Write(0, ramp(0, 1_000))
	tp.Write(0, ramp(0, 1_000))
	tp.Write(500, ramp(500, 1_000))
	tp.Write(10_000, ramp(10_000, 500)) // 8,500 after the last sample: too long to fill
	if tp.held != 2_000 || tp.end != 10_500 {
		t.Fatalf("held %d, end %d", tp.held, tp.end)
	}
	pos, pcm, _ := tp.Next(1 << 20)
	if pos != 0 || len(pcm) != 1_500 {
		t.Errorf("first run %d+%d", pos, len(pcm))
	}
	pos, pcm, _ = tp.Next(1 << 20)
	if pos != 10_000 || len(pcm) != 500 {
		t.Errorf("second run %d+%d", pos, len(pcm))
	}
}

func TestTapeReportsOnlyWhatIsReallyLost(t *testing.T) {
	tp := Tape{limit: 10_000}
	if lost := tp.Write(0, ramp(0, 10_000)); lost != 0 {
		t.Errorf("at the bound: lost %d", lost)
	}
	if lost := tp.Write(10_000, ramp(10_000, 1)); lost != 1 {
		t.Errorf("one over, nothing sent: lost %d", lost)
	}
	drain(t, &tp)
	if lost := tp.Write(10_001, ramp(10_001, 4_000)); lost != 0 {
		t.Errorf("what went to the process is not lost: %d", lost)
	}
	// Only when the process dies without an answer is it gone: 4001 samples were dropped, one never sent.
	if lost := tp.Rewind(); lost != 4_001 {
		t.Errorf("after a death: lost %d", lost)
	}
	if lost := tp.Rewind(); lost != 0 {
		t.Errorf("reported twice: %d", lost)
	}
	if first, end, _ := drain(t, &tp); first != 4_001 || end != 14_001 {
		t.Errorf("replay %d..%d", first, end)
	}
}

func TestTapeStaysWithinItsBound(t *testing.T) {
	tp := Tape{limit: 50_000}
	rng := rand.New(rand.NewPCG(1, 2))
	pos := int64(0)
	for range 5_000 {
		if rng.IntN(10) == 0 {
			pos += int64(rng.IntN(100_000))
		}
		n := rng.IntN(3_000)
		tp.Write(pos, ramp(pos, n))
		pos += int64(n)
		switch rng.IntN(4) {
		case 0:
			tp.Next(rng.IntN(5_000) + 1)
		case 1:
			tp.Answered(tp.sent - int64(rng.IntN(2_000)))
		case 2:
			tp.Rewind()
		}
		held := 0
		for _, s := range tp.spans {
			held += len(s.pcm)
		}
		if held != tp.held || held > tp.limit || len(tp.spans) > maxSpans {
			t.Fatalf("held %d (counted %d), %d spans", tp.held, held, len(tp.spans))
		}
	}
}

func TestTapeFillsShortGapsWithSilence(t *testing.T) {
	tp := Tape{limit: 100_000}
	tp.Write(0, []int16{1})
	tp.Write(3, []int16{2})
	if _, pcm, _ := tp.Next(10); len(pcm) != 4 || pcm[0] != 1 || pcm[1] != 0 || pcm[2] != 0 || pcm[3] != 2 {
		t.Errorf("%v", pcm)
	}
}

func TestTapeBoundsManySpans(t *testing.T) {
	tp := Tape{limit: 480_000}
	lost := int64(0)
	for i := range int64(maxSpans + 10) {
		lost += tp.Write(i*20_000, []int16{1})
	}
	if len(tp.spans) != maxSpans || lost != 10 {
		t.Errorf("%d spans, %d lost", len(tp.spans), lost)
	}
}

func TestTapeSkipsWhatWasTried(t *testing.T) {
	tp := Tape{limit: 100_000}
	tp.Write(0, ramp(0, 30_000))
	tp.Next(20_000) // a span
	tp.Answered(5_000)
	tp.Rewind()
	if lost := tp.Skip(); lost != 11_000 {
		t.Errorf("lost %d", lost)
	}
	if lost := tp.Skip(); lost != 0 {
		t.Errorf("lost %d more", lost)
	}
	if first, end, _ := drain(t, &tp); first != 16_000 || end != 30_000 {
		t.Errorf("%d..%d", first, end)
	}
}
