package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/audio"
	"parley/audio/ogg"
	"parley/audio/pulse"
	"parley/cmd/parley/internal/figures"
	"parley/internal/proc"
	"parley/room"
	"parley/room/guest"
	"parley/testkit/voices"
	"parley/tool"
	"parley/transcript/score"
)

type benchOptions struct {
	json     bool
	n        int
	meetings int
	turns    int
	rivals   string
	nodes    int
}

// suites are what parley bench can measure.
var suites = map[string]func(*bench, context.Context) error{"control": (*bench).control, "guard": (*bench).guard, "door": (*bench).door, "seat": (*bench).seat, "speak": (*bench).speak, "mcp": (*bench).mcp}

var benchCommand = &command{
	name:  "bench",
	args:  "SUITE [--n N] [--meetings N] [--rivals DIR] [--json]",
	short: "measures this machine: seat, speak, door, mcp, guard, control",
	long: `Measures and prints a table with targets. Suite seat: joining, recording, memory and processor time of a
meeting with two speakers, the sound path, speech recognition, and several meetings at once. Suite speak: from the
decision to the sound on the sink against an ffmpeg player of the same run, from the last word to our first sound with
and without a draft, and interruptions. Suite door: the way into the stand-ins of Google Meet and Zoom, from the call to
the lobby, from being let in to the recording, and from an objection to the file being gone. Suite guard: what
each call and each text pays for the guardrails; it needs no models. The others run a service of their own with real rooms, browsers and voices; nothing stays. Figures depend on what else the machine does: the load
stands above the table.`,
	example: "parley bench guard\nparley bench seat --json > seat.json\nparley bench speak --turns 30",
	flags: func(fs *flag.FlagSet) any {
		o := &benchOptions{}
		fs.BoolVar(&o.json, "json", false, "print one JSON object")
		fs.IntVar(&o.n, "n", 0, "joins to measure; 0 is 5 for seat, 20 for each platform of door")
		fs.IntVar(&o.turns, "turns", 30, "turns of each kind to measure (speak)")
		fs.StringVar(&o.rivals, "rivals", "rivals", "folder with the node_modules of other servers (mcp)")
		fs.IntVar(&o.nodes, "nodes", 2000, "elements of the page (mcp)")
		fs.IntVar(&o.meetings, "meetings", 5, "meetings at once (seat); 0 leaves that part out")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*benchOptions)
		if len(args) != 1 || suites[args[0]] == nil {
			return fail(exitUsage, "it takes the name of a suite: seat, speak, door, mcp, guard, control")
		}
		if o.n == 0 {
			o.n = map[string]int{"door": 20}[args[0]]
		}
		if o.n == 0 {
			o.n = 5
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		if args[0] != "control" && args[0] != "mcp" && args[0] != "guard" && !modelsThere(v) {
			return fail(exitMissing, "the speech models are missing: parley models fetch")
		}
		dir, err := os.MkdirTemp("", "parley-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b := &bench{o: o, dir: dir, models: modelsDir(v), account: account(v), err: env.stderr, log: slog.New(slog.DiscardHandler)}
		s := figures.Suite{Suite: args[0], Machine: figures.Here()}
		if err := suites[args[0]](b, ctx); err != nil {
			return err
		}
		s.Rows = b.rows
		if o.json {
			return s.JSON(env.stdout)
		}
		return s.Text(env.stdout)
	},
}

type bench struct {
	o       *benchOptions
	dir     string
	models  string
	account *proc.Account
	err     io.Writer
	log     *slog.Logger
	rows    []figures.Row
}

func (b *bench) add(rows ...figures.Row) { b.rows = append(b.rows, rows...) }
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.err, "bench: "+format+"\n", args...)
}

