package scribe

import (
	"context"
	"fmt"
	"time"

	"parley/audio"
	"parley/meeting"
	"parley/speech"
	"parley/transcript"
)

// The thresholds of the desk.
const (
	// voiceLevel is the quietest track that can be speech, in dBFS. Comfort noise of a codec lies below.
	voiceLevel = -55.0
	// hangover is how long a track is still written after its last sound, so that the engine sees the pause
	// that ends a segment. It is longer than any pause that may be asked for.
	hangover = 3500 * time.Millisecond
	// unexplained is how long the mix may have speech that no track has before the tracks count as incomplete.
	unexplained = 2 * time.Second
	// idleTrack closes the recogniser of a track that has been quiet.
	idleTrack = 90 * time.Second
	// maxTracks bounds the recogniser streams of one meeting; further participants are heard in the mix.
	maxTracks = 16
	// reviewEvery is how often late signs may correct a speaker.
	reviewEvery = time.Second
	openWithin  = 5 * time.Second
	// onsetKept is how much of a quiet track is written in front of its next sound.
	onsetKept = 300 * time.Millisecond
	// keptFinals is how many finals may still be corrected.
	keptFinals = 512
)

// desk is the scribe's goroutine: it alone owns what follows.
type desk struct {
	s    *Scribe
	next transcript.Seq
	who  *transcript.Attributor
	own  transcript.OwnVoice

	zeroAt  time.Time // when the first sample was heard; zero: none yet
	zeroPos int64

	mix    *line
	tracks map[string]*line
	// useMix says that the words come from the mix. Tracks take over with their first sound, and lose for good
	// when they turn out to be incomplete.
	useMix       bool
	tracksFailed bool
	mixSpoke     time.Duration // how long the mix had speech that no track had
	trackSpoke   time.Time
	lines        int
	onset        map[string][]audio.Frame // by track: the last moment of a quiet one
	finals       map[transcript.Seq]int   // revision of the finals that were given lately
	active       map[*line]bool           // on which somebody is heard
	ended        chan struct{}
	ctx          context.Context
	cancel       context.CancelFunc
}

// line is one stream of the recogniser and what is being said on it.
type line struct {
	track  string // "" is the mix
	person transcript.Person
	stream speech.Stream
	// offset is the position on the meeting's clock of the stream's time zero.
	offset int64
	seq    transcript.Seq // of the segment that is being said; 0: none
	spoke  time.Time
	came   time.Time // when its last frame came
	end    int64     // after what was written
	placed bool
}

func newDesk(s *Scribe) *desk {
	ctx, cancel := context.WithCancel(context.Background())
	return &desk{
		s: s, next: s.o.First, who: transcript.NewAttributor(transcript.AttributorOptions{}),
		tracks: map[string]*line{}, finals: map[transcript.Seq]int{}, onset: map[string][]audio.Frame{}, active: map[*line]bool{}, useMix: true, ctx: ctx, cancel: cancel, ended: make(chan struct{}),
	}
}

// open starts a stream and the goroutine that carries its events here; it ends with the stream.
func (d *desk) open(ctx context.Context, track string, p transcript.Person) (*line, error) {
	label := d.s.o.Label
	if track != "" {
		d.lines++
		label = fmt.Sprintf("%s/%d", label, d.lines)
	}
	stream, err := d.s.o.Transcriber.Open(ctx, speech.StreamOptions{
		Label: label, Lang: d.s.o.Lang, Partials: d.s.o.Partials, Silence: d.s.o.Silence, Words: true,
	})
	if err != nil {
		return nil, err
	}
	l := &line{track: track, person: p, stream: stream}
	go func() {
		for ev := range stream.Events() {
			select {
			case d.s.inbox <- heard{l, ev}:
			case <-d.ended:
				return
			}
		}
		select {
		case d.s.inbox <- heard{l, nil}:
		case <-d.ended:
		}
	}()
	return l, nil
}

