// Package segment decides where the speech in one stream begins, pauses and ends, and what is worth decoding when.
//
// It is pure: frames with their speech probability and the answers of models go in, effects come out. Time is the
// stream's own, in samples at 16 kHz, so audio that is heard again after a crash, faster than it was said, is cut
// the same way.
package segment

// Frame is how many samples Machine.Frame takes: 32 ms.
const Frame = 512

const (
	ms     = 16
	second = 1000 * ms
)

// Thresholds and times. Where two numbers make a pair, the gap between them keeps the machine from flickering.
const (
	probOn  = 0.5  // a frame from here on is speech
	probOff = 0.35 // once somebody speaks, from here on still is

	onFrames   = 2 // this many in a row begin speech
	softFrames = 3 // this many between the thresholds resume it after a pause
	minSpeech  = 3 // segments with fewer frames of speech are clicks and coughs

	preroll    = 320 * ms // the model hears an onset up to 170 ms late, and the recogniser wants some air
	pauseAfter = 192 * ms // a pause: worth judging and drafting
	earlyAfter = 256 * ms // the shortest pause that ends a segment whose speaker has finished

	shrinkFrom = 10 * second // from this length on, shorter and shorter pauses end a segment
	shrinkTo   = 24 * second // here earlyAfter is enough
	maxLength  = 28 * second // nothing is longer: the recogniser hears thirty seconds at once
	cutFrom    = 20 * second // a segment without any pause is cut at its quietest place after this

	partialSlow = 8 * second // partials of longer segments come less often: each costs more
	quietEvery  = second     // how often silence is reported
)

// Config of one stream.
type Config struct {
	// Silence is the pause that ends a segment, in samples.
	Silence int64
	// Partials is the pace of partials while somebody speaks, in samples; zero means none.
	Partials int64
	// Early is the end-of-turn probability from which a finished sentence ends its segment before Silence has
	// passed; zero means never.
	Early float64
}

// Kind of a decode.
type Kind int

// The kinds, in the order in which a busy recogniser gives them up.
const (
	Partial Kind = iota // what was said so far
	Draft               // the whole segment, in case the pause is its end
	Final               // the whole segment
)

// Effect is one of Activity, Judge, Decode, Cancel, Close, Quiet, Flushed.
type Effect interface{ effect() }

// Activity says that somebody began or stopped.
type Activity struct {
	On bool
	At int64
}

// Judge asks for the probability that the turn ended with the audio from Start to At: what was said in one go.
type Judge struct{ Start, At int64 }

// Decode asks for the text of a stretch of audio. Speech is how much of it is speech, in samples.
type Decode struct {
	ID, Seg    int64
	Kind       Kind
	Start, End int64
	Speech     int64
	Onset      int64
}

// Cancel takes a draft back: speech went on.
type Cancel struct{ ID int64 }

// Close ends a segment: its text is that of decode ID, which may still be on its way and must not be given up.
// Speech ends at End; everything before Upto is answered by it.
type Close struct {
	ID, Seg          int64
	Start, End, Upto int64
	// Onset is where the speech itself begins; Start lies a little before it.
	Onset int64
}

// Quiet says that before Upto nothing is left to answer.
type Quiet struct{ Upto int64 }

// Flushed says that everything before a flush is closed.
type Flushed struct{ ID int64 }

func (Activity) effect() {}
func (Judge) effect()    {}
func (Decode) effect()   {}
func (Cancel) effect()   {}
func (Close) effect()    {}
func (Quiet) effect()    {}
func (Flushed) effect()  {}

// Machine cuts one stream. It is used by one goroutine.
type Machine struct {
	c       Config
	pos     int64 // the end of the last frame
	floor   int64 // everything before it belongs to what was closed
	told    int64 // up to here quiet was reported
	lastID  int64
	seg     int64 // the number of the segment that is open, or was last
	st      state
	onset   int   // frames in a row from probOn on
	soft    int   // frames in a row from probOff on, in a pause
	onsetAt int64 // where they began

	// The open segment.
	start       int64
	began       int64 // where its speech begins
	speech      int   // frames
	lastSpeech  int64 // the end of its last frame of speech
	energy      []float32
	nextPartial int64
	pause       pause
	out         []Effect
}

type state int

const (
	quiet state = iota
	speaking
	paused
)

// pause is what is known about the pause that lasts.
type pause struct {
	at       int64 // where it was judged
	turn     float64
	judged   bool
	draft    int64 // the id of its draft
	draftEnd int64
	ready    bool // the draft is decoded
	complete bool // and reads like a finished sentence
}