func (b *bench) seat(ctx context.Context) error {
	if err := b.soundPath(ctx); err != nil {
		return fmt.Errorf("sound path: %w", err)
	}
	server, err := room.New(room.Options{Listen: "127.0.0.1:0", Log: b.log})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving) }()
	defer func() { stop(); <-served }()
	c, err := startClient(ctx, filepath.Join(b.dir, "seat"), b.models, b.o.meetings+1)
	if err != nil {
		return err
	}
	defer c.close()
	if err := b.joins(ctx, c, server); err != nil {
		return fmt.Errorf("joins: %w", err)
	}
	if err := b.twoSpeakers(ctx, c, server); err != nil {
		return fmt.Errorf("meeting with two speakers: %w", err)
	}
	if b.o.meetings == 0 {
		return nil
	}
	if err := b.crowd(ctx, c, server); err != nil {
		return fmt.Errorf("%d meetings at once: %w", b.o.meetings, err)
	}
	return nil
}

// soundPath measures a private sound server alone.
func (b *bench) soundPath(ctx context.Context) error {
	b.say("the sound path")
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
	write, err := pulse.MeasureLatency(ctx, s, 20)
	if err != nil {
		return err
	}
	silence, err := pulse.MeasureStop(ctx, s, 20)
	if err != nil {
		return err
	}
	b.add(figures.AtMost("decision → sound on the sink", "ms", 15, millis(write)...),
		figures.AtMost("stop → silence on the sink", "ms", 0, millis(silence)...))
	return nil
}

func millis(d []time.Duration) []float64 {
	out := make([]float64, len(d))
	for i := range d {
		out[i] = float64(d[i].Microseconds()) / 1000
	}
	return out
}

// joins measures the way in, and from the announcement to the first sample.
func (b *bench) joins(ctx context.Context, c *client, server *room.Server) error {
	var in, first []float64
	for i := range b.o.n {
		b.say("join %d of %d", i+1, b.o.n)
		link := server.Link(room.NewID())
		g, err := guest.Join(ctx, guest.Options{URL: link, Name: "Ada", Log: b.log}, nil)
		if err != nil {
			return err
		}
		asked := time.Now()
		var st tool.Status
		if err := c.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st); err != nil {
			return err
		}
		var admitted, announced time.Time
		err = c.until(ctx, st.Meeting, 60*time.Second, "the bot attends", func(ev tool.Event) bool {
			if ev.State == tool.Admitted {
				admitted = ev.At
			}
			if ev.Announce != nil {
				announced = ev.At
			}
			return ev.State == tool.Attending
		})
		if err != nil {
			return err
		}
		in = append(in, admitted.Sub(asked).Seconds())
		if err := pause(ctx, 1500*time.Millisecond); err != nil { // some sound to look at
			return err
		}
		if err := c.call(ctx, "meeting_leave", map[string]any{"meeting_id": st.Meeting}, nil); err != nil {
			return err
		}
		if err := c.call(ctx, "meeting_status", map[string]any{"meeting_id": st.Meeting}, &st); err != nil {
			return err
		}
		_ = g.Leave()
		if st.RecordingPath == "" {
			return fmt.Errorf("the recording of join %d was not closed: %s", i+1, st.State)
		}
		if info, err := ogg.Info(st.RecordingPath); err == nil && !info.Began.IsZero() {
			first = append(first, float64(info.Began.Sub(announced).Microseconds())/1000)
		}
	}
	b.add(figures.AtMost("meeting_join called → in the room", "s", 2, in...),
		figures.AtMost("announcement confirmed → first recorded sample", "ms", 100, first...))
	return nil
}