// run is the only goroutine that touches the desk.
func (d *desk) run() {
	defer close(d.s.done)
	defer close(d.ended)
	defer d.closeAll()
	defer d.cancel()
	review := time.NewTicker(reviewEvery)
	defer review.Stop()
	for {
		select {
		case <-d.s.quit: // forgetting goes before whatever waits
			return
		default:
		}
		select {
		case <-d.s.quit:
			return
		case <-review.C:
			d.review()
			d.closeIdle()
		case v := <-d.s.inbox:
			if last, ok := v.(stop); ok {
				d.finish(last.ctx)
				return
			}
			d.take(v)
		}
	}
}

func (d *desk) take(v any) {
	switch v := v.(type) {
	case mixed:
		d.mixed(v)
	case meeting.TrackFrame:
		d.track(v)
	case meeting.SeenSpeaking:
		d.shown(v)
	case meeting.SeenCaption:
		d.captioned(v)
	case meeting.SeenPeople:
		for _, p := range v.People {
			person := transcript.Person{ID: p.ID, Name: p.Name}
			if p.Self {
				d.who.Self(person)
			} else {
				d.who.Know(person)
			}
		}
	case said:
		if from, ok := d.since(v.at); ok {
			d.own.Said(from, from+v.length, v.text)
		}
	case silenced:
		if at, ok := d.since(v.at); ok {
			d.own.Stopped(at)
		}
	case heard:
		d.heard(v.from, v.ev)
	}
}

// since turns a moment into a time on the meeting's clock.
func (d *desk) since(at time.Time) (time.Duration, bool) {
	if d.zeroAt.IsZero() {
		return 0, false
	}
	return at.Sub(d.zeroAt), true
}

func samples(t time.Duration) int64    { return int64(t) * audio.HearRate / int64(time.Second) }
func duration(n int64) time.Duration   { return time.Duration(n) * time.Second / audio.HearRate }
func inSeconds(n int64) float64        { return float64(n*1000/audio.HearRate) / 1000 }
func length(pcm []int16) time.Duration { return duration(int64(len(pcm))) }

func (d *desk) mixed(m mixed) {
	if d.zeroAt.IsZero() {
		d.zeroAt, d.zeroPos = m.at.Add(-length(m.pcm)), m.pos
		if d.s.o.OnBegin != nil {
			d.s.o.OnBegin(d.zeroAt)
		}
	}
	loud := audio.RMS(m.pcm) > voiceLevel
	if loud {
		d.s.count(func(c *Stats) { c.LastSpoken = m.at })
	}
	if !d.useMix {
		// A track that is missing would lose words for ever, so that the mix takes over as soon as it has speech
		// which no track explains.
		if loud && m.at.Sub(d.trackSpoke) > time.Second {
			d.mixSpoke += length(m.pcm)
		} else if loud {
			d.mixSpoke = 0
		}
		if d.mixSpoke < unexplained {
			return
		}
		d.useMix, d.tracksFailed = true, true
		d.s.count(func(c *Stats) { c.FromTracks = false })
	}
	if d.mix != nil {
		d.write(d.mix, m.pos-d.zeroPos, m.pcm)
	}
}

// track takes sound of one participant: for names always, for words unless the mix is used.
func (d *desk) track(t meeting.TrackFrame) {
	if d.zeroAt.IsZero() || len(t.PCM) == 0 {
		return // nothing was recorded yet, so that nothing is written down either
	}
	end, _ := d.since(t.At)
	from := end - length(t.PCM)
	if from < 0 {
		return
	}
	level := audio.RMS(t.PCM)
	person := transcript.Person{ID: t.Participant, Name: t.Name}
	loud := level > voiceLevel
	if loud {
		d.trackSpoke = t.At
		d.s.count(func(c *Stats) { c.LastSpoken = t.At })
		d.who.Voice(person, from, end, level-voiceLevel+1)
	}
	if d.s.o.MixOnly || d.tracksFailed {
		return
	}
	l := d.tracks[t.Track]
	if l == nil {
		if !loud {
			d.remember(t)
			return
		}
		if len(d.tracks) >= maxTracks {
			return // unexplained sound brings the mix back
		}
		ctx, cancel := context.WithTimeout(d.ctx, openWithin)
		var err error
		l, err = d.open(ctx, t.Track, person)
		cancel()
		if err != nil {
			d.fault(err)
			d.tracksFailed, d.useMix = true, true
			return
		}
		d.tracks[t.Track] = l
		if d.useMix {
			d.useMix = false
			d.s.count(func(c *Stats) { c.FromTracks = true })
		}
		d.countStreams()
	}
	if t.Name != "" || t.Participant != "" {
		l.person = person
	}
	if loud {
		l.spoke = t.At
	}
	// What follows a silence is placed on the clock anew, so that a track's own clock cannot drift away. One whose
	// participant was muted, or came again, gives nothing meanwhile and does not count it either.
	if t.At.Sub(l.came) > hangover {
		l.placed = false
	}
	l.came = t.At
	if t.At.Sub(l.spoke) > hangover {
		l.placed = false
		d.remember(t)
		return
	}
	if !l.placed {
		l.offset = max(samples(from), l.end) - t.Pos // what lies before the end would be lost
		l.placed = true
		for _, f := range d.onset[t.Track] {
			if pos := f.Pos + l.offset; pos >= 0 && f.End() <= t.Pos {
				d.write(l, pos, f.PCM)
			}
		}
		delete(d.onset, t.Track)
	}
	d.write(l, t.Pos+l.offset, t.PCM)
}