// New begins a stream at a position.
func New(c Config, from int64) *Machine {
	return &Machine{c: c, pos: from, floor: from, told: from}
}

// Pos is the end of what was heard.
func (m *Machine) Pos() int64 { return m.pos }

// Frame takes the next Frame samples and the probability that they are speech. The effects are valid until the next
// call of any method.
func (m *Machine) Frame(pcm []int16, prob float64) []Effect {
	m.out = m.out[:0]
	from := m.pos
	m.pos += Frame
	m.count(from, prob)
	if m.st != quiet {
		m.energy = append(m.energy, power(pcm))
		if m.pos-m.start > maxLength-Frame {
			m.cut()
		}
	}
	switch m.st {
	case quiet:
		m.wait()
	case speaking:
		m.speak(prob)
	case paused:
		m.rest()
	}
	return m.out
}

// count keeps the runs of frames above the thresholds.
func (m *Machine) count(from int64, prob float64) {
	switch {
	case prob >= probOn:
		if m.onset == 0 {
			m.onsetAt = from
		}
		m.onset++
		m.soft++
	case prob >= probOff:
		m.onset = 0
		m.soft++
	default:
		m.onset, m.soft = 0, 0
	}
}

// wait is a frame in silence.
func (m *Machine) wait() {
	if m.onset >= onFrames {
		m.begin()
		return
	}
	if upto := m.pos - preroll - onFrames*Frame; m.onset == 0 && upto-m.told >= quietEvery {
		m.told = upto
		m.emit(Quiet{Upto: upto})
	}
}

// begin opens a segment.
func (m *Machine) begin() {
	m.seg++
	m.st = speaking
	m.start = max(m.onsetAt-preroll, m.floor)
	m.began = m.onsetAt
	m.speech = m.onset
	m.lastSpeech = m.pos
	m.energy = m.energy[:0]
	m.nextPartial = m.onsetAt + m.c.Partials
	m.emit(Activity{On: true, At: m.onsetAt})
}

// speak is a frame while somebody speaks.
func (m *Machine) speak(prob float64) {
	if prob >= probOff {
		m.speech++
		m.lastSpeech = m.pos
	}
	silence := m.pos - m.lastSpeech
	if silence >= pauseAfter {
		m.hush()
		return
	}
	// A partial that starts in what may become a pause would only delay the draft.
	if m.c.Partials > 0 && m.pos >= m.nextPartial && silence < 2*Frame && m.speech >= minSpeech {
		m.nextPartial = m.pos + max(m.c.Partials, m.c.Partials*(m.pos-m.start)/partialSlow)
		m.decode(Partial, m.pos)
	}
}

// hush begins a pause.
func (m *Machine) hush() {
	m.st = paused
	m.soft, m.onset = 0, 0
	m.pause = pause{at: m.pos}
	m.emit(Activity{On: false, At: m.lastSpeech})
	if m.speech < minSpeech {
		return
	}
	m.pause.draftEnd = m.pos
	m.emit(Judge{Start: m.start, At: m.pos})
	m.pause.draft = m.decode(Draft, m.pos)
}

// rest is a frame in a pause.
func (m *Machine) rest() {
	if m.onset >= onFrames || m.soft >= softFrames {
		m.resume()
		return
	}
	m.maybeClose()
}

// resume goes on with the segment after a pause.
func (m *Machine) resume() {
	at := m.onsetAt
	if m.onset < onFrames {
		at = m.pos - int64(m.soft)*Frame
	}
	m.dropDraft()
	m.st = speaking
	m.speech += m.soft
	m.lastSpeech = m.pos
	m.nextPartial = max(m.nextPartial, m.pos+Frame)
	m.emit(Activity{On: true, At: at})
}

// maybeClose ends the segment when its pause is long enough.
func (m *Machine) maybeClose() {
	if m.onset > 0 || m.soft > 0 {
		return // the next frame tells whether somebody speaks again
	}
	silence := m.pos - m.lastSpeech
	if silence >= m.enough() || m.finished() && silence >= earlyAfter {
		m.end(m.pos)
	}
}

// enough is the pause that ends the segment: a long one is glad of any.
func (m *Machine) enough() int64 {
	length := m.lastSpeech - m.start
	shortest := min(m.c.Silence, earlyAfter)
	switch {
	case length <= shrinkFrom:
		return m.c.Silence
	case length >= shrinkTo:
		return shortest
	}
	return m.c.Silence - (m.c.Silence-shortest)*(length-shrinkFrom)/(shrinkTo-shrinkFrom)
}

