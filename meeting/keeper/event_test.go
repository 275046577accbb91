package keeper

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"parley/meeting/wire"
	"parley/store"
	"parley/tenant"
	"parley/transcript"
)

func chatEvent(n int) Event {
	return Event{Meeting: "m", Report: wire.Report{At: int64(n), Chat: &wire.Chat{N: int64(n), Text: strconv.Itoa(n)}}}
}

func partial() Event {
	return Event{Report: wire.Report{Transcript: &wire.Transcript{Segment: transcript.Segment{Text: "secret"}}}}
}

func final(seq int) Event {
	return Event{Report: wire.Report{Transcript: &wire.Transcript{Final: true, Segment: transcript.Segment{Seq: transcript.Seq(seq), Text: "secret", Words: []transcript.Word{{Text: "secret"}}}}}}
}

func TestEventLog(t *testing.T) {
	var l eventLog
	for n := 1; n <= 5; n++ {
		ev := chatEvent(n)
		l.add(&ev)
		if ev.Cursor != int64(n) {
			t.Errorf("cursor %d, want %d", ev.Cursor, n)
		}
	}
	for _, c := range []struct {
		since  int64
		limit  int
		want   string
		missed bool
	}{
		{0, 0, "12345", false}, {2, 0, "345", false}, {2, 2, "34", false}, {5, 0, "", false}, {9, 0, "", false}, {-3, 1, "1", true},
	} {
		got, missed := l.since(c.since, c.limit)
		s := ""
		for _, ev := range got {
			s += ev.Report.Chat.Text
		}
		if s != c.want || missed != c.missed {
			t.Errorf("since %d limit %d: %q %t", c.since, c.limit, s, missed)
		}
	}
}

// Of a transcript the service keeps the numbers; the words are in the file alone.
func TestEventLogKeepsNoSpeech(t *testing.T) {
	var l eventLog
	p, f := partial(), final(7)
	l.add(&p)
	l.add(&f)
	got, _ := l.since(0, 0)
	if len(got) != 1 || got[0].Report.Transcript.Segment.Seq != 7 {
		t.Fatalf("%+v", got)
	}
	if s := got[0].Report.Transcript.Segment; s.Text != "" || s.Words != nil {
		t.Errorf("words are kept: %+v", s)
	}
	if f.Report.Transcript.Segment.Text != "secret" || f.Cursor != 1 || p.Cursor != 0 {
		t.Error("what is passed on lost its words, or a partial was numbered")
	}
}

func TestEventLogIsBounded(t *testing.T) {
	var l eventLog
	const n = 5000
	for i := 1; i <= n; i++ {
		ev := chatEvent(i)
		l.add(&ev)
	}
	if len(l.events) > eventBound || len(l.chat) > chatBound {
		t.Errorf("%d events, %d messages", len(l.events), len(l.chat))
	}
	got, missed := l.since(0, 1)
	if !missed || got[0].Cursor != l.next-int64(len(l.events))+1 {
		t.Errorf("missed %t, first %d", missed, got[0].Cursor)
	}
	if got, missed := l.since(n-1, 0); missed || len(got) != 1 || got[0].Report.Chat.N != n {
		t.Errorf("the newest: %v %t", got, missed)
	}
	if l.lost+int64(len(l.chat)) != n {
		t.Errorf("%d lost and %d kept of %d", l.lost, len(l.chat), n)
	}
}

func TestWatchersThatAreSlow(t *testing.T) {
	var h hub
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ch := h.watch(ctx, true)
	h.publish(chatEvent(0)) // taken by the goroutine, which waits with it
	time.Sleep(10 * time.Millisecond)
	for i := 1; i <= listenBound; i++ {
		if i%2 == 0 {
			h.publish(partial())
		} else {
			h.publish(chatEvent(i))
		}
	}
	for i := listenBound + 1; i <= listenBound+600; i++ {
		h.publish(chatEvent(i)) // partials make room, then the oldest
	}
	h.publish(partial()) // finds no room
	h.close()
	var got []int64
	for ev := range ch {
		if ev.Partial() {
			t.Error("a partial stayed although events were lost")
			continue
		}
		got = append(got, ev.Report.Chat.N)
	}
	if len(got) < listenBound || got[len(got)-1] != listenBound+600 {
		t.Errorf("%d events, the last %d", len(got), got[len(got)-1])
	}
	for i := 1; i < len(got); i++ {
		if got[i] <= got[i-1] {
			t.Fatalf("out of order: %d after %d", got[i], got[i-1])
		}
	}
	if h.lost < 600 || h.lost > 602 {
		t.Errorf("%d counted as lost", h.lost)
	}
}

func TestTheFirstWatcherHearsWhatCameBefore(t *testing.T) {
	var h hub
	h.publish(chatEvent(1))
	c := h.watch(t.Context(), false) // of conversations: it takes nothing away
	a, b := h.watch(t.Context(), true), h.watch(t.Context(), true)
	h.publish(chatEvent(2))
	h.close()
	read := func(ch <-chan Event) (s string) {
		for ev := range ch {
			s += ev.Report.Chat.Text
		}
		return s
	}
	if x, y, z := read(a), read(b), read(c); x != "12" || y != "2" || z != "2" {
		t.Errorf("%q, %q, %q", x, y, z)
	}
}