// write gives sound to a line's recogniser and counts it: that is what a paid one costs by.
func (d *desk) write(l *line, pos int64, pcm []int16) {
	err := l.stream.Write(pos, pcm)
	l.end = max(l.end, pos+int64(len(pcm)))
	if err == nil {
		d.s.count(func(c *Stats) { c.Streamed += length(pcm) })
	}
	d.fault(err)
}

// remember keeps the last moment of a quiet track: words begin softly.
func (d *desk) remember(t meeting.TrackFrame) {
	if _, known := d.onset[t.Track]; !known && len(d.onset) >= maxTracks {
		return
	}
	f := append(d.onset[t.Track], audio.Frame{Pos: t.Pos, PCM: t.PCM, At: t.At})
	for len(f) > 1 && t.At.Sub(f[0].At) > onsetKept {
		f = f[1:]
	}
	d.onset[t.Track] = f
}

// Captions come one to two seconds behind the voice; a line that grew was said in about this stretch.
const captionFrom, captionTo = 2200 * time.Millisecond, 600 * time.Millisecond

func (d *desk) captioned(v meeting.SeenCaption) {
	if at, ok := d.since(v.At); ok && at > captionTo {
		d.who.Captioned(transcript.Person{ID: v.ID, Name: v.Name}, max(at-captionFrom, 0), at-captionTo)
	}
}

func (d *desk) shown(v meeting.SeenSpeaking) {
	at, ok := d.since(v.At)
	if !ok {
		return
	}
	people := make([]transcript.Person, 0, len(v.IDs))
	for i, id := range v.IDs {
		p := transcript.Person{ID: id}
		if i < len(v.Names) {
			p.Name = v.Names[i]
		}
		people = append(people, p)
	}
	if len(v.IDs) == 0 {
		for _, name := range v.Names {
			people = append(people, transcript.Person{Name: name})
		}
	}
	d.who.Shown(at, people)
}

// heard takes what the recogniser says of a line.
func (d *desk) heard(l *line, ev speech.Event) {
	switch ev := ev.(type) {
	case speech.Partial:
		if ev.Text == "" {
			return
		}
		seg := d.segment(l, ev.Start, ev.End, ev.Text, ev.Lang)
		seq := seg.Seq
		seg.Seq = 0 // the attributor remembers numbered segments for corrections; a partial needs none
		seg = d.judge(l, seg)
		seg.Seq = seq
		d.give(seg, false)
	case speech.Final:
		if ev.Text == "" {
			l.seq = 0
			return
		}
		seg := d.segment(l, ev.Start, ev.End, ev.Text, ev.Lang)
		for _, w := range ev.Words {
			seg.Words = append(seg.Words, transcript.Word{Text: w.Text, Start: inSeconds(w.Start), End: inSeconds(w.End)})
		}
		seg.Echo = d.own.Heard(duration(ev.Start), duration(ev.End), ev.Text).Suspected
		l.seq = 0
		d.s.count(func(c *Stats) { c.Segments++; c.Lag = ev.Lag })
		d.finals[seg.Seq] = 0
		delete(d.finals, seg.Seq-keptFinals)
		d.give(d.judge(l, seg), true)
	case speech.Activity:
		d.activity(l, ev.On, duration(ev.At))
	case speech.TurnEnd:
		if d.s.o.OnTurnEnd != nil {
			d.s.o.OnTurnEnd(duration(ev.At), ev.Prob)
		}
	case speech.Fault:
		if d.s.o.OnFault != nil {
			d.s.o.OnFault(ev.Kind, ev.Fatal && l == d.mix, ev.Err)
		}
	case nil:
		at, _ := d.since(time.Now())
		d.activity(l, false, at)
		if l.track != "" && d.tracks[l.track] == l {
			delete(d.tracks, l.track)
			d.countStreams()
		}
	}
}