// finished says that model and text agree that the speaker has said what there was to say.
func (m *Machine) finished() bool {
	return m.c.Early > 0 && m.pause.judged && m.pause.turn >= m.c.Early && m.pause.ready && m.pause.complete
}

// end closes the segment with everything before upto.
func (m *Machine) end(upto int64) {
	switch {
	case m.speech < minSpeech:
		m.dropDraft()
		m.emit(Quiet{Upto: upto})
	case m.pause.draft != 0:
		m.emit(Close{ID: m.pause.draft, Seg: m.seg, Start: m.start, End: m.lastSpeech, Upto: upto, Onset: m.began})
	default:
		id := m.decode(Final, upto)
		m.emit(Close{ID: id, Seg: m.seg, Start: m.start, End: m.lastSpeech, Upto: upto, Onset: m.began})
	}
	m.st = quiet
	m.pause = pause{}
	m.floor, m.told = upto, upto
	m.onset, m.soft = 0, 0
}

// cut divides a segment that does not end.
func (m *Machine) cut() {
	at := m.quietest()
	m.dropDraft()
	after := max(0, int((m.lastSpeech-at)/Frame))
	m.speech = max(minSpeech, m.speech-after)
	id := m.decode(Final, at)
	m.emit(Close{ID: id, Seg: m.seg, Start: m.start, End: at, Upto: at, Onset: m.began})
	m.seg++
	m.energy = append(m.energy[:0], m.energy[len(m.energy)-int((m.pos-at)/Frame):]...)
	m.start, m.began, m.floor, m.told = at, at, at, at
	m.speech = after
	m.nextPartial = m.pos + m.c.Partials
}

// quietest is the middle of the quietest tenth of a second of the part where the segment may be cut.
func (m *Machine) quietest() int64 {
	// energy[i] is that of the frame which ends n-1-i frames before pos.
	n := len(m.energy)
	first := max(n-int((m.pos-m.start-cutFrom)/Frame), 1)
	best, at := float32(-1), m.pos-second/2
	for i := first; i < n-1-second/2/Frame; i++ {
		e := m.energy[i-1] + m.energy[i] + m.energy[i+1]
		if best < 0 || e < best {
			best = e
			at = m.pos - int64(n-1-i)*Frame - Frame/2
		}
	}
	return at
}

// Gap says that nothing was captured until to, which lies after Pos: silence, and more of it than a pause.
func (m *Machine) Gap(to int64) []Effect {
	m.out = m.out[:0]
	if m.st == speaking {
		m.emit(Activity{On: false, At: m.lastSpeech})
	}
	if m.st != quiet {
		m.end(m.pos)
	}
	m.pos, m.floor, m.told = to, to, to
	m.onset, m.soft = 0, 0
	m.emit(Quiet{Upto: to})
	return m.out
}

// Flush ends the segment that is open, whatever is being said.
func (m *Machine) Flush(id int64) []Effect {
	m.out = m.out[:0]
	if m.st == speaking {
		m.emit(Activity{On: false, At: m.lastSpeech})
	}
	if m.st != quiet {
		m.end(m.pos)
	}
	m.emit(Flushed{ID: id})
	return m.out
}

// Judged takes the answer to a Judge.
func (m *Machine) Judged(at int64, turn float64) []Effect {
	m.out = m.out[:0]
	if m.st == paused && m.pause.at == at {
		m.pause.turn, m.pause.judged = turn, true
		m.maybeClose()
	}
	return m.out
}

// Drafted says that a draft was decoded, and whether it reads like a finished sentence.
func (m *Machine) Drafted(id int64, complete bool) []Effect {
	m.out = m.out[:0]
	if m.st == paused && m.pause.draft == id {
		m.pause.ready, m.pause.complete = true, complete
		m.maybeClose()
	}
	return m.out
}

func (m *Machine) decode(k Kind, end int64) int64 {
	m.lastID++
	m.emit(Decode{ID: m.lastID, Seg: m.seg, Kind: k, Start: m.start, End: end, Speech: int64(m.speech) * Frame, Onset: m.began})
	return m.lastID
}

func (m *Machine) dropDraft() {
	if m.pause.draft != 0 {
		m.emit(Cancel{ID: m.pause.draft})
	}
	m.pause = pause{}
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

// power is the mean square of a frame.
func power(pcm []int16) float32 {
	sum := 0.0
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	return float32(sum / float64(max(len(pcm), 1)))
}
