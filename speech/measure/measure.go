// Package measure times what a speech engine does, against the sound itself: an engine's own idea of when somebody
// stopped speaking would hide what it is late by.
package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/speech"
	"parley/transcript/score"
)

const rate = 16000

// Line is a recording at 16 kHz and what it says.
type Line struct {
	PCM  []int16
	Text string
}

// Hearing is how an engine heard.
type Hearing struct {
	Lines        int
	Words, Wrong int           // of all finals
	Audio        time.Duration // of the lines, without the pauses between
	// Final is the time from the true end of a line's speech to its last final.
	Final Times
	// Turn is the time from the true end to the first turn end that was judged likely (over a half).
	Turn Times
	// First is the time from the true beginning of the speech to the first partial.
	First Times
	// On is the time from the true beginning to the activity.
	On Times
	// Finals counts the finals: more than lines where one was divided.
	Finals int
	// Partials counts words of partials, Revised those that the final did not have at their place.
	Partials, Revised int
	Missed            int // lines without a final in time
}

// Times are durations of one kind, sorted.
type Times []time.Duration

// At gives a quantile, 0 to 1; zero when there is nothing.
func (t Times) At(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(math.Ceil(q*float64(len(t))))-1+btoi(q == 0))]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// String says median, p95 and most.
func (t Times) String() string {
	return fmt.Sprintf("p50 %v, p95 %v, most %v (%d)", ms(t.At(0.5)), ms(t.At(0.95)), ms(t.At(1)), len(t))
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// Gap is the silence between lines.
const Gap = 1500 * time.Millisecond

// Hear feeds the lines to so many streams at once, each at the pace of real speech, every stream beginning with
// another line.
func Hear(ctx context.Context, tr speech.Transcriber, lines []Line, streams int, o speech.StreamOptions) (Hearing, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		sum Hearing
	)
	for i := range streams {
		wg.Go(func() {
			// Streams of a real meeting do not begin on the same sample.
			if err := sleepUntil(ctx, time.Now().Add(time.Duration(i)*370*time.Millisecond)); err != nil {
				return
			}
			h, err := hearOne(ctx, tr, rotate(lines, i*len(lines)/streams), o)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sum.add(h)
		})
	}
	wg.Wait()
	for _, t := range []*Times{&sum.Final, &sum.Turn, &sum.First, &sum.On} {
		slices.Sort(*t)
	}
	return sum, context.Cause(ctx)
}

func rotate(lines []Line, by int) []Line {
	return append(append([]Line(nil), lines[by:]...), lines[:by]...)
}

func (h *Hearing) add(x Hearing) {
	h.Lines += x.Lines
	h.Words += x.Words
	h.Wrong += x.Wrong
	h.Audio += x.Audio
	h.Finals += x.Finals
	h.Partials += x.Partials
	h.Revised += x.Revised
	h.Missed += x.Missed
	h.Final = append(h.Final, x.Final...)
	h.Turn = append(h.Turn, x.Turn...)
	h.First = append(h.First, x.First...)
	h.On = append(h.On, x.On...)
}

// heard is an event and when it came.
type heard struct {
	ev speech.Event
	at time.Time
}

// placed is a line's speech in the stream.
type placed struct {
	start, end int64 // of the speech itself
	text       string
}

// hearOne is one stream.
func hearOne(ctx context.Context, tr speech.Transcriber, lines []Line, o speech.StreamOptions) (Hearing, error) {
	s, err := tr.Open(ctx, o)
	if err != nil {
		return Hearing{}, err
	}
	defer s.Close()
	var events []heard
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range s.Events() {
			events = append(events, heard{ev, time.Now()})
		}
	}()
	begin := time.Now()
	var places []placed
	pos := int64(0)
	for _, l := range lines {
		from, to := Speech(l.PCM)
		places = append(places, placed{pos + int64(from), pos + int64(to), l.Text})
		gap := make([]int16, int(Gap.Seconds()*rate))
		if err := feed(ctx, s, begin, &pos, append(append([]int16(nil), l.PCM...), gap...)); err != nil {
			return Hearing{}, err
		}
	}
	flush, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.Flush(flush); err != nil {
		return Hearing{}, fmt.Errorf("the last final: %w", err)
	}
	s.Close()
	<-done
	return judge(begin, places, events), nil
}

// feed writes samples when they would have been said, 20 ms at a time.
func feed(ctx context.Context, s speech.Stream, begin time.Time, pos *int64, pcm []int16) error {
	const piece = rate / 50
	for at := 0; at < len(pcm); at += piece {
		part := pcm[at:min(at+piece, len(pcm))]
		if err := sleepUntil(ctx, begin.Add(when(*pos+int64(len(part))))); err != nil {
			return err
		}
		if err := s.Write(*pos, part); err != nil {
			return err
		}
		*pos += int64(len(part))
	}
	return nil
}