func TestMessagesOfTheChannelAreKeptForAWhileAndForgotten(t *testing.T) {
	var l eventLog
	told := func() (n int) {
		for _, e := range l.events {
			if e.Report.Message != nil {
				n++
			}
		}
		return n
	}
	for range toldBound + 10 {
		ev := Event{Report: wire.Report{Message: &wire.Told{Body: []byte(`{}`)}}}
		l.add(&ev)
	}
	if got := told(); got != toldBound {
		t.Errorf("%d messages have their words, want the last %d", got, toldBound)
	}
	partial := Event{Report: wire.Report{Message: &wire.Told{Partial: true}}}
	if l.add(&partial); partial.Cursor != 0 {
		t.Error("unfinished text is remembered")
	}
	extended := Event{Report: wire.Report{TurnExtended: &wire.TurnExtended{TurnSeq: 7, TurnText: "so", SoFar: "well"}}}
	l.add(&extended)
	l.forgetText()
	events, _ := l.since(0, 0)
	for _, e := range events {
		if e.Report.Message != nil {
			t.Fatal("a message kept its words")
		}
	}
	if last := events[len(events)-1].Report.TurnExtended; *last != (wire.TurnExtended{TurnSeq: 7}) {
		t.Errorf("a reopened turn kept its words: %+v", last)
	}
}

func TestTheBeginningOfAConversationIsNotLost(t *testing.T) {
	w := &watcher{queue: []Event{{Report: wire.Report{Channel: &wire.Channel{Open: true}}}, {Cursor: 2}, {Cursor: 3}}}
	w.makeRoom()
	if len(w.queue) != 2 || w.queue[0].Report.Channel == nil || w.queue[1].Cursor != 3 {
		t.Errorf("the queue is %+v", w.queue)
	}
}

// Another service on the same data folder knows a meeting by its row alone.
func TestTheRowSaysWhenRecordingBeginsAndEnds(t *testing.T) {
	a := &attendance{changed: make(chan struct{}), dirty: make(chan struct{}, 1), row: store.Meeting{ID: "m1", Tenant: "me"}}
	a.k = &Keeper{byID: map[string]*attendance{"m1": a}}
	for _, c := range []struct {
		name   string
		status wire.Status
		saved  bool
	}{
		{"before recording", wire.Status{State: "attending"}, false},
		{"recording begins", wire.Status{State: "attending", Recording: true}, true},
		{"it goes on", wire.Status{State: "attending", Recording: true, RecordingSeconds: 4}, false},
		{"it is closed", wire.Status{State: "attending", RecordingClosed: true, RecordingSeconds: 4}, true},
		{"nothing new", wire.Status{State: "attending", RecordingClosed: true, RecordingSeconds: 4}, false},
		{"it is deleted", wire.Status{State: "attending", Deleted: true}, true},
	} {
		a.reported(wire.Report{Status: &c.status})
		saved := false
		select {
		case <-a.dirty:
			saved = true
		default:
		}
		if saved != c.saved {
			t.Errorf("%s: the row is to be written: %v, want %v", c.name, saved, c.saved)
		}
	}
}

func TestUnfinishedSpeechIsForThoseWhoListenNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &attendance{changed: make(chan struct{}), row: store.Meeting{ID: "m1", Tenant: "me"}}
		k := &Keeper{byID: map[string]*attendance{"m1": a}}
		a.k = k
		seq := int64(0)
		say := func(ev Event) { // as the meeting's process reports it
			seq++
			ev.Report.Seq = seq
			a.reported(ev.Report)
		}
		say(partial()) // before anybody listened
		heard := func(listen func(context.Context, tenant.ID, string, int64, int, time.Duration) (Heard, error), meanwhile func()) Heard {
			t.Helper()
			got := make(chan Heard)
			go func() {
				h, err := listen(t.Context(), "me", "m1", 0, 10, time.Minute)
				if err != nil {
					t.Error(err)
				}
				got <- h
			}()
			synctest.Wait()
			meanwhile()
			return <-got
		}
		if h := heard(k.ListenLive, func() { say(partial()) }); len(h.Events) != 1 || !h.Events[0].Partial() || h.Events[0].Report.Transcript.Segment.Text != "secret" || h.Next != 0 {
			t.Errorf("%+v", h)
		}
		if h := heard(k.ListenLive, func() {}); len(h.Events) != 0 {
			t.Errorf("it is told twice: %+v", h)
		}
		if h := heard(k.Listen, func() { say(partial()) }); len(h.Events) != 0 {
			t.Errorf("nobody asked for it: %+v", h)
		}
		if h := heard(k.ListenLive, func() { say(final(1)) }); len(h.Events) != 1 || h.Events[0].Partial() || h.Next != 1 {
			t.Errorf("%+v", h)
		}
		say(partial())
		if a.log.forgetText(); a.log.unfinished != nil {
			t.Error("its words were not forgotten")
		}
	})
}
