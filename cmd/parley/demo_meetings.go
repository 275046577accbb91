package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/audio"
	"parley/cmd/parley/internal/figures"
	"parley/room"
	"parley/room/guest"
	"parley/speech"
	"parley/testkit/voices"
	"parley/tool"
	"parley/transcript"
	"parley/transcript/score"
)

// The prompts that Ada reads; what Emmy reads is a novel.
var adaReads = []string{"conf-waitforleader", "followme/sorry", "check-number-dial-again", "feature-not-avail-line", "conf-onlyone"}

// sentence is one that a guest said: the truth that a transcript is compared with.
type sentence struct{ who, text string }

// party is two guests in a room.
type party struct {
	ada, emmy *guest.Guest
	said      []sentence
	ear       *ear
}

// ear keeps what a guest hears of the bot.
type ear struct {
	mu    sync.Mutex
	bot   string // participant
	pcm   []int16
	since time.Time // sound before this does not count
	first time.Time // of sound that can be speech
	last  time.Time
}

// loudEnough is what a guest takes for speech, in dBFS.
const loudEnough = -45

func (e *ear) hear(s guest.Sound) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.Participant != e.bot || s.At.Before(e.since) || e.since.IsZero() {
		return
	}
	e.pcm = append(e.pcm, s.PCM...)
	if audio.RMS(s.PCM) > loudEnough {
		if e.first.IsZero() {
			e.first = s.At
		}
		e.last = s.At
	}
}

func (e *ear) listen(bot string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bot, e.since, e.pcm, e.first, e.last = bot, time.Now(), nil, time.Time{}, time.Time{}
}

func (e *ear) heard() (pcm []int16, first, last time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int16(nil), e.pcm...), e.first, e.last
}

func (d *demo) party(ctx context.Context, link string) (*party, error) {
	p := &party{ear: &ear{}}
	var err error
	if p.ada, err = guest.Join(ctx, guest.Options{URL: link, Name: "Ada", OnAudio: p.ear.hear, Log: d.log}, nil); err != nil {
		return nil, err
	}
	d.later(func() { _ = p.ada.Leave() }) // by then the meeting is over
	if p.emmy, err = guest.Join(ctx, guest.Options{URL: link, Name: "Emmy", Log: d.log}, nil); err != nil {
		return nil, err
	}
	d.later(func() { _ = p.emmy.Leave() })
	return p, errors.Join(p.ada.Admitted(ctx), p.emmy.Admitted(ctx))
}

