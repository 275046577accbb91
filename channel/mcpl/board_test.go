package mcpl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channel"
)

// meetings is the other side of a board.
type meetings struct {
	mu      sync.Mutex
	log     []string
	chars   int           // of all chunks
	hang    chan struct{} // what calls wait for; nil: nothing
	only    string        // the meeting that hangs; empty: all
	receipt channel.Receipt
	err     error
	prefers channel.Preferences
	updates chan channel.Update
}

func newMeetings() *meetings {
	return &meetings{updates: make(chan channel.Update), receipt: channel.Receipt{Delivered: true, MessageID: "say-1"}, prefers: channel.Preferences{Channel: true}}
}

func (m *meetings) Converse(ctx context.Context) <-chan channel.Update {
	out := make(chan channel.Update)
	go func() {
		defer close(out)
		for {
			select {
			case u := <-m.updates:
				out <- u
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (m *meetings) did(ctx context.Context, meeting, what string) error {
	if m.hang != nil && (m.only == "" || m.only == meeting) {
		select {
		case <-m.hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, meeting+" "+what)
	return nil
}

func (m *meetings) Publish(ctx context.Context, _, meeting string, p channel.Publication) (channel.Receipt, error) {
	if m.err != nil {
		return channel.Receipt{}, m.err
	}
	return m.receipt, m.did(ctx, meeting, "publish "+p.Text)
}

func (m *meetings) Chunk(ctx context.Context, _, meeting string, c channel.Chunk) error {
	err := m.did(ctx, meeting, fmt.Sprintf("chunk %s %d", c.Stream, c.Index))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.chars += len(c.Delta)
	return err
}

func (m *meetings) Complete(ctx context.Context, _, meeting string, c channel.Completion) error {
	return m.did(ctx, meeting, fmt.Sprintf("complete %s %v", c.Stream, c.Cancelled))
}

func (m *meetings) Draft(context.Context, string, string, channel.Drafted) (channel.DraftReceipt, error) {
	return channel.DraftReceipt{}, errors.ErrUnsupported
}

func (m *meetings) Prefers(string) channel.Preferences { return m.prefers }

func (m *meetings) did1() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.log...)
}

// host is a connection with a grant of all channels.
type host struct {
	*wire
	s    *Session
	gone func()
	next int
}

func connect(b *Board, tenant string) *host {
	h := &host{wire: &wire{}}
	changed := func() {}
	h.s = NewSession(Options{Manifest: Manifest{Paths: ChannelPaths}, Handlers: b.Handlers()}, h.enqueue, func() { changed() })
	changed, h.gone = b.Attach(h.s, tenant)
	h.s.Offer(Host{Version: "0.5"})
	h.s.Initialized()
	h.grant("channels.*")
	return h
}

func (h *host) grant(paths ...string) {
	raw, _ := json.Marshal(map[string]any{"effectiveCapabilities": paths})
	h.s.Receive(json.RawMessage("0"), "featureSets/update", raw)
	h.written()
}

func (h *host) close() { h.gone(); h.s.Close() }

// ask sends a request. What is written of it, now or later, written gives.
func (h *host) ask(method, params string) {
	h.next++
	h.s.Receive(json.RawMessage(fmt.Sprint(h.next)), method, json.RawMessage(params))
}

// send sends a request that is answered at once, and gives what was written by then.
func (h *host) send(method, params string) []string {
	h.ask(method, params)
	return h.written()
}

// take accepts the nth request of ours.
func (h *host) take(n int, id string) {
	h.s.Response(fmt.Sprint("x-", n), json.RawMessage(fmt.Sprintf(`{"results":[{"id":%q,"accepted":true}]}`, id)), nil)
}

func ch(meeting string) channel.Channel {
	return channel.Channel{ID: channel.ID(meeting), Tenant: "me", Meeting: meeting, Speculative: true}
}

// opened is a board with a host that has taken the channels of the meetings.
func opened(t *testing.T, m *meetings, names ...string) (*Board, *host) {
	t.Helper()
	b := NewBoard(BoardOptions{Meetings: m})
	h := connect(b, "me")
	for i, name := range names {
		if err := b.Begin(ch(name)); err != nil {
			t.Fatal(err)
		}
		h.take(i+1, channel.ID(name))
	}
	h.written()
	return b, h
}

func publishTo(meeting, text string) string {
	return fmt.Sprintf(`{"channelId":"parley:meeting:%s","content":%q}`, meeting, text)
}

func TestAHostThatFloodsAHungMeetingWithPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		m.hang, m.only = make(chan struct{}), "m1"
		b, h := opened(t, m, "m1", "m2")
		defer b.Close()
		defer h.close()
		for range 1000 {
			h.s.Receive(json.RawMessage("7"), "channels/publish", json.RawMessage(publishTo("m1", "Hello.")))
		}
		synctest.Wait()
		out := h.written()
		if len(out) < 1000-laneOps-1 || !strings.Contains(out[0], `"delivered":false,"reason":"too-many-waiting"`) {
			t.Fatalf("%d answers, the first %q", len(out), out[0])
		}
		// Another meeting on the same connection is not held up.
		h.ask("channels/publish", publishTo("m2", "Here."))
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], `"delivered":true`) {
			t.Fatal(out)
		}
		// Nobody knows what became of the one that hangs, so it is an error; then the next one's turn comes.
		time.Sleep(publishWithin + time.Second)
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], "-32603") {
			t.Fatal(out)
		}
		close(m.hang)
		synctest.Wait()
		if out := h.written(); len(out) != laneOps {
			t.Error(len(out))
		}
	})
}

func TestAHostThatFloodsChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		m.hang = make(chan struct{})
		b, h := opened(t, m, "m1")
		defer b.Close()
		defer h.close()
		piece := strings.Repeat("word ", 200)
		for i := range 10000 { // 10 MB of one stream
			h.ask("channels/outgoing/chunk", fmt.Sprintf(`{"channelId":"parley:meeting:m1","inferenceId":"a","index":%d,"delta":%q}`, i, piece))
		}
		for i := range 10000 { // and many streams
			h.ask("channels/outgoing/chunk", fmt.Sprintf(`{"channelId":"parley:meeting:m1","inferenceId":"s%d","index":1,"delta":"x"}`, i))
		}
		waiting, known := 0, 0
		for _, g := range b.guests {
			l := g.links[channel.ID("m1")]
			for _, o := range l.lane.ops {
				waiting += len(o.chunk.Delta)
			}
			if len(l.lane.ops) > laneOps {
				t.Error(len(l.lane.ops), "ops wait")
			}
			known = len(l.lane.open) + len(l.lane.cut)
		}
		if waiting > laneOps*laneDelta || known > 2*laneStreams {
			t.Errorf("%d bytes wait, %d streams are known", waiting, known)
		}
		// What is published after all that is said all the same.
		close(m.hang)
		synctest.Wait()
		h.written()
		h.ask("channels/publish", publishTo("m1", "At last."))
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], `"delivered":true`) {
			t.Fatal(out)
		}
		if log := m.did1(); log[len(log)-1] != "m1 publish At last." {
			t.Error(log[len(log)-1])
		}
		if c := b.Counts(); c.ChunksLost == 0 {
			t.Error("nothing was counted")
		}
	})
}

func TestNothingOfAStreamFollowsALostPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		m.hang = make(chan struct{})
		b, h := opened(t, m, "m1")
		defer b.Close()
		defer h.close()
		chunk := func(stream string, i int, delta string) {
			h.ask("channels/outgoing/chunk", fmt.Sprintf(`{"channelId":"parley:meeting:m1","inferenceId":%q,"index":%d,"delta":%q}`, stream, i, delta))
		}
		chunk("a", 1, "x")
		synctest.Wait() // the first is with the meeting
		chunk("a", 2, "Is ")
		chunk("a", 2, "again")
		chunk("a", 3, strings.Repeat("y", laneDelta+1))
		chunk("a", 4, "never")
		h.ask("channels/outgoing/complete", `{"channelId":"parley:meeting:m1","inferenceId":"a"}`)
		close(m.hang)
		synctest.Wait()
		if got := fmt.Sprint(m.did1()); got != "[m1 chunk 1:a 1 m1 chunk 1:a 2 m1 complete 1:a false]" {
			t.Error(got)
		}
		if m.chars != len("xIs ") {
			t.Error(m.chars, "characters")
		}
		chunk("a", 5, "a new one")
		synctest.Wait()
		if log := m.did1(); log[len(log)-1] != "m1 chunk 1:a 5" {
			t.Error(log)
		}
	})
}

func TestAHostThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		b := NewBoard(BoardOptions{Meetings: m})
		defer b.Close()
		h := connect(b, "me")
		defer h.close()
		if err := b.Begin(ch("m1")); err != nil {
			t.Fatal(err)
		}
		// It did not say that it takes the channel: a little waits, unfinished speech gives way, then the oldest.
		for i := range 200 {
			b.Tell(channel.Message{ID: fmt.Sprint(i), Channel: channel.ID("m1"), Partial: i%2 == 1})
		}
		if out := h.written(); len(out) != 1 {
			t.Fatal(out)
		}
		h.take(1, channel.ID("m1"))
		out := h.written()
		if len(out) != waitingMax || strings.Contains(strings.Join(out, ""), `"messageId":"199"`) || !strings.Contains(out[waitingMax-1], `"messageId":"198"`) {
			t.Fatalf("%d messages, the last %q", len(out), out[len(out)-1])
		}
		// It takes messages and never answers: unfinished speech is left out first, then all.
		for i := range 1000 {
			b.Tell(channel.Message{ID: fmt.Sprint("p", i), Channel: channel.ID("m1"), Partial: true})
		}
		partials := len(h.written())
		for i := range 1000 {
			b.Tell(channel.Message{ID: fmt.Sprint("f", i), Channel: channel.ID("m1")})
		}
		finals := len(h.written())
		if partials+waitingMax > maxPending/2 || finals < maxPending/2 || partials+finals+waitingMax > maxPending {
			t.Errorf("%d partials, %d finals", partials, finals)
		}
		if c := b.Counts(); c.Lost < 1500 {
			t.Error(c.Lost, "counted as lost")
		}
		// What it holds for too long is given up, and the next goes.
		time.Sleep(answerWithin + time.Second)
		b.Tell(channel.Message{ID: "after", Channel: channel.ID("m1")})
		if out := h.written(); len(out) != 1 {
			t.Error(len(out))
		}
	})
}

func TestAChannelThatIsNotTakenInTimeIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		b := NewBoard(BoardOptions{Meetings: m})
		defer b.Close()
		h := connect(b, "me")
		defer h.close()
		if err := b.Begin(ch("m1")); err != nil {
			t.Fatal(err)
		}
		if b.Hears(h.s, "m1") {
			t.Error("it hears before it has taken it")
		}
		time.Sleep(answerWithin + time.Second)
		h.written()
		if out := h.send("channels/publish", publishTo("m1", "Hello.")); !strings.Contains(out[0], "-32023") {
			t.Error(out)
		}
		h.take(1, channel.ID("m1")) // too late
		b.Tell(channel.Message{ID: "a", Channel: channel.ID("m1")})
		if out := h.written(); len(out) != 0 {
			t.Error(out)
		}
		// A grant that shrank and grew again begins anew.
		h.grant("channels.incoming")
		h.s.Receive(json.RawMessage("1"), "featureSets/update", json.RawMessage(`{"effectiveCapabilities":["channels.*"]}`))
		if out := h.written(); len(out) != 2 || !strings.Contains(out[1], "channels/register") {
			t.Error(out)
		}
		h.take(2, channel.ID("m1"))
		if !b.Hears(h.s, "m1") || b.Hears(h.s, "m2") {
			t.Error("it does not hear what it has taken")
		}
	})
}

func TestWhatWaitsOfAnErasedMeetingIsNotWritten(t *testing.T) {
	for _, erase := range []bool{true, false} {
		m := newMeetings()
		b, h := opened(t, m, "m1")
		b.Tell(channel.Message{ID: "a", Channel: channel.ID("m1"), Text: []string{"what somebody said"}})
		b.End(channel.ID("m1"), channel.ReasonClosed, erase)
		held := h.out
		if len(held) != 2 || held[0].Still() == erase || !held[1].Still() {
			t.Errorf("erase %v: %d messages", erase, len(held))
		}
		h.close()
		b.Close()
	}
}

func TestWhatWaitsIsNotWrittenOnceTheSetIsOff(t *testing.T) {
	m := newMeetings()
	b := NewBoard(BoardOptions{Meetings: m, Set: "parley.meeting"})
	defer b.Close()
	h := connect(b, "me")
	defer h.close()
	if err := b.Begin(ch("m1")); err != nil {
		t.Fatal(err)
	}
	h.take(1, channel.ID("m1"))
	h.written()
	b.Tell(channel.Message{ID: "a", Channel: channel.ID("m1")})
	h.s.Receive(nil, "featureSets/update", json.RawMessage(`{"disabled":["parley.meeting"]}`))
	if out := h.written(); len(out) != 0 {
		t.Error(out)
	}
}

func TestAMeetingThatEndsAnswersWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		m.hang = make(chan struct{})
		b, h := opened(t, m, "m1")
		defer b.Close()
		defer h.close()
		for i := range 3 {
			h.ask("channels/publish", publishTo("m1", fmt.Sprint("Text ", i)))
			synctest.Wait()
		}
		b.End(channel.ID("m1"), channel.ReasonEnded, false)
		out := h.written()
		if len(out) != 3 || strings.Count(strings.Join(out, ""), `"delivered":false,"reason":"meeting-ended"`) != 2 {
			t.Error(out)
		}
		m.err = nil
		close(m.hang)
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], `"delivered":true`) { // the meeting had it
			t.Error(out)
		}
	})
}

