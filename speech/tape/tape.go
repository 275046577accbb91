// Package tape keeps the audio of a stream that no final has answered yet, so that it can be sent again after a lost
// connection.
package tape

// Tape holds at most so many samples; the oldest go first. A long gap between samples takes no memory. It is not safe
// for concurrent use.
type Tape struct {
	limit  int
	spans  []span
	held   int   // samples in spans
	upto   int64 // everything before it is answered
	sent   int64 // everything before it went to the process that runs now
	tried  int64 // everything before it went to some process
	end    int64 // the position after the last sample written
	oldest int64 // the first position after upto that is still held, or will be
}

// span is a run of samples without a gap.
type span struct {
	pos int64
	pcm []int16
}

func (s span) end() int64 { return s.pos + int64(len(s.pcm)) }

// spanSize is how many samples a span holds: small enough that forgetting frees memory soon.
const spanSize = 16000

// shortGap is filled with the silence it stands for, so that a source which often loses a little does not make
// many spans; maxSpans bounds them for one that loses a lot.
const (
	shortGap = 8000
	maxSpans = 128
)

// New makes a tape for so many samples.
func New(limit int) *Tape { return &Tape{limit: limit} }

// End is the position after the last sample written.
func (t *Tape) End() int64 { return t.end }

// Sent is the position before which everything went out.
func (t *Tape) Sent() int64 { return t.sent }

// Upto is the position before which everything is answered.
func (t *Tape) Upto() int64 { return t.upto }

// Write adds samples that begin at pos and says how many were lost to the bound before they were ever sent.
func (t *Tape) Write(pos int64, pcm []int16) (lost int64) {
	if skip := t.end - pos; skip > 0 {
		if skip >= int64(len(pcm)) {
			return 0
		}
		pcm = pcm[skip:]
		pos = t.end
	}
	if gap := pos - t.end; gap > 0 && gap <= shortGap && len(t.spans) > 0 && t.spans[len(t.spans)-1].end() == t.end {
		t.append(t.end, make([]int16, gap))
	}
	t.append(pos, pcm)
	for t.held > t.limit || len(t.spans) > maxSpans {
		cut := t.spans[0].end()
		if over := t.held - t.limit; over > 0 {
			cut = min(cut, t.spans[0].pos+int64(over))
		}
		if unsent := cut - max(t.sent, t.spans[0].pos); unsent > 0 {
			lost += unsent
		}
		t.drop(cut)
	}
	return lost
}

// append adds samples at or after the end.
func (t *Tape) append(pos int64, pcm []int16) {
	t.end = pos + int64(len(pcm))
	t.held += len(pcm)
	for len(pcm) > 0 {
		last := len(t.spans) - 1
		if last < 0 || t.spans[last].end() != pos || len(t.spans[last].pcm) >= spanSize {
			t.spans = append(t.spans, span{pos: pos, pcm: make([]int16, 0, min(len(pcm), spanSize))})
			last++
		}
		n := min(len(pcm), spanSize-len(t.spans[last].pcm))
		t.spans[last].pcm = append(t.spans[last].pcm, pcm[:n]...)
		pos += int64(n)
		pcm = pcm[n:]
	}
}

// Next gives up to n samples that follow what was sent, and marks them sent. ok is false when all was sent.
// The samples are valid until the next Write.
func (t *Tape) Next(n int) (pos int64, pcm []int16, ok bool) {
	for _, s := range t.spans {
		if s.end() <= t.sent {
			continue
		}
		from := max(t.sent, s.pos)
		pcm = s.pcm[from-s.pos:]
		pcm = pcm[:min(len(pcm), n)]
		t.sent = from + int64(len(pcm))
		t.tried = max(t.tried, t.sent)
		return from, pcm, true
	}
	return 0, nil, false
}

// Answered forgets everything before upto; positions never go back.
func (t *Tape) Answered(upto int64) {
	if upto <= t.upto {
		return
	}
	t.upto = upto
	t.drop(upto)
}

// Rewind starts again with a new process and says how much audio it can no longer be given.
func (t *Tape) Rewind() (lost int64) {
	// What was sent and then dropped by the bound lies between the answered part and the oldest sample held.
	if sent := min(t.oldest, t.sent); sent > t.upto {
		lost = sent - t.upto
	}
	t.upto = max(t.upto, min(t.oldest, t.sent))
	t.sent = t.upto
	return lost
}

// Skip gives up everything that was ever sent and not answered, and says how much that is.
func (t *Tape) Skip() (lost int64) {
	lost = max(0, t.tried-t.upto)
	t.Answered(t.tried)
	t.sent = max(t.sent, t.upto)
	return lost
}

// drop forgets the samples before pos.
func (t *Tape) drop(pos int64) {
	t.oldest = max(t.oldest, pos)
	for len(t.spans) > 0 {
		s := &t.spans[0]
		if s.pos >= pos {
			return
		}
		if s.end() > pos {
			n := pos - s.pos
			t.held -= int(n)
			s.pcm = s.pcm[n:]
			s.pos = pos
			return
		}
		t.held -= len(s.pcm)
		t.spans[0] = span{}
		t.spans = t.spans[1:]
	}
}