// twoSpeakers measures a meeting in which two people talk.
func (b *bench) twoSpeakers(ctx context.Context, c *client, server *room.Server) error {
	b.say("a meeting with two speakers")
	d := &demo{log: b.log, out: io.Discard}
	defer d.close()
	link := server.Link(room.NewID())
	p, err := d.party(ctx, link)
	if err != nil {
		return err
	}
	var st tool.Status
	if err := c.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st); err != nil {
		return err
	}
	attends := func(ev tool.Event) bool { return ev.State == tool.Attending }
	if err := c.until(ctx, st.Meeting, 60*time.Second, "the bot attends", attends); err != nil {
		return err
	}
	if err := pause(ctx, 3*time.Second); err != nil { // starting is not what is measured
		return err
	}
	// Each sentence with the moment its last word sounded.
	prompts, err := voices.Prompts()
	if err != nil {
		return err
	}
	ada, err := voices.Pick(prompts, adaReads...)
	if err != nil {
		return err
	}
	emmy, err := voices.Novel()
	if err != nil {
		return err
	}
	before, began := c.usage(), time.Now()
	speechBefore, finalsBefore, hasSpeech := c.speechCPU()
	var said []sentence
	var ends []time.Time
	var spoken time.Duration
	var rss []float64 // of the service, after each sentence
	for i := range 2 * len(ada) {
		g, r, who := p.ada, ada[i/2], "Ada"
		if i%2 == 1 {
			g, r, who = p.emmy, emmy[i/2], "Emmy"
		}
		pcm, err := voices.Decode(ctx, r.Path, audio.HearRate)
		if err != nil {
			return err
		}
		from, to := speechIn(pcm)
		clip, err := guest.Load(ctx, r.Path)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := g.Play(ctx, clip); err != nil {
			return err
		}
		said = append(said, sentence{who, r.Text})
		ends = append(ends, start.Add(to))
		spoken += to - from
		rss = append(rss, float64(c.serviceRSS())/(1<<20))
		if err := pause(ctx, 1200*time.Millisecond); err != nil {
			return err
		}
	}
	after, took := c.usage(), time.Since(began)
	speechAfter, finalsAfter, _ := c.speechCPU()
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}

	// Stop: the bot speaks, is stopped, and a guest listens.
	var stops, starts []float64
	for range 6 {
		p.ear.listen(botIn(p.ada))
		called := time.Now()
		if err := c.call(ctx, "meeting_speak", map[string]any{
			"meeting_id": st.Meeting, "text": "This is a rather long sentence, which somebody is going to interrupt before it comes to its end, as people do.",
		}, nil); err != nil {
			return err
		}
		if err := pause(ctx, 1200*time.Millisecond); err != nil {
			return err
		}
		stopped := time.Now()
		if err := c.call(ctx, "meeting_stop_speaking", map[string]any{"meeting_id": st.Meeting}, nil); err != nil {
			return err
		}
		if err := pause(ctx, 1500*time.Millisecond); err != nil {
			return err
		}
		if _, first, last := p.ear.heard(); !first.IsZero() {
			starts = append(starts, first.Sub(called).Seconds())
			stops = append(stops, float64(last.Sub(stopped).Milliseconds()))
		}
	}
	if err := c.call(ctx, "meeting_leave", map[string]any{"meeting_id": st.Meeting}, nil); err != nil {
		return err
	}

	lags, lines, err := c.finals(ctx, st.Meeting, ends)
	if err != nil {
		return err
	}
	b.add(
		figures.AtMost("a meeting with two speakers, speech aside", "cores", 0.25, (after.cpu-before.cpu).Seconds()/took.Seconds()).Noted("worker, browser, display, sound, encoder"),
		figures.AtMost("the same, memory (PSS)", "MiB", 600, float64(after.pss)/(1<<20)),
		figures.AtMost("the service beside browser and speech (RSS)", "MiB", 40, rss...),
		figures.AtMost("last word → final text at the client", "s", 0.5, lags...),
		figures.AtMost("meeting_speak called → first sound at a guest, no draft", "s", 0, starts...),
		figures.AtMost("stop called → silence at a guest", "ms", 60, stops...),
	)
	if hasSpeech {
		b.add(
			figures.AtMost("processor time for the final text of 5 s of speech", "s", 0.2, 5*(finalsAfter-finalsBefore).Seconds()/spoken.Seconds()).Noted("drafts of it included"),
			figures.AtMost("the whole speech process for 5 s of speech", "s", 0, 5*(speechAfter-speechBefore).Seconds()/spoken.Seconds()).Noted("partials and activity too"),
		)
	} else {
		b.add(figures.NotMeasured("processor time for the final text of 5 s of speech", "s", "the speech process did not tell"))
	}
	judge := &demo{out: io.Discard}
	judge.judge("each participant's own track", said, lines)
	b.add(judge.rows...)
	return nil
}