// talk lets both read in turn, and in the end at the same time.
func (p *party) talk(ctx context.Context, turns int, together bool) error {
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
	read := func(g *guest.Guest, r voices.Recording) error {
		clip, err := guest.Load(ctx, r.Path)
		if err != nil {
			return err
		}
		return g.Play(ctx, clip)
	}
	for i := range turns {
		p.said = append(p.said, sentence{"Ada", ada[i].Text}, sentence{"Emmy", emmy[i].Text})
		if err := read(p.ada, ada[i]); err != nil {
			return err
		}
		if err := pause(ctx, 900*time.Millisecond); err != nil {
			return err
		}
		if err := read(p.emmy, emmy[i]); err != nil {
			return err
		}
		if err := pause(ctx, 900*time.Millisecond); err != nil {
			return err
		}
	}
	if !together {
		return nil
	}
	a, e := ada[len(ada)-1], emmy[len(emmy)-1]
	p.said = append(p.said, sentence{"Ada", a.Text}, sentence{"Emmy", e.Text})
	both := make(chan error, 1)
	go func() { both <- read(p.ada, a) }()
	err = read(p.emmy, e)
	return errors.Join(err, <-both)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// botIn finds the bot among the people of the room.
func botIn(g *guest.Guest) string {
	for _, p := range g.People() {
		if strings.Contains(p.Name, "Parley") {
			return p.ID
		}
	}
	return ""
}

func (d *demo) firstMeeting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	a, err := d.agent(ctx, "first", nil)
	if err != nil {
		return err
	}
	link := d.room.Link(room.NewID())
	d.say("A meeting: Ada and Emmy are in a room, and an agent sends its bot.\n")
	p, err := d.party(ctx, link)
	if err != nil {
		return err
	}
	asked := time.Now()
	var st tool.Status
	if err := a.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st); err != nil {
		return err
	}
	// The story is told from another connection's point of view: it listens while the rest happens.
	var told sync.WaitGroup
	var mu sync.Mutex
	var lags []float64
	states := map[tool.State]time.Time{}
	attending := make(chan struct{})
	told.Go(func() {
		once := sync.Once{}
		err := a.listen(ctx, st.Meeting, 0, func(ev tool.Event) error {
			mu.Lock()
			if ev.State != "" {
				states[ev.State] = ev.At
			}
			mu.Unlock()
			if ev.State == tool.Attending {
				once.Do(func() { close(attending) })
			}
			d.show(ev)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			d.say("  ! %v", err)
		}
	})
	select {
	case <-attending:
	case <-time.After(30 * time.Second):
		return errors.New("the bot did not get in within 30 s")
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.talk(ctx, 4, true); err != nil {
		return err
	}

	if err := p.ada.Say("Parley, when will the notes be ready?"); err != nil {
		return err
	}
	const answer = "The notes will be ready in ten minutes, and everybody gets a copy."
	p.ear.listen(botIn(p.ada))
	called := time.Now()
	var sp tool.Spoken
	if err := a.call(ctx, "meeting_speak", map[string]any{"meeting_id": st.Meeting, "text": answer, "wait": true}, &sp); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil { // what is still on its way to the guest
		return err
	}
	pcm, first, _ := p.ear.heard()
	d.say("  voice  the bot says: %s", answer)

	var status tool.Status
	if err := a.call(ctx, "meeting_status", map[string]any{"meeting_id": st.Meeting}, &status); err != nil {
		return err
	}
	if l := status.LiveTranscript; l != nil && l.FinalLagS != nil {
		lags = append(lags, *l.FinalLagS)
	}
	if err := a.call(ctx, "meeting_leave", map[string]any{"meeting_id": st.Meeting}, nil); err != nil {
		return err
	}
	told.Wait()

	mu.Lock()
	inRoom := states[tool.Admitted].Sub(asked)
	mu.Unlock()
	d.rows = append(d.rows, figures.AtMost("meeting_join called → in the room", "s", 2, inRoom.Seconds()))
	segs, err := d.transcript(ctx, a, st.Meeting)
	if err != nil {
		return err
	}
	d.judge("each participant's own track", p.said, segs)
	if len(lags) > 0 {
		d.rows = append(d.rows, figures.AtMost("end of speech → final text", "s", 0.5, lags...).Noted("the last one"))
	}
	if first.IsZero() {
		return errors.New("the bot's answer was not heard by Ada")
	}
	d.rows = append(d.rows, figures.AtMost("meeting_speak called → first sound at a guest", "s", 0, first.Sub(called).Seconds()).
		Noted(fmt.Sprintf("of it %d ms until the first piece was synthesized", sp.PrepareMS)))
	back, err := hearAgain(ctx, a, pcm)
	if err != nil {
		return err
	}
	d.say("  voice  Ada heard, written down again: %s", back)
	e := score.WER(score.Normalize(answer, "en"), score.Normalize(back, "en"))
	d.rows = append(d.rows, figures.AtMost("word errors of our voice, as a guest heard it", "%", 20, 100*e.Rate()))
	return d.fetch(ctx, a, st.Meeting)
}

// hearAgain writes down what a guest heard of our voice.
func hearAgain(ctx context.Context, a *agent, pcm []int16) (string, error) {
	r, err := audio.NewResampler(guest.Rate, audio.HearRate)
	if err != nil {
		return "", err
	}
	low := r.Flush(r.Append(nil, pcm))
	s, err := a.app.engine.Open(ctx, speech.StreamOptions{Label: "demo", Lang: "en"})
	if err != nil {
		return "", err
	}
	var text []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev := range s.Events() {
			if f, ok := ev.(speech.Final); ok {
				text = append(text, f.Text)
			}
		}
	}()
	const second = audio.HearRate
	for at := 0; at < len(low) && err == nil; at += second {
		err = s.Write(int64(at), low[at:min(len(low), at+second)])
	}
	err = errors.Join(err, s.Flush(ctx), s.Close())
	<-done
	return strings.Join(text, " "), err
}

