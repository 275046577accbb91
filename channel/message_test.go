package channel

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/transcript"
	"parley/turn"
)

var when = time.Date(2026, 11, 30, 13, 20, 11, 0, time.UTC)

func tell(t *testing.T, c *Conversation, eff turn.Effect) (Message, string) {
	t.Helper()
	m, ok := c.Tell(when, eff)
	if !ok {
		t.Fatalf("%T is no message", eff)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Message
	if err := json.Unmarshal(b, &back); err != nil || back.ID != m.ID {
		t.Fatalf("it does not cross a pipe: %v", err)
	}
	return m, string(b)
}

func TestATurnBecomesAMessage(t *testing.T) {
	c := NewConversation("m1", "meet")
	m, js := tell(t, c, turn.Deliver{Turn: turn.Turn{Seq: 8, Merged: []transcript.Seq{7, 8}, Extends: 6, Text: "Can you?", Lang: "en",
		Speaker: &transcript.Speaker{ID: "p1", Name: "Ada"}, Start: time.Second, End: 2 * time.Second, Held: 300 * time.Millisecond, Draft: turn.DraftNone}})
	if m.ID != "m1:8" || m.Channel != "parley:meeting:m1" || m.Thread != "m1" || m.Author != (Author{"speaker:p1", "Ada"}) {
		t.Errorf("%+v", m)
	}
	for _, want := range []string{`"seq":8`, `"turn_seq":8`, `"merged_seqs":[7,8]`, `"extends_turn":6`, `"start_s":1`, `"end_s":2`, `"held_ms":300`,
		`"final":true`, `"lang":"en"`, `"platform":"meet"`, `"meeting_id":"m1"`, `"draft":"none"`, "parley:meeting-transcript", "parley:meeting=m1", "chat:from-human"} {
		if !strings.Contains(js, want) {
			t.Errorf("%s is not in %s", want, js)
		}
	}
	if len(m.Text) != 1 || m.Partial {
		t.Errorf("%+v", m)
	}
}

func TestAuthors(t *testing.T) {
	for _, c := range []struct {
		s    *transcript.Speaker
		want Author
	}{
		{nil, Author{"meeting", "Meeting"}},
		{&transcript.Speaker{}, Author{"meeting", "Meeting"}},
		{&transcript.Speaker{Name: "Ada"}, Author{"speaker:Ada", "Ada"}},
		{&transcript.Speaker{ID: "p1"}, Author{"speaker:p1", "Meeting"}},
		{&transcript.Speaker{ID: "p1", Name: "Ada"}, Author{"speaker:p1", "Ada"}},
	} {
		if got := authorOf(c.s); got != c.want {
			t.Errorf("%+v: %+v", c.s, got)
		}
	}
}

func TestWhatBecameOfTheDraftIsSaidInWords(t *testing.T) {
	c := NewConversation("m1", "meet")
	m, _ := tell(t, c, turn.Deliver{Turn: turn.Turn{Seq: 1, Text: "When?", Draft: turn.DraftSpoken, DraftText: "On Monday."}})
	if len(m.Text) != 2 || !strings.Contains(m.Text[1], "On Monday.") || m.Metadata.DraftText != "On Monday." {
		t.Errorf("%+v", m)
	}
	m, _ = tell(t, c, turn.Deliver{Turn: turn.Turn{Seq: 2, Text: "When?", Draft: turn.DraftDropped, DraftWhy: turn.WhyNegation}})
	if len(m.Text) != 2 || !strings.Contains(m.Text[1], "negation") || m.Metadata.DraftWhy != "negation" {
		t.Errorf("%+v", m)
	}
}

func TestIDsAreNeverUsedAgain(t *testing.T) {
	c := NewConversation("m1", "meet")
	seen := map[string]bool{}
	put := func(eff turn.Effect) {
		m, _ := tell(t, c, eff)
		if seen[m.ID] {
			t.Errorf("%s twice", m.ID)
		}
		seen[m.ID] = true
	}
	for i := range 300 {
		put(turn.DeliverPartial{Seq: transcript.Seq(i / 3), Text: "x"})
		put(turn.Extended{Turn: 1})
		put(turn.SpeechEnded{BargeIn: true})
	}
	put(turn.Deliver{Turn: turn.Turn{Seq: 5, Merged: []transcript.Seq{5}, Text: "x"}})
	put(turn.Deliver{Turn: turn.Turn{Seq: 5, Extends: 5, Merged: []transcript.Seq{5}, Text: "x"}})
	put(turn.Deliver{Turn: turn.Turn{Seq: 5, Extends: 5, Merged: []transcript.Seq{5}, Text: "x"}})
	put(turn.DeliverPartial{Seq: 5, Text: "x"})
}

func TestReopenedAndInterrupted(t *testing.T) {
	c := NewConversation("m1", "meet")
	m, js := tell(t, c, turn.Extended{Turn: 3, TurnText: "Can you?", SoFar: "on Thurs", Speaker: &transcript.Speaker{Name: "Ada"}})
	if m.Author != Us || !strings.Contains(js, `"turn_text":"Can you?"`) || !strings.Contains(js, `"text_so_far":"on Thurs"`) || m.Tags[0] != TagExtended {
		t.Error(js)
	}
	m, js = tell(t, c, turn.SpeechEnded{BargeIn: true, Said: "It is", Unsaid: "late.", By: &transcript.Speaker{Name: "Ada"}})
	if m.Author != Us || !strings.Contains(m.Text[0], `interrupted at "It is"`) || !strings.Contains(js, `"unsaid":"late."`) || m.Tags[0] != TagInterrupted {
		t.Error(js)
	}
	for _, eff := range []turn.Effect{turn.SpeechEnded{State: turn.SpeechDone}, turn.Say{}, turn.Prepare{}, turn.MarkEcho{}} {
		if _, ok := c.Tell(when, eff); ok {
			t.Errorf("%T is a message", eff)
		}
	}
	m, _ = tell(t, c, turn.Deliver{Turn: turn.Turn{Seq: 4, Text: "ours", Echo: true}})
	if !m.Metadata.Echo || strings.Contains(strings.Join(m.Tags, " "), "from-human") {
		t.Errorf("an echo is somebody's: %+v", m)
	}
}

func TestReceipts(t *testing.T) {
	r := ReceiptOf(turn.PublishAnswer{Delivered: true, Message: 3, Superseded: true, Turn: 1, LastTurn: 2, PrefixSkipped: true})
	if r.MessageID != "say-3" || !r.Delivered || !r.Superseded || r.Turn != 1 || r.LastTurn != 2 || !r.PrefixSkipped {
		t.Errorf("%+v", r)
	}
	r = ReceiptOf(turn.PublishAnswer{Dropped: true, Reason: turn.ReasonSuperseded})
	if r.MessageID != "" || r.Delivered || !r.Dropped || r.Reason == "" {
		t.Errorf("%+v", r)
	}
	if e := Ended(); e.Delivered || e.Reason == "" || e.MessageID != "" {
		t.Errorf("%+v", e)
	}
}

func TestInbox(t *testing.T) {
	var b Inbox
	partial := func(seq int, text string) Message {
		return Message{Partial: true, Text: []string{text}, Metadata: Metadata{Seq: transcript.Seq(seq)}}
	}
	final := func(seq int, merged ...transcript.Seq) Message {
		return Message{Text: []string{"final"}, Metadata: Metadata{Seq: transcript.Seq(seq), MergedSeqs: merged}}
	}
	b.Put(partial(1, "a"))
	b.Put(partial(1, "a b"))
	list, next, lost := b.After(0, 0)
	if len(list) != 1 || list[0].Text[0] != "a b" || next != 2 || lost {
		t.Fatalf("%+v %d %v", list, next, lost)
	}
	b.Put(partial(2, "c"))
	b.Put(final(2, 1, 2))
	if list, next, _ = b.After(next, 0); len(list) != 1 || list[0].Partial || next != 4 {
		t.Fatalf("%+v %d", list, next)
	}
	if list, next, _ = b.After(99, 0); len(list) != 0 || next != 4 {
		t.Errorf("a cursor from the future: %+v %d", list, next)
	}
	for i := range 3 * inboxSize {
		b.Put(final(100 + i))
	}
	if len(b.list) > inboxSize {
		t.Errorf("%d messages wait", len(b.list))
	}
	list, next, lost = b.After(4, 10)
	if !lost || len(list) != 10 {
		t.Errorf("lost %v, %d messages", lost, len(list))
	}
	seen := len(list)
	for len(list) > 0 {
		list, next, lost = b.After(next, 10)
		seen += len(list)
		if lost {
			t.Error("lost again")
		}
	}
	if seen != inboxSize {
		t.Errorf("read %d", seen)
	}
	b.Forget()
	if list, _, _ := b.After(0, 0); len(list) != 0 {
		t.Error("words are still there")
	}
}
