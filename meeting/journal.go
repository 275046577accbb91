package meeting

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Journal writes one line per step: what happened, what followed, how long until the next deadline. Kinds, times and
// numbers only: no chat, no speech, no names. parley replay reads it.
type Journal struct {
	w     *bufio.Writer
	start time.Time
	n     int64
	err   error
}

// journalBound is how many lines are kept; a meeting of eight hours with a lively page needs about a tenth.
const journalBound = 1_000_000

// JournalLine is a line of the journal.
type JournalLine struct {
	N     int64          `json:"n"`
	T     int64          `json:"t_ms"` // since the attendance began
	Event string         `json:"ev"`
	Data  map[string]any `json:"d,omitempty"`
	State State          `json:"state"`
	// Effects are kinds, in the order in which they were performed.
	Effects []string `json:"fx,omitempty"`
	// Turn is what the turn engine was told and did, in the form of turn/replay: no words.
	Turn []json.RawMessage `json:"turn,omitempty"`
	// Next is the time until the machine's deadline, in ms.
	Next int64 `json:"next_ms,omitempty"`
}

// NewJournal writes to w, unbuffered per line.
func NewJournal(w io.Writer) *Journal { return &Journal{w: bufio.NewWriter(w)} }

// write adds a line; a nil journal writes nothing, and one whose file broke is silent from then on.
func (j *Journal) write(now time.Time, m *Machine, ev Event, effects []Effect) {
	entries := m.floor.entries()
	if j == nil || j.err != nil || j.n >= journalBound {
		return
	}
	if j.start.IsZero() {
		j.start = now
	}
	if quiet(ev) && len(effects) == 0 && len(entries) == 0 {
		return
	}
	j.n++
	line := JournalLine{N: j.n, T: now.Sub(j.start).Milliseconds(), State: m.State(), Turn: entries}
	line.Event, line.Data = describe(ev)
	for _, e := range effects {
		line.Effects = append(line.Effects, effectName(e))
	}
	if d := m.Deadline(); !d.IsZero() {
		line.Next = d.Sub(now).Milliseconds()
	}
	raw, err := json.Marshal(line)
	if err == nil {
		_, err = j.w.Write(append(raw, '\n'))
	}
	if err == nil {
		err = j.w.Flush()
	}
	j.err = err
}

// quiet events come many times a second and mostly change nothing.
func quiet(ev Event) bool {
	switch ev := ev.(type) {
	case Seen:
		_, speaking := ev.Event.(SeenSpeaking)
		return speaking
	case HeardActivity, HeardTurnEnd, Deadline:
		return true
	}
	return false
}

// describe names an event and gives its numbers; words stay out.
func describe(ev Event) (string, map[string]any) {
	d := map[string]any{}
	fail := func(err error) {
		if err != nil {
			d["failed"] = true
		}
	}
	name := kindName(ev)
	switch ev := ev.(type) {
	case Command:
		d["command"] = ev.Body.Name()
	case Shutdown:
		d["cause"] = "shutdown"
	case Seen:
		name = kindName(ev.Event)
		describeSeen(ev.Event, d)
	case Fault:
		d["part"], d["kind"], d["fatal"] = string(ev.Part), ev.Kind, ev.Fatal
	case Heard:
		d["final"], d["chars"], d["seq"] = ev.Final, len(ev.Segment.Text), int64(ev.Segment.Seq)
	case HeardActivity:
		d["on"] = ev.On
	case Opened:
		fail(ev.Err)
	case Joined:
		fail(ev.Err)
	case ChatSent:
		d["op"], d["to"] = int64(ev.Op), string(ev.Receipt.SentTo)
		fail(ev.Err)
	case MicrophoneSet:
		d["op"], d["device"] = int64(ev.Op), string(ev.Device)
		fail(ev.Err)
	case RecorderStarted:
		fail(ev.Err)
	case RecorderStopped:
		d["seconds"], d["bytes"] = ev.Recorded.Seconds, ev.Recorded.Bytes
		fail(ev.Err)
	case RecordingDeleted:
		d["marked"] = ev.Marked
		fail(ev.Err)
	case TranscriptStarted:
		fail(ev.Err)
	case HeardTurnEnd:
		d["prob"] = ev.Prob
	case SpeechMade:
		d["id"], d["ms"] = ev.ID, ev.Duration.Milliseconds()
	case SpeechStarted:
		d["id"] = ev.ID
	case SpeechReady:
		d["id"], d["ms"] = ev.ID, ev.Duration.Milliseconds()
		fail(ev.Err)
	case SpeechEnded:
		d["id"], d["ms"], d["interrupted"] = ev.ID, ev.Played.Sounded.Milliseconds(), ev.Played.Interrupted
		fail(ev.Err)
	}
	if len(d) == 0 {
		d = nil
	}
	return name, d
}

func describeSeen(ev CallEvent, d map[string]any) {
	switch ev := ev.(type) {
	case SeenPlace:
		d["place"], d["signs"] = string(ev.Place), ev.Signs
		if ev.Reason != "" {
			d["reason"] = ev.Reason
		}
	case SeenLobby:
		d["as"], d["challenge"] = ev.As, ev.Challenge
	case SeenPeople:
		d["count"], d["listed"] = ev.Count, len(ev.People)
	case SeenSpeaking:
		d["n"] = len(ev.IDs) + len(ev.Names)
	case SeenChat:
		d["chars"], d["own"] = len(ev.Text), ev.Own
	case SeenDevice:
		d["mic"], d["camera"] = string(ev.Microphone), string(ev.Camera)
	case SeenDialog:
		d["kind"], d["open"], d["choices"] = ev.Kind, ev.Open, len(ev.Choices)
		if ev.Unsure {
			d["unsure"] = true
		}
	case SeenFault:
		d["part"], d["kind"], d["mended"] = string(ev.Part), ev.Kind, ev.Mended
	}
}

// effectName is the kind of an effect, with what a report is about and what a question asks.
func effectName(e Effect) string {
	name := kindName(e)
	switch e := e.(type) {
	case Tell:
		return name + "." + e.Report.Name()
	case Note:
		return name + "." + e.Entry.What
	case SetMicrophone:
		return fmt.Sprintf("%s.%t", name, e.On)
	case SendChat:
		return name + "." + string(e.To)
	case Answer:
		if e.Body.Error != nil {
			return name + "." + string(e.Body.Error.Code)
		}
	}
	return name
}

func kindName(v any) string {
	s := fmt.Sprintf("%T", v)
	return s[strings.LastIndexByte(s, '.')+1:]
}