// transcript reads what was written down, each segment as it stands now.
func (d *demo) transcript(ctx context.Context, a *agent, id string) ([]tool.Line, error) {
	latest, order := map[int64]tool.Line{}, []int64{}
	for since := int64(0); ; {
		var t tool.Transcript
		if err := a.call(ctx, "meeting_transcript", map[string]any{"meeting_id": id, "since": since}, &t); err != nil {
			return nil, err
		}
		for _, l := range t.Segments {
			if _, known := latest[l.Seq]; !known {
				order = append(order, l.Seq)
			}
			latest[l.Seq] = l
		}
		if since = t.Next; !t.More {
			break
		}
	}
	out := make([]tool.Line, 0, len(order))
	for _, seq := range order {
		out = append(out, latest[seq])
	}
	return out, nil
}

// judge compares a transcript with what was said.
func (d *demo) judge(how string, said []sentence, lines []tool.Line) {
	ref, hyp := map[string][]string{}, map[string][]string{}
	var refs []score.Utterance
	for _, s := range said {
		words := score.Normalize(s.text, "en")
		ref[s.who] = append(ref[s.who], words...)
		refs = append(refs, score.Utterance{Speaker: s.who, Words: words})
	}
	for _, l := range lines {
		if l.Echo {
			continue
		}
		who := "nobody"
		if l.Speaker != nil && l.Speaker.Name != "" {
			who = l.Speaker.Name
		}
		hyp[who] = append(hyp[who], score.Normalize(l.Text, "en")...)
	}
	words, who := score.ORCWER(refs, hyp), score.CPWER(ref, hyp)
	// A word with the wrong name counts twice in CPWER: missing there, too many here.
	wrong := float64(max(0, who.Count()-words.Count())) / 2 / float64(words.Reference)
	d.rows = append(d.rows,
		figures.AtMost("word errors, "+how, "%", 6, 100*words.Rate()).Noted(fmt.Sprintf("%d words", words.Reference)),
		figures.AtLeast("words under the right name, "+how, "%", 95, 100*(1-wrong)))
}

// fetch downloads the recording as a client would and looks at it.
func (d *demo) fetch(ctx context.Context, a *agent, id string) error {
	var l tool.RecordingLink
	if err := a.call(ctx, "recording_get", map[string]any{"meeting_id": id}, &l); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("recording_get's link answers %s", res.Status)
	}
	dir := d.dir
	if d.o.keep != "" {
		dir = d.o.keep
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, id+".ogg")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, res.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	pcm, err := voices.Decode(ctx, path, audio.HearRate)
	if err != nil {
		return err
	}
	seconds := float64(len(pcm)) / audio.HearRate
	if d.o.keep != "" {
		d.say("\n  file   %s: %.1f s, %d kB", path, seconds, n/1000)
		if err := d.keepTranscript(ctx, a, id, strings.TrimSuffix(path, ".ogg")+".md"); err != nil {
			return err
		}
	} else {
		d.say("\n  file   the recording was fetched and played: %.1f s, %d kB (--keep FOLDER keeps it)", seconds, n/1000)
	}
	d.rows = append(d.rows, figures.AtMost("the file's length against what was reported", "s", 0.1, max(seconds-l.Seconds, l.Seconds-seconds)),
		figures.AtMost("recording", "MB/h", 12, float64(n)/1e6/seconds*3600))
	return nil
}