func when(pos int64) time.Duration { return time.Duration(pos) * time.Second / rate }

func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// judge compares events with what was said.
func judge(begin time.Time, places []placed, events []heard) Hearing {
	h := Hearing{Lines: len(places)}
	for i, p := range places {
		h.Audio += when(p.end - p.start)
		next := int64(math.MaxInt64)
		if i+1 < len(places) {
			next = places[i+1].start
		}
		mine := func(end int64) bool { return end > p.start && end <= next }
		var text, shown []string
		var last, first, on, turn time.Time
		for _, e := range events {
			switch ev := e.ev.(type) {
			case speech.Final:
				if mine(ev.End) && ev.Text != "" {
					text = append(text, ev.Text)
					last = e.at
					h.Finals++
				}
			case speech.Partial:
				if mine(ev.End) {
					shown = append(shown, ev.Text)
					if first.IsZero() {
						first = e.at
					}
				}
			case speech.Activity:
				if ev.On && on.IsZero() && ev.At > p.start-rate/2 && ev.At < p.end {
					on = e.at
				}
			case speech.TurnEnd:
				if mine(ev.At) && ev.Prob > 0.5 && ev.At >= p.end && turn.IsZero() {
					turn = e.at
				}
			}
		}
		all := strings.Join(text, " ")
		wrong, words := score.Count(p.text, all)
		h.Wrong += wrong
		h.Words += words
		final := score.Normalize(all, "en")
		for _, s := range shown {
			for i, w := range score.Normalize(s, "en") {
				h.Partials++
				if i >= len(final) || final[i] != w {
					h.Revised++
				}
			}
		}
		if last.IsZero() {
			h.Missed++
		} else {
			h.Final = append(h.Final, last.Sub(begin.Add(when(p.end))))
		}
		if !first.IsZero() {
			h.First = append(h.First, first.Sub(begin.Add(when(p.start))))
		}
		if !on.IsZero() {
			h.On = append(h.On, on.Sub(begin.Add(when(p.start))))
		}
		if !turn.IsZero() {
			h.Turn = append(h.Turn, turn.Sub(begin.Add(when(p.end))))
		}
	}
	return h
}

// Speech gives where the speech in a recording begins and ends: where it is first and last louder than a hundredth
// of its loudest moments (40 dB), 10 ms at a time.
func Speech(pcm []int16) (from, to int) {
	const step = rate / 100
	var level []float64
	loudest := 0.0
	for at := 0; at+step <= len(pcm); at += step {
		sum := 0.0
		for _, v := range pcm[at : at+step] {
			sum += float64(v) * float64(v)
		}
		level = append(level, sum/step)
		loudest = max(loudest, sum/step)
	}
	first, last := -1, -1
	for i, l := range level {
		if l > loudest*1e-4 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 0, 0
	}
	return first * step, (last + 1) * step
}

// Saying is how an engine spoke.
type Saying struct {
	First Times         // from the call to the first piece
	Audio time.Duration // of everything
	Wall  time.Duration // that it took
	// Late counts the pieces that came after the one before had been heard to its end, by a listener who does not
	// wait; Gap is the longest such silence.
	Late int
	Gap  time.Duration
}

// Say speaks the texts one after another, taking each piece as a listener would: the next one is asked for while
// this one plays.
func Say(ctx context.Context, sy speech.Synthesizer, texts []string, r speech.SpeakRequest) (Saying, error) {
	var out Saying
	for _, text := range texts {
		r.Text = text
		if err := say(ctx, sy, r, &out); err != nil {
			return out, err
		}
	}
	slices.Sort(out.First)
	return out, nil
}

func say(ctx context.Context, sy speech.Synthesizer, r speech.SpeakRequest, out *Saying) error {
	began := time.Now()
	c, err := sy.Speak(ctx, r)
	if err != nil {
		return err
	}
	defer c.Close()
	var played time.Time // until then there is something to hear
	for {
		p, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			out.Wall += time.Since(began)
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		length := time.Duration(len(p.PCM)) * time.Second / 24000
		out.Audio += length
		switch {
		case played.IsZero():
			out.First = append(out.First, now.Sub(began))
			played = now
		case now.After(played):
			out.Late++
			out.Gap = max(out.Gap, now.Sub(played))
			played = now
		}
		played = played.Add(length)
	}
}