// activity tells when the first of all lines begins to be heard, and when the last one ends.
func (d *desk) activity(l *line, on bool, at time.Duration) {
	before := len(d.active) > 0
	if on {
		d.active[l] = true
	} else {
		delete(d.active, l)
	}
	if now := len(d.active) > 0; now != before && d.s.o.OnActivity != nil {
		d.s.o.OnActivity(now, at)
	}
}

// segment numbers what is being said on a line with its first word, so that a partial carries the number of its final.
func (d *desk) segment(l *line, start, end int64, text, lang string) transcript.Segment {
	if l.seq == 0 {
		l.seq = d.next
		d.next++
	}
	return transcript.Segment{Seq: l.seq, Start: inSeconds(start), End: inSeconds(end), Text: text, Lang: lang}
}

func (d *desk) judge(l *line, s transcript.Segment) transcript.Segment {
	if l.track != "" {
		return d.who.Track(s, l.person)
	}
	return d.who.Judge(s)
}

func (d *desk) give(s transcript.Segment, final bool) { d.s.o.OnSegment(s, final) }

// review corrects speakers by signs that came late.
func (d *desk) review() {
	now, ok := d.since(time.Now())
	if !ok {
		return
	}
	for _, s := range d.who.Review(now) {
		rev, given := d.finals[s.Seq]
		if !given {
			continue
		}
		s.Rev = rev + 1
		d.finals[s.Seq] = s.Rev
		d.give(s, true)
	}
}

func (d *desk) closeIdle() {
	for track, l := range d.tracks {
		if l.seq == 0 && time.Since(l.spoke) > idleTrack {
			delete(d.tracks, track)
			_ = l.stream.Close() // its goroutine tells nothing more of it
			d.countStreams()
		}
	}
}

// finish ends what is being said on every line and takes the finals. Each line is flushed, then closed, and
// is over when its last event came here.
func (d *desk) finish(ctx context.Context) {
	open := map[*line]bool{}
	if d.mix != nil {
		open[d.mix] = true
	}
	for _, l := range d.tracks {
		open[l] = true
	}
	for l := range open {
		go func() {
			_ = l.stream.Flush(ctx) // when ctx is over the words are lost, and the caller knows by ctx
			_ = l.stream.Close()
		}()
	}
	for len(open) > 0 {
		select {
		case v := <-d.s.inbox:
			if h, ok := v.(heard); ok && h.ev == nil {
				delete(open, h.from)
			}
			d.take(v)
		case <-ctx.Done():
			return
		case <-d.s.quit:
			return
		}
	}
	d.review()
}

func (d *desk) closeAll() {
	if d.mix != nil {
		_ = d.mix.stream.Close()
	}
	for _, l := range d.tracks {
		_ = l.stream.Close()
	}
	d.who.Forget()
	d.own.Forget()
	d.s.count(func(c *Stats) { c.Streams = 0 })
}

// fault reports an error of a write; the stream itself reports the rest.
func (d *desk) fault(err error) {
	if err != nil && d.s.o.OnFault != nil {
		d.s.o.OnFault(speech.KindOf(err), false, err)
	}
}

func (d *desk) countStreams() { d.s.count(func(c *Stats) { c.Streams = len(d.tracks) + 1 }) }