// speechIn is where in a recording somebody speaks.
func speechIn(pcm []int16) (from, to time.Duration) {
	const step = audio.HearRate / 50
	first, last := -1, 0
	for i := 0; i+step <= len(pcm); i += step {
		if audio.RMS(pcm[i:i+step]) > loudEnough {
			if first < 0 {
				first = i
			}
			last = i + step
		}
	}
	at := func(n int) time.Duration { return time.Duration(n) * time.Second / audio.HearRate }
	return at(max(first, 0)), at(last)
}

// crowd runs several meetings at once, each with somebody who talks.
func (b *bench) crowd(ctx context.Context, c *client, server *room.Server) error {
	b.say("%d meetings at once", b.o.meetings)
	novel, err := voices.Novel()
	if err != nil {
		return err
	}
	type seat struct {
		st    tool.Status
		guest *guest.Guest
	}
	seats := make([]seat, b.o.meetings)
	for i := range seats {
		link := server.Link(room.NewID())
		g, err := guest.Join(ctx, guest.Options{URL: link, Name: fmt.Sprintf("Speaker %d", i+1), Log: b.log}, nil)
		if err != nil {
			return err
		}
		defer func() { _ = g.Leave() }()
		seats[i].guest = g
		if err := c.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &seats[i].st); err != nil {
			return err
		}
	}
	for i := range seats {
		if err := c.until(ctx, seats[i].st.Meeting, 90*time.Second, "the bot attends", func(ev tool.Event) bool { return ev.State == tool.Attending }); err != nil {
			return err
		}
	}
	var g sync.WaitGroup
	errs := make([]error, len(seats))
	for i := range seats {
		g.Go(func() {
			for _, r := range novel {
				clip, err := guest.Load(ctx, r.Path)
				if err == nil {
					err = seats[i].guest.Play(ctx, clip)
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	g.Wait()
	if i := slices.IndexFunc(errs, func(e error) bool { return e != nil }); i >= 0 {
		return errs[i]
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	var gaps, lags []float64
	var errorsAll score.Errors
	for i := range seats {
		id := map[string]any{"meeting_id": seats[i].st.Meeting}
		var st tool.Status
		if err := c.call(ctx, "meeting_status", id, &st); err != nil {
			return err
		}
		if l := st.LiveTranscript; l != nil && l.FinalLagS != nil {
			lags = append(lags, *l.FinalLagS)
		}
		if err := c.call(ctx, "meeting_leave", id, nil); err != nil {
			return err
		}
		if err := c.call(ctx, "meeting_status", id, &st); err != nil {
			return err
		}
		// A late tick is a hole in the recording: silence that the clock put where sound should be.
		gaps = append(gaps, st.RecordingGapS)
		_, lines, err := c.finals(ctx, seats[i].st.Meeting, nil)
		if err != nil {
			return err
		}
		var ref, hyp []string
		for _, r := range novel {
			ref = append(ref, score.Normalize(r.Text, "en")...)
		}
		for _, l := range lines {
			hyp = append(hyp, score.Normalize(l.Text, "en")...)
		}
		errorsAll = errorsAll.Add(score.WER(ref, hyp))
	}
	b.add(
		figures.AtMost(fmt.Sprintf("%d meetings at once: sound lost in a recording", b.o.meetings), "s", 0.001, slices.Max(gaps)).Noted("the worst of them"),
		figures.AtMost(fmt.Sprintf("%d meetings at once: last word → final text", b.o.meetings), "s", 0, lags...).Noted("everybody speaks at once"),
		figures.AtMost(fmt.Sprintf("%d meetings at once: word errors", b.o.meetings), "%", 0, 100*errorsAll.Rate()),
	)
	return nil
}
