package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/audio"
	"parley/channel"
	"parley/cmd/parley/internal/figures"
	"parley/cmd/parley/internal/timeline"
	"parley/meeting/files"
	"parley/room"
	"parley/room/guest"
	"parley/speech"
	"parley/tenant"
	"parley/tool"
	"parley/transcript"
	"parley/turn/replay"
)

// The names in the picture.
const (
	adaName  = "Ada"
	emmyName = "Emmy"
	botName  = "the bot"
)

// guestVoices are whose voices the two guests have: other ones than the bot's.
var guestVoices = map[string]string{adaName: "bf_emma", emmyName: "am_michael"}

// line is what a guest says.
type line struct{ who, text string }

// The lines of the conversation, in the order in which they are said.
var guestLines = []line{
	{adaName, "What did we decide about the release?"},
	{emmyName, "Wait, stop there please. In which month is that?"},
	{adaName, "Who is going to write the notes?"},
	{adaName, "I mean the notes for the customers."},
	{adaName, "And could you please tell all of us when the next meeting is going to be?"},
	{adaName, "Sorry, could you please tell us once more when the next meeting is going to be?"},
	{adaName, "I did not hear it. Please tell us again when the next meeting is going to be."},
}

// stepTime is how long each step of the conversation may take, on a machine that does much else.
const stepTime = 90 * time.Second

var (
	// errUnheard says that something did not reach the agent in time.
	errUnheard = errors.New("it did not reach the agent")
	// errNotYet says that something of the bot's did not happen in time.
	errNotYet = errors.New("it did not happen in time")
)

// conversation is the third meeting of the demo: the agent answers in its channel.
func (d *demo) conversation(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	a, err := d.agent(ctx, "conversation", nil)
	if err != nil {
		return err
	}
	d.say("A conversation: Ada and Emmy talk with the bot; its agent hears turns and answers in the meeting's channel.\n")
	if err := a.call(ctx, "speech_settings_set", map[string]any{"agent_partials": true, "agent_partials_interval_s": 0.5}, nil); err != nil {
		return err
	}
	t := newTalk(d, a, guestLines)
	if err := t.voices(ctx); err != nil {
		return fmt.Errorf("the guests' voices: %w", err)
	}
	if err := t.join(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"a question is answered, and the answer interrupted", t.interrupted},
		{"a turn is reopened", t.reopened},
		{"a draft is said", t.drafted},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	if err := a.call(ctx, "meeting_leave", map[string]any{"meeting_id": t.meeting}, nil); err != nil {
		return err
	}
	if err := t.picture(); err != nil {
		return err
	}
	return t.lookBack()
}

