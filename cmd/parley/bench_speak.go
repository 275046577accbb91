package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/audio"
	"parley/audio/pulse"
	"parley/channel"
	"parley/cmd/parley/internal/figures"
	"parley/guard/spawn"
	"parley/internal/proc"
	"parley/room"
)

// Targets of speaking.
const (
	// againstPlayer is how much of an ffmpeg player's time ours may take.
	againstPlayer = 0.10
	soundTrials   = 20
	interruptions = 8
)

// When the parts in a room end, counted from the beginning: a machine that does much else measures less, and says so.
const (
	turnsEnd         = 380 * time.Second
	interruptionsEnd = 440 * time.Second
	allEnd           = 460 * time.Second
	// lostInARow is how many turns nobody hears before a machine counts as too busy.
	lostInARow = 3
)

// errTimeUp says that the time for measuring is over.
var errTimeUp = errors.New("the time for measuring is over")

// tooBusy tells an error that a machine makes which does much else; what is measured is the way, not that.
func tooBusy(ctx context.Context, err error) bool {
	return errors.Is(err, errUnheard) || errors.Is(err, errNotYet) || err != nil && errors.Is(context.Cause(ctx), errTimeUp)
}

// speak measures how soon we are heard, and how soon not.
func (b *bench) speak(ctx context.Context) error {
	began := time.Now()
	err := b.againstPlayer(ctx)
	for try := 1; err != nil && try < 3 && ctx.Err() == nil; try++ { // on a busy machine a tone may pass unheard
		err = b.againstPlayer(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		b.add(figures.NotMeasured("decision → sound on the sink", "ms", "in three tries a tone passed unheard: "+err.Error()))
	}
	server, err := room.New(room.Options{Listen: "127.0.0.1:0", Log: b.log})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving) }()
	defer func() { stop(); <-served }()
	d := &demo{o: &demoOptions{}, out: io.Discard, log: b.log, dir: b.dir, room: server}
	defer d.close()
	a, err := d.agent(ctx, "speak", nil)
	if err != nil {
		return err
	}
	// Every partial may make a draft, and none of them is stale for the words that follow: what is measured is the way.
	if err := a.call(ctx, "speech_settings_set", map[string]any{"agent_partials": true, "agent_partials_interval_s": 0.1, "draft_max_new_words": 100}, nil); err != nil {
		return err
	}
	t := newTalk(d, a, []line{
		{adaName, "Could you tell us when the next meeting is going to be?"},
		{emmyName, "Wait, stop there please, that is wrong."},
	})
	b.say("the guests' voices")
	if err := t.voices(ctx); err != nil {
		return err
	}
	if err := t.join(ctx); err != nil {
		return err
	}
	measuring, cancel := context.WithDeadlineCause(ctx, began.Add(allEnd), errTimeUp)
	defer cancel()
	if err := b.turns(measuring, t, began.Add(turnsEnd)); err != nil {
		return err
	}
	if err := b.interrupted(measuring, t, began.Add(interruptionsEnd)); err != nil {
		return err
	}
	return a.call(ctx, "meeting_leave", map[string]any{"meeting_id": t.meeting}, nil)
}