func (d *demo) keepTranscript(ctx context.Context, a *agent, id, path string) error {
	lines, err := d.transcript(ctx, a, id)
	if err != nil {
		return err
	}
	var segs []transcript.Segment
	for _, l := range lines {
		s := transcript.Segment{Seq: transcript.Seq(l.Seq), Start: l.Start, End: l.End, Text: l.Text, Lang: l.Lang}
		if l.Speaker != nil {
			sp := transcript.Speaker(*l.Speaker)
			s.Speaker = &sp
		}
		segs = append(segs, s)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = transcript.Export(f, transcript.Markdown, transcript.Meta{Title: "The demo's meeting"}, segs)
	if err = errors.Join(err, f.Close()); err == nil {
		d.say("  file   %s", path)
	}
	return err
}

// secondMeeting hears the mix only, and somebody objects.
func (d *demo) secondMeeting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	a, err := d.agent(ctx, "second", map[string]string{"PARLEY_TRACK_TAPS": "0"})
	if err != nil {
		return err
	}
	link := d.room.Link(room.NewID())
	d.say("\nA second meeting, heard as one mixed track; Emmy does not want to be recorded.\n")
	p, err := d.party(ctx, link)
	if err != nil {
		return err
	}
	var st tool.Status
	if err := a.call(ctx, "meeting_join", map[string]any{"url": link, "lang": "en"}, &st); err != nil {
		return err
	}
	if err := a.until(ctx, st.Meeting, 30*time.Second, "the bot attends", func(ev tool.Event) bool { return ev.State == tool.Attending }); err != nil {
		return err
	}
	if err := p.talk(ctx, 2, false); err != nil {
		return err
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	lines, err := d.transcript(ctx, a, st.Meeting)
	if err != nil {
		return err
	}
	d.judge("one mixed track", p.said, lines)
	var before tool.Status
	if err := a.call(ctx, "meeting_status", map[string]any{"meeting_id": st.Meeting}, &before); err != nil {
		return err
	}
	d.say("  so far %.1f s are recorded, %d segments written down", before.RecordingSeconds, len(lines))
	const objection = "Please don't record this."
	d.say("  chat   Emmy writes: %s", objection) // said here: its event is gone with the recording
	said := time.Now()
	if err := p.emmy.Say(objection); err != nil {
		return err
	}
	var gone, ended time.Time
	err = a.listen(ctx, st.Meeting, before.Next, func(ev tool.Event) error {
		if ev.Chat == nil || ev.Chat.Own {
			d.show(ev)
		}
		if ev.Optout != nil && ev.Optout.Deleted && gone.IsZero() {
			gone = ev.At
		}
		if ev.End != nil {
			ended = ev.At
		}
		return nil
	})
	if err != nil {
		return err
	}
	if gone.IsZero() || ended.IsZero() {
		return errors.New("the bot did not obey: nothing was deleted, or it did not leave")
	}
	left, err := filepath.Glob(filepath.Join(d.dir, "second", "recordings", "*", st.Meeting+"*"))
	if err != nil {
		return err
	}
	for _, f := range left {
		if !strings.HasSuffix(f, ".deleted") {
			return fmt.Errorf("the bot did not obey: %s is still there", filepath.Base(f))
		}
	}
	if len(left) != 1 {
		return errors.New("there is no marker of the deletion")
	}
	d.say("  file   nothing is left but the marker %s", filepath.Base(left[0]))
	d.rows = append(d.rows,
		figures.AtMost("objection written → recording and text gone", "s", 2, gone.Sub(said).Seconds()),
		figures.AtMost("objection written → the bot has left", "s", 0, ended.Sub(said).Seconds()))
	return nil
}