// lookBack plays the meeting's journal again: what the turn engine did comes again without a word of what was said. A
// machine that does much else wakes late, and so do some effects.
func (t *talk) lookBack() error {
	set, err := files.Of(filepath.Join(t.d.dir, "conversation"), t.tenant, t.meeting)
	if err != nil {
		return err
	}
	f, err := os.Open(set.Journal())
	if err != nil {
		return err
	}
	defer f.Close()
	rep, err := replay.Run(f, replay.Options{Tolerance: 500 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	t.d.say("\n  file   the journal holds %d events and no word; replayed, %d of %d effects came otherwise", rep.Events, rep.Different, rep.Effects)
	for _, d := range rep.First {
		t.d.log.Debug("an effect came otherwise", "what", d)
	}
	return nil
}

func newTalk(d *demo, a *agent, lines []line) *talk {
	t := &talk{d: d, a: a, lines: lines, tenant: string(tenant.DefaultID), messages: make(chan channel.Message, 256), opened: make(chan struct{}),
		line: timeline.New(250*time.Millisecond, adaName, emmyName, botName), loud: map[string]time.Time{}, first: map[string]time.Time{}}
	if v := a.app.v.String("PARLEY_TENANT"); v != "" {
		t.tenant = v
	}
	return t
}

// talk is the conversation's meeting, its guests, and the agent that answers.
type talk struct {
	lines    []line
	d        *demo
	a        *agent
	tenant   string
	meeting  string
	clips    []guest.Clip
	ada      *guest.Guest
	emmy     *guest.Guest
	messages chan channel.Message
	opened   chan struct{}

	mu    sync.Mutex
	line  *timeline.Timeline
	loud  map[string]time.Time // when somebody was heard last
	first map[string]time.Time // … and first, since expect
	frame func(who string, at time.Time, level float64)
}

// voices synthesizes what the guests say.
func (t *talk) voices(ctx context.Context) error {
	for _, l := range t.lines {
		c, err := voiceOf(ctx, t.a.app.engine, l)
		if err != nil {
			return err
		}
		t.clips = append(t.clips, c)
	}
	return nil
}

// voiceOf is a line in the voice of its guest.
func voiceOf(ctx context.Context, engine speech.Synthesizer, l line) (guest.Clip, error) {
	up, err := audio.NewResampler(audio.SpeakRate, guest.Rate)
	if err != nil {
		return guest.Clip{}, err
	}
	clip, err := engine.Speak(ctx, speech.SpeakRequest{Text: l.text, Voice: guestVoices[l.who]})
	if err != nil {
		return guest.Clip{}, err
	}
	defer clip.Close()
	var pcm []int16
	for {
		p, err := clip.Next(ctx)
		if errors.Is(err, io.EOF) {
			return guest.Encode(ctx, l.who, up.Flush(up.Append(nil, pcm)))
		}
		if err != nil {
			return guest.Clip{}, err
		}
		pcm = append(pcm, p.PCM...)
	}
}

// hears notes what a guest hears of the others.
func (t *talk) hears(by string) func(guest.Sound) {
	return func(s guest.Sound) {
		who := ""
		t.mu.Lock()
		g := t.ada
		if by == emmyName {
			g = t.emmy
		}
		t.mu.Unlock()
		if g == nil {
			return // it is still coming in
		}
		for _, p := range g.People() {
			if p.ID == s.Participant {
				who = p.Name
			}
		}
		switch {
		case by == emmyName && who == adaName, by == adaName && who == emmyName:
		case by == adaName && strings.Contains(who, "Parley"):
			who = botName
		default:
			return // heard by the other one already
		}
		level := audio.RMS(s.PCM)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.line.Hear(who, s.At, level)
		if t.frame != nil {
			t.frame(who, s.At, level)
		}
		if level > loudEnough {
			t.loud[who] = s.At
			if t.first[who].IsZero() {
				t.first[who] = s.At
			}
		}
	}
}

// expect forgets when somebody was heard first.
func (t *talk) expect(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.first, who)
}

// sounds is when somebody was heard first since expect, and last.
func (t *talk) sounds(who string) (first, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first[who], t.loud[who]
}

func (t *talk) mark(sign, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Mark(timeline.Mark{At: time.Now(), Sign: sign, Text: text})
}

func (t *talk) join(ctx context.Context) error {
	link := t.d.room.Link(room.NewID())
	for name, at := range map[string]**guest.Guest{adaName: &t.ada, emmyName: &t.emmy} {
		g, err := guest.Join(ctx, guest.Options{URL: link, Name: name, OnAudio: t.hears(name), Log: t.d.log}, nil)
		if err != nil {
			return err
		}
		t.mu.Lock()
		*at = g
		t.mu.Unlock()
		t.d.later(func() { _ = g.Leave() })
		if err := g.Admitted(ctx); err != nil {
			return err
		}
	}
	watch, stop := context.WithCancel(ctx)
	t.d.later(stop)
	updates := t.a.app.seat.Converse(watch)
	go func() { // ends with updates, which end with watch
		once := sync.Once{}
		for u := range updates {
			if u.Opened != nil {
				once.Do(func() { close(t.opened) })
			}
			if u.Message != nil {
				select {
				case t.messages <- *u.Message:
				case <-watch.Done():
				}
			}
		}
	}()
	var st tool.Status
	if err := t.a.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st); err != nil {
		return err
	}
	t.meeting = st.Meeting
	select {
	case <-t.opened:
		return pause(ctx, time.Second) // the first words should not be lost to what is still starting
	case <-time.After(stepTime):
		return errors.New("the meeting's channel did not open")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// says plays a line, and returns when it was said.
func (t *talk) says(ctx context.Context, n int) error {
	g := t.ada
	if t.lines[n].who == emmyName {
		g = t.emmy
	}
	t.d.say("  %-9s %s", t.lines[n].who+":", t.lines[n].text)
	return g.Play(ctx, t.clips[n])
}

// hear waits for a message of the channel; others pass by and are shown.
func (t *talk) hear(ctx context.Context, what string, fits func(channel.Message) bool) (channel.Message, error) {
	limit := time.NewTimer(stepTime)
	defer limit.Stop()
	for {
		select {
		case m := <-t.messages:
			t.show(m)
			if fits(m) {
				return m, nil
			}
		case <-limit.C:
			return channel.Message{}, fmt.Errorf("%w: %s, within %s", errUnheard, what, stepTime)
		case <-ctx.Done():
			return channel.Message{}, ctx.Err()
		}
	}
}

// show tells a message as the agent reads it.
func (t *talk) show(m channel.Message) {
	if m.Partial {
		return
	}
	t.d.say("  agent ←   %s: %s", plain(m.Author.Name), plain(strings.Join(m.Text, " ")))
	switch {
	case slices.Contains(m.Tags, channel.TagExtended):
		t.mark("r", "the agent is told that the turn goes on")
	case slices.Contains(m.Tags, channel.TagTranscript):
		t.mark("t", "a turn reaches the agent")
	}
}

func turnOf(who string) func(channel.Message) bool {
	return func(m channel.Message) bool {
		return !m.Partial && slices.Contains(m.Tags, channel.TagTranscript) && !m.Metadata.Echo && m.Author.Name == who
	}
}

func tagged(tag string) func(channel.Message) bool {
	return func(m channel.Message) bool { return slices.Contains(m.Tags, tag) }
}

func (t *talk) publish(ctx context.Context, text string, turn transcript.Seq) (channel.Receipt, error) {
	t.d.say("  agent →   %s", text)
	r, err := t.a.app.seat.Publish(ctx, t.tenant, t.meeting, channel.Publication{Text: text, Turn: turn})
	if err == nil && !r.Delivered {
		t.d.say("            (not said: %s)", r.Reason)
	}
	return r, err
}

// audible waits until the bot is heard, and gives when.
func (t *talk) audible(ctx context.Context) (time.Time, error) {
	return t.poll(ctx, "the bot is not heard", func(first, _ time.Time) (time.Time, bool) { return first, !first.IsZero() })
}

// silent waits until the bot has not been heard for a while, and gives when it was heard last.
func (t *talk) silent(ctx context.Context, quiet time.Duration) (time.Time, error) {
	return t.poll(ctx, "the bot does not fall silent", func(_, last time.Time) (time.Time, bool) { return last, time.Since(last) > quiet })
}

func (t *talk) poll(ctx context.Context, failure string, done func(first, last time.Time) (time.Time, bool)) (time.Time, error) {
	deadline := time.Now().Add(stepTime)
	for time.Now().Before(deadline) {
		if at, ok := done(t.sounds(botName)); ok {
			return at, nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil { // frames come every 20 ms
			return time.Time{}, err
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s", errNotYet, failure)
}

// interrupted: Ada asks, the bot answers, Emmy interrupts, the bot yields and answers her. Where the machine makes our
// voice more slowly than it sounds, she may hit a pause: then there was nothing to interrupt, and it is tried again.
func (t *talk) interrupted(ctx context.Context) error {
	if err := t.says(ctx, 0); err != nil {
		return err
	}
	ask, err := t.hear(ctx, "Ada's turn", turnOf(adaName))
	if err != nil {
		return err
	}
	for try := range 3 {
		t.expect(botName)
		said := time.Now()
		if _, err := t.publish(ctx, "We decided to ship the release in March, as soon as the second review of the design is done. "+
			"Until then the team goes on with the tests that we planned last week, and everybody who has found a problem writes it down in the list.", ask.Metadata.TurnSeq); err != nil {
			return err
		}
		first, err := t.audible(ctx)
		if err != nil {
			return err
		}
		if try == 0 {
			t.d.rows = append(t.d.rows, figures.AtMost("published → first sound at a guest, no draft", "s", 0, first.Sub(said).Seconds()))
		}
		if err := pause(ctx, 1500*time.Millisecond); err != nil {
			return err
		}
		t.expect(emmyName)
		if err := t.says(ctx, 1); err != nil {
			return err
		}
		var cut *channel.Message
		turn, err := t.hear(ctx, "Emmy's turn", func(m channel.Message) bool {
			if slices.Contains(m.Tags, channel.TagInterrupted) {
				t.mark("i", "Emmy has interrupted: the bot falls silent")
				cut = &m
			}
			return turnOf(emmyName)(m)
		})
		if err != nil {
			return err
		}
		if cut == nil {
			t.d.say("            (we were not heard at that moment: once more)")
			if err := t.spoken(ctx); err != nil {
				return err
			}
			continue
		}
		if cut.Metadata.Unsaid == "" {
			return errors.New("the interruption does not say what was not said")
		}
		last, err := t.silent(ctx, 700*time.Millisecond)
		if err != nil {
			return err
		}
		emmy, _ := t.sounds(emmyName)
		t.d.rows = append(t.d.rows, figures.AtMost("interruption → silent at a guest", "s", 0, max(last.Sub(emmy).Seconds(), 0)).
			Noted("from her first sound; two new words have to be recognised"))
		return t.answer(ctx, emmyName, "In March.", turn.Metadata.TurnSeq)
	}
	return errors.New("in three tries nobody interrupted the bot while it was heard")
}

// answer publishes, and waits until it was said. Whoever goes on before it is said is answered when the whole turn has come.
func (t *talk) answer(ctx context.Context, who, text string, turn transcript.Seq) error {
	why := ""
	for range 3 {
		t.expect(botName)
		r, err := t.publish(ctx, text, turn)
		if err != nil {
			return err
		}
		if r.Delivered {
			if _, err := t.audible(ctx); err != nil {
				return err
			}
			return t.spoken(ctx)
		}
		if why = r.Reason; !r.Superseded {
			break
		}
		whole, err := t.hear(ctx, who+"'s whole turn", turnOf(who))
		if err != nil {
			return err
		}
		turn = whole.Metadata.TurnSeq
	}
	return fmt.Errorf("the answer was not taken: %s", why)
}

// spoken waits until nothing of ours is said any more, and nothing waits to be.
func (t *talk) spoken(ctx context.Context) error {
	deadline := time.Now().Add(stepTime)
	for time.Now().Before(deadline) {
		var st tool.Status
		if err := t.a.call(ctx, "meeting_status", map[string]any{"meeting_id": t.meeting}, &st); err != nil {
			return err
		}
		if !st.Speaking {
			return pause(ctx, 500*time.Millisecond) // what is on its way to the guests
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the bot does not come to an end", errNotYet)
}

// reopened: Ada goes on before the agent has answered; its answer to the old turn is dropped, the whole turn comes again.
func (t *talk) reopened(ctx context.Context) error {
	if err := t.says(ctx, 2); err != nil {
		return err
	}
	old, err := t.hear(ctx, "Ada's turn", turnOf(adaName))
	if err != nil {
		return err
	}
	spoken := make(chan error, 1)
	go func() { spoken <- t.says(ctx, 3) }()
	if _, err := t.hear(ctx, "the turn that goes on", tagged(channel.TagExtended)); err != nil {
		return err
	}
	r, err := t.publish(ctx, "Nobody does.", old.Metadata.TurnSeq)
	if err = errors.Join(err, <-spoken); err != nil {
		return err
	}
	if r.Delivered {
		return errors.New("an answer to a turn that was reopened was said")
	}
	whole, err := t.hear(ctx, "the whole turn", turnOf(adaName))
	if err != nil {
		return err
	}
	if whole.Metadata.Extends != old.Metadata.TurnSeq {
		return fmt.Errorf("the turn came again without naming the one that it extends (%d, not %d)", whole.Metadata.Extends, old.Metadata.TurnSeq)
	}
	return t.answer(ctx, adaName, "Emmy writes the notes for the customers.", whole.Metadata.TurnSeq)
}

// drafted: the agent prepares its answer while Ada speaks, and it is said when her turn is over. Where the partials come
// too late for that, she asks again.
func (t *talk) drafted(ctx context.Context) error {
	const draft = "It is on Monday at ten."
	why := ""
	for n := 4; n < len(t.lines); n++ {
		spoken := make(chan error, 1)
		t.expect(botName)
		go func() { spoken <- t.says(ctx, n) }()
		turn, err := t.hear(ctx, "Ada's turn", func(m channel.Message) bool {
			if m.Partial && m.Author.Name == adaName {
				_, err := t.a.app.seat.Draft(ctx, t.tenant, t.meeting, channel.Drafted{Text: draft, Ready: true})
				if err != nil {
					t.d.say("  ! %v", err)
				}
			}
			return turnOf(adaName)(m)
		})
		if err = errors.Join(err, <-spoken); err != nil {
			return err
		}
		if why = turn.Metadata.Draft; why != "spoken" {
			why += " " + turn.Metadata.DraftWhy
			if err := t.answer(ctx, adaName, "One moment.", turn.Metadata.TurnSeq); err != nil {
				return err
			}
			continue
		}
		first, err := t.audible(ctx)
		if err != nil {
			return err
		}
		t.d.rows = append(t.d.rows, figures.AtMost("turn given → first sound at a guest, draft", "s", 0, first.Sub(turn.At).Seconds()))
		t.mark("d", "the draft is said, and the publish goes on where it ended")
		r, err := t.publish(ctx, draft+" I will send the invitation.", turn.Metadata.TurnSeq)
		if err != nil {
			return err
		}
		if !r.PrefixSkipped {
			return errors.New("the publish that begins with the draft was said from its beginning")
		}
		return t.spoken(ctx)
	}
	return fmt.Errorf("in %d questions no draft was said (%s)", len(t.lines)-4, strings.TrimSpace(why))
}

// picture shows who spoke when.
func (t *talk) picture() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.d.say("\nWho spoke when, as the guests heard it:\n")
	if err := t.line.Text(t.d.out, 100); err != nil || t.d.o.keep == "" {
		return err
	}
	if err := os.MkdirAll(t.d.o.keep, 0o700); err != nil {
		return err
	}
	path := filepath.Join(t.d.o.keep, "conversation.svg")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(t.line.SVG(f), f.Close()); err == nil {
		t.d.say("  file   %s", path)
	}
	return err
}