// againstPlayer measures from the decision to the sound on the sink, ours and an ffmpeg player's, in turn.
func (b *bench) againstPlayer(ctx context.Context) error {
	b.say("the sound path, against an ffmpeg player")
	dir, err := proc.RunDir("", b.account)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := pulse.Start(ctx, pulse.Options{Dir: filepath.Join(dir, "snd"), Account: b.account})
	if err != nil {
		return err
	}
	defer s.Close()
	wav := filepath.Join(dir, "tone.wav")
	make, err := spawn.Start(spawn.FFmpeg, proc.Spec{Name: "ffmpeg", Path: "ffmpeg", Account: b.account, Args: []string{"-nostdin", "-v", "error", "-y", "-f", "lavfi",
		"-i", "sine=frequency=1000:sample_rate=24000:duration=5", "-filter:a", "volume=10dB", wav}}, spawn.Options{Write: []string{dir}})
	if err != nil {
		return err
	}
	<-make.Done()
	if make.Err() != nil {
		return fmt.Errorf("a tone to play: %w", make.Err())
	}
	ours, err := pulse.MeasureLatency(ctx, s, soundTrials)
	if err != nil {
		return err
	}
	theirs, err := pulse.MeasureOther(ctx, s, soundTrials, func(ctx context.Context) (func(), error) {
		c, err := spawn.Start(spawn.Player, proc.Spec{Name: "ffmpeg", Path: "ffmpeg", Account: b.account, Env: append(proc.BaseEnv(), s.Env()...), Stderr: b.err,
			Args: []string{"-nostdin", "-v", "error", "-i", wav, "-f", "pulse", "-device", pulse.MicSink, "tone"}}, spawn.Options{})
		if err != nil {
			return nil, err
		}
		return func() { c.Kill(); <-c.Done() }, nil
	})
	if err != nil {
		return err
	}
	row := figures.AtMost("decision → sound on the sink", "ms", 0, millis(ours)...).Against(millis(theirs)...)
	if row.Reference != nil {
		target := againstPlayer * *row.Reference
		holds := *row.Ours <= target
		row.Target, row.Holds = &target, &holds
	}
	silence, err := pulse.MeasureStop(ctx, s, soundTrials)
	if err != nil {
		return err
	}
	duck, err := pulse.MeasureDuck(ctx, s, soundTrials)
	if err != nil {
		return err
	}
	b.add(row.Noted("the reference plays a file with ffmpeg into the same sink; the target is a tenth of it"),
		figures.AtMost("stop → silence on the sink", "ms", 0, millis(silence)...),
		figures.AtMost("duck → lower on the sink", "ms", 0, millis(duck)...))
	return nil
}

// answerText is the answer to every question.
const answerText = "On Monday at ten."

// turns measures questions that are answered at once, half of them from a draft.
func (b *bench) turns(ctx context.Context, t *talk, until time.Time) error {
	var drafted, fromDraft, given, plain, called []float64
	missed, lost, inARow, asked := 0, 0, 0, 0
	for i := 0; i < 2*b.o.turns && time.Now().Before(until) && inARow < lostInARow; i++ {
		withDraft := i%2 == 0
		b.say("turn %d of %d", i+1, 2*b.o.turns)
		asked++
		m, err := b.turn(ctx, t, withDraft)
		if err != nil && !tooBusy(ctx, err) {
			return err
		}
		if err != nil {
			lost++
			inARow++
			continue
		}
		inARow = 0
		switch {
		case withDraft && m.spoken:
			drafted = append(drafted, m.first.Sub(m.last).Seconds())
			fromDraft = append(fromDraft, m.first.Sub(m.given).Seconds())
		case withDraft:
			missed++
		default:
			plain = append(plain, m.first.Sub(m.last).Seconds())
			called = append(called, m.first.Sub(m.published).Seconds())
		}
		given = append(given, m.given.Sub(m.last).Seconds())
	}
	note := "at a guest, through the room"
	all := fmt.Sprintf("%s; of %d questions %d drafts came too late, %d turns were not heard in time", note, asked, missed, lost)
	if asked < 2*b.o.turns {
		all += fmt.Sprintf("; %d were not asked any more, the machine is too busy", 2*b.o.turns-asked)
	}
	b.add(
		figures.AtMost("last word → first audio, draft", "s", 0, drafted...).Noted(all),
		figures.AtMost("last word → first audio, no draft", "s", 0, plain...).Noted(note+"; the agent answers at once"),
		figures.AtMost("last word → turn given", "s", 0, given...).Noted("the pause, the recognition and the hold"),
		figures.AtMost("turn given → first audio, draft", "s", 0, fromDraft...).Noted(note),
		figures.AtMost("publish called → first audio, no draft", "s", 0, called...).Noted(note+"; synthesis and the unmute click"),
	)
	return nil
}

// moments are when the things of one turn happened.
type moments struct {
	last, given, published, first time.Time
	spoken                        bool // from the draft
}

// turn asks once.
func (b *bench) turn(ctx context.Context, t *talk, withDraft bool) (m moments, err error) {
	t.expect(botName)
	over := make(chan error, 1)
	go func() {
		err := t.says(ctx, 0)
		m.last = time.Now()
		over <- err
	}()
	turn, err := t.hear(ctx, "the turn", func(m channel.Message) bool {
		if m.Partial && withDraft && m.Author.Name == adaName {
			_, _ = t.a.app.seat.Draft(ctx, t.tenant, t.meeting, channel.Drafted{Text: answerText, Ready: true}) // the turn tells
		}
		return turnOf(adaName)(m)
	})
	if err := <-over; err != nil {
		return m, err
	}
	if err != nil {
		return m, err
	}
	m.given, m.spoken, m.published = turn.At, turn.Metadata.Draft == "spoken", time.Now()
	if _, err := t.publish(ctx, answerText, turn.Metadata.TurnSeq); err != nil {
		return m, err
	}
	if m.first, err = t.audible(ctx); err != nil {
		return m, err
	}
	return m, t.spoken(ctx)
}