func TestAMeetingThatTheServiceLostAnswersAsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		m.err = channel.ErrNoMeeting
		b, h := opened(t, m, "m1")
		defer b.Close()
		defer h.close()
		h.ask("channels/publish", publishTo("m1", "Hello."))
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], `"delivered":false,"reason":"meeting-ended"`) {
			t.Error(out)
		}
		// A receipt that contradicts itself would leave a host in doubt.
		m.err, m.receipt = nil, channel.Receipt{Reason: "x", MessageID: "say-9"}
		h.ask("channels/publish", publishTo("m1", "Hello."))
		synctest.Wait()
		if out := h.written(); len(out) != 1 || strings.Contains(out[0], "say-9") {
			t.Error(out)
		}
	})
}

func TestATenantWithoutChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeetings()
		b := NewBoard(BoardOptions{Meetings: m})
		defer b.Close()
		h := connect(b, "me")
		defer h.close()
		c := ch("m1")
		m.prefers = channel.Preferences{}
		m.updates <- channel.Update{Tenant: "me", Meeting: "m1", Opened: &c}
		synctest.Wait()
		if out := h.written(); len(out) != 0 {
			t.Error(out)
		}
		m.prefers = channel.Preferences{Channel: true}
		for range 2 { // news may come twice
			m.updates <- channel.Update{Tenant: "me", Meeting: "m1", Opened: &c}
		}
		synctest.Wait()
		if out := h.written(); len(out) != 1 || !strings.Contains(out[0], "channels/register") {
			t.Error(out)
		}
	})
}

func TestManyConnectionsComeAndGo(t *testing.T) {
	m := newMeetings()
	b := NewBoard(BoardOptions{Meetings: m})
	var g sync.WaitGroup
	for i := range 8 {
		g.Go(func() {
			for j := range 20 {
				h := connect(b, "me")
				name := fmt.Sprintf("m%d-%d", i, j)
				if err := b.Begin(ch(name)); err != nil {
					t.Error(err)
				}
				for k := range 30 {
					h.take(k, channel.ID(name))
				}
				b.Tell(channel.Message{ID: "a", Channel: channel.ID(name)})
				h.ask("channels/outgoing/chunk", fmt.Sprintf(`{"channelId":"parley:meeting:%s","inferenceId":"a","index":1,"delta":"x"}`, name))
				h.ask("channels/publish", publishTo(name, "Hello."))
				b.End(channel.ID(name), channel.ReasonEnded, j%2 == 0)
				h.close()
			}
		})
	}
	g.Wait()
	b.Close()
	if c := b.Counts(); c.Connections != 0 || c.Channels != 0 {
		t.Errorf("%+v", c)
	}
}

// FuzzChannelMethods: whatever a host sends, each request gets one answer, and nothing breaks.
func FuzzChannelMethods(f *testing.F) {
	for _, s := range []string{
		`{"channelId":"parley:meeting:m1","content":"Yes."}`, `{"channelId":"parley:meeting:m1","threadId":42,"content":[{"type":"text","text":"a"}],"turn_seq":"7"}`,
		`{"channelId":"parley:meeting:m1","inferenceId":"a","index":1e9,"delta":"x","speculative":true}`, `{"type":"parley-meeting","address":{"meeting_id":"m1"}}`,
		`{"channelId":"parley:meeting:m1","metadata":{"turn_seq":-1}}`, `[]`, `null`, ``,
	} {
		for i := range 6 {
			f.Add(i, []byte(s))
		}
	}
	methods := []string{"channels/publish", "channels/outgoing/chunk", "channels/outgoing/complete", "channels/open", "channels/close", "channels/list"}
	f.Fuzz(func(t *testing.T, which int, params []byte) {
		m := newMeetings()
		b, h := opened(t, m, "m1")
		h.s.Receive(json.RawMessage("1"), methods[max(which, 0)%len(methods)], params)
		for until := time.Now().Add(5 * time.Second); ; {
			h.mu.Lock()
			n := len(h.out)
			h.mu.Unlock()
			if n == 1 {
				break
			}
			if n > 1 || time.Now().After(until) {
				t.Fatalf("%d answers", n)
			}
			time.Sleep(50 * time.Microsecond)
		}
		if out := h.written(); !json.Valid([]byte(out[0])) {
			t.Fatalf("%q", out)
		}
		h.close()
		b.Close()
	})
}