// frameOf is a moment of somebody's sound at a guest.
type frameOf struct {
	at    time.Time
	level float64
}

// interrupted measures how soon a guest's voice silences ours.
func (b *bench) interrupted(ctx context.Context, t *talk, until time.Time) error {
	var silent []float64
	var mu sync.Mutex
	var ours []frameOf
	t.mu.Lock()
	t.frame = func(who string, at time.Time, level float64) {
		if who == botName {
			mu.Lock()
			ours = append(ours, frameOf{at, level})
			mu.Unlock()
		}
	}
	t.mu.Unlock()
	missed, tried := 0, 0
	for i := 0; i < interruptions && time.Now().Before(until); i++ {
		tried++
		b.say("interruption %d of %d", i+1, interruptions)
		mu.Lock()
		ours = nil
		mu.Unlock()
		t.expect(botName)
		cut, err := b.interrupt(ctx, t)
		if err != nil && !tooBusy(ctx, err) {
			return err
		}
		if !cut || err != nil {
			missed++ // she hit a pause, or the machine is too busy to tell
			continue
		}
		began, _ := t.sounds(emmyName)
		mu.Lock()
		_, s := yielded(ours, began)
		mu.Unlock()
		if s > 0 {
			silent = append(silent, s.Seconds()*1000)
		}
	}
	b.add(
		figures.NotMeasured("interruption → ducked", "ms", "at a guest a lower voice cannot be told from the pauses of speech; duck → lower on the sink stands above"),
		figures.AtMost("interruption → silent", "ms", 0, silent...).Noted(fmt.Sprintf("from her first sound, both at a guest; in %d of %d trials we were not heard at that moment; a machine that makes our voice too slowly falls silent by itself", missed, tried)),
	)
	return nil
}

// interrupt lets Emmy speak while we do, and tells whether that interrupted us.
func (b *bench) interrupt(ctx context.Context, t *talk) (cut bool, err error) {
	if _, err := t.publish(ctx, "This is a rather long sentence about the plan for the next release, which somebody is going to interrupt before it comes to its end, "+
		"as people do when they have something to say.", 0); err != nil {
		return false, err
	}
	if _, err := t.audible(ctx); err != nil {
		return false, err
	}
	if err := pause(ctx, 1500*time.Millisecond); err != nil {
		return false, err
	}
	t.expect(emmyName)
	if err := t.says(ctx, 1); err != nil {
		return false, err
	}
	_, err = t.hear(ctx, "her turn", func(m channel.Message) bool {
		cut = cut || tagged(channel.TagInterrupted)(m)
		return turnOf(emmyName)(m)
	})
	return cut, errors.Join(err, t.spoken(ctx))
}

// betweenWords is the longest pause that is still speech.
const betweenWords = 250 * time.Millisecond

// yielded finds in our sound when it became lower, and when it was heard last, after a moment; zero: it did not.
func yielded(ours []frameOf, began time.Time) (ducked, silent time.Duration) {
	var before []float64
	var last time.Time
	for _, f := range ours {
		if f.at.Before(began) && f.level > loudEnough {
			before = append(before, f.level)
			last = f.at
		}
	}
	if len(before) == 0 || began.IsZero() || began.Sub(last) > betweenWords {
		return 0, 0 // we were not speaking when she began: there was nothing to interrupt
	}
	slices.Sort(before)
	usual := before[len(before)*3/4]
	const window = 8 // frames without the old level: a pause between words is shorter
	for i, f := range ours {
		if f.at.Before(began) || i+window > len(ours) {
			continue
		}
		low := true
		for _, g := range ours[i : i+window] {
			low = low && g.level < usual+audio.Duck/2
		}
		if low && ducked == 0 {
			ducked = f.at.Sub(began)
		}
		if f.level > loudEnough+audio.Duck/2 {
			silent = f.at.Sub(began)
		}
	}
	return ducked, silent
}
