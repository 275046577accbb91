package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/channel"
	"parley/channel/mcpl"
	"parley/transcript"
	"parley/turn"
)

// The scripts of testdata/mcpl are conversations of a host with us, as they look on the wire. Each is run over
// WebSocket, over stdio, and through the bridge. A line is
//
//	> {…}        the host sends a message ("jsonrpc" is added)
//	< {…}        the next message of ours has these members; {"a":"*"} has any a, {"a":"$n"} the one that $n is,
//	             which it becomes the first time; {"a":null} has no a or null
//	<            nothing comes: a ping is answered first
//	* …          something happens at a meeting, see (*scripted).happen
//	= …          the meeting got exactly this from its hosts, see (*talk).String
//	NAME> NAME<  the same of a further connection, which "* connect NAME TENANT" opened (a WebSocket)
//	# …          a remark
//
// and goes on in lines that begin with two spaces.
type scripted struct {
	t     *testing.T
	w     *world
	board *mcpl.Board
	talk  *talk
	peers map[string]*peer
	vars  map[string]any
	line  int
}

// talk is the meetings' side.
type talk struct {
	updates chan channel.Update
	prefers channel.Preferences

	mu    sync.Mutex
	log   []string
	n     int
	turn  transcript.Seq
	held  chan struct{} // what a publish waits for; nil: nothing
	begun chan struct{} // is told when a publish waits
}

func (k *talk) note(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.log = append(k.log, fmt.Sprintf(format, args...))
}

// Converse implements channel.Meetings.
func (k *talk) Converse(ctx context.Context) <-chan channel.Update {
	out := make(chan channel.Update)
	go func() {
		defer close(out)
		for {
			select {
			case u := <-k.updates:
				out <- u
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Prefers implements channel.Meetings.
func (k *talk) Prefers(string) channel.Preferences {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prefers
}

// Draft implements channel.Meetings.
func (k *talk) Draft(context.Context, string, string, channel.Drafted) (channel.DraftReceipt, error) {
	return channel.DraftReceipt{}, errors.ErrUnsupported
}

// Publish implements channel.Meetings with the answers of a meeting that has a turn.
func (k *talk) Publish(ctx context.Context, _, meeting string, p channel.Publication) (channel.Receipt, error) {
	if k.held != nil {
		k.begun <- struct{}{}
		select {
		case <-k.held:
		case <-ctx.Done():
			return channel.Receipt{}, ctx.Err()
		}
	}
	k.note("publish %s %q turn %d stream %q", meeting, p.Text, p.Turn, p.Stream)
	k.mu.Lock()
	defer k.mu.Unlock()
	a := turn.PublishAnswer{Delivered: true, Turn: p.Turn, LastTurn: k.turn}
	if p.Turn == 0 {
		a.Turn = k.turn
	}
	if a.Turn != k.turn {
		a.Superseded, a.Delivered, a.Dropped, a.Reason = true, false, true, turn.ReasonSuperseded
		return channel.ReceiptOf(a), nil
	}
	k.n++
	a.Message = k.n
	return channel.ReceiptOf(a), nil
}

// Chunk implements channel.Meetings.
func (k *talk) Chunk(_ context.Context, _, meeting string, c channel.Chunk) error {
	k.note("chunk %s %q stream %q speculative %v", meeting, c.Delta, c.Stream, c.Speculative)
	return nil
}

// Complete implements channel.Meetings.
func (k *talk) Complete(_ context.Context, _, meeting string, c channel.Completion) error {
	k.note("complete %s %q stream %q cancelled %v", meeting, c.Text, c.Stream, c.Cancelled)
	return nil
}

func (k *talk) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	log := k.log
	k.log = nil
	return log
}

// newTalkWorld is a world with channels.
func newTalkWorld(t testing.TB, change func(*Options)) (*world, *mcpl.Board, *talk) {
	t.Helper()
	k := &talk{begun: make(chan struct{}, 1000), updates: make(chan channel.Update), prefers: channel.Preferences{Events: channel.EventsAuto, Channel: true}}
	board := mcpl.NewBoard(mcpl.BoardOptions{Set: MeetingSet, Meetings: k})
	w := newWorld(t, func(o *Options) {
		o.Channels = board
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(board.Close)
	return w, board, k
}

func TestTheScriptsOfTheWire(t *testing.T) {
	files, err := filepath.Glob("testdata/mcpl/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, over := range []string{"WebSocket", "stdio", "bridge"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+" over "+over, func(t *testing.T) {
				t.Parallel()
				s := &scripted{t: t, peers: map[string]*peer{}, vars: map[string]any{}}
				s.w, s.board, s.talk = newTalkWorld(t, func(o *Options) { o.MCPL.FallbackAfter = 50 * time.Millisecond })
				if over != "WebSocket" {
					begin := s.w.stdio
					if over == "bridge" {
						begin = s.w.bridge
					}
					p, in, done := begin()
					s.peers[""] = p
					t.Cleanup(func() {
						if err := in.Close(); err != nil {
							t.Error(err)
						}
						select {
						case <-done:
						case <-time.After(15 * time.Second):
							t.Error("it goes on after the end of its input")
						}
					})
				} else {
					s.peers[""] = s.w.socket(tokenMe)
				}
				s.run(file)
			})
		}
	}
}

func (s *scripted) run(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	type step struct {
		line int
		text string
	}
	var steps []step
	sc := bufio.NewScanner(strings.NewReader(string(b)))
	for n := 1; sc.Scan(); n++ {
		text := sc.Text()
		switch {
		case strings.HasPrefix(text, "  ") && len(steps) > 0:
			steps[len(steps)-1].text += "\n" + strings.TrimSpace(text)
		case strings.TrimSpace(text) != "" && text[0] != '#':
			steps = append(steps, step{n, text})
		}
	}
	for _, st := range steps {
		s.line = st.line
		head, rest, _ := strings.Cut(st.text, " ")
		switch {
		case head == "*":
			s.happen(strings.Fields(rest))
		case head == "=":
			s.got(rest)
		case strings.HasSuffix(head, ">"):
			s.say(s.peer(strings.TrimSuffix(head, ">")), rest)
		case strings.HasSuffix(head, "<"):
			s.hear(s.peer(strings.TrimSuffix(head, "<")), rest)
		default:
			s.fail("this is no step: %s", st.text)
		}
	}
}

func (s *scripted) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: "+format, append([]any{s.line}, args...)...)
}

func (s *scripted) peer(name string) *peer {
	p := s.peers[name]
	if p == nil {
		s.fail("there is no connection %s", name)
	}
	return p
}

func (s *scripted) say(p *peer, text string) {
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		s.fail("%v", err)
	}
	m = s.fill(m).(map[string]any)
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		s.fail("%v", err)
	}
	p.send(string(b))
}

// fill puts variables in.
func (s *scripted) fill(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "$") {
			return s.vars[v]
		}
		if n, ok := strings.CutPrefix(v, "x*"); ok { // so many letters
			count, err := strconv.Atoi(n)
			if err != nil {
				s.fail("%v", err)
			}
			return strings.Repeat("x", count)
		}
	case []any:
		for i := range v {
			v[i] = s.fill(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = s.fill(v[k])
		}
	}
	return v
}

func (s *scripted) hear(p *peer, text string) {
	if text == "" {
		p.next++
		id := fmt.Sprintf("ping-%d", p.next)
		p.request(id, "ping", map[string]any{})
		if m := p.read(); m["id"] != id {
			s.fail("this came: %v", m)
		}
		return
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		s.fail("%v", err)
	}
	got := p.read()
	if why := s.fits(want, got, ""); why != "" {
		b, _ := json.MarshalIndent(got, "", "  ")
		s.fail("%s in\n%s", why, b)
	}
}

// fits says what is wrong; empty: nothing.
func (s *scripted) fits(want, got any, at string) string {
	switch w := want.(type) {
	case string:
		switch {
		case w == "*":
			if got == nil {
				return at + " is missing"
			}
			return ""
		case strings.HasPrefix(w, "$"):
			if v, ok := s.vars[w]; ok && !reflect.DeepEqual(v, got) {
				return fmt.Sprintf("%s is %v, not %v", at, got, v)
			}
			s.vars[w] = got
			return ""
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, no object", at, got)
		}
		for k, v := range w {
			if why := s.fits(v, g[k], at+"."+k); why != "" {
				return why
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v, not %d things", at, got, len(w))
		}
		for i := range w {
			if why := s.fits(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, not %v", at, got, want)
	}
	return ""
}

// got compares what the meetings were told, once it is there. Nothing is "= nothing".
func (s *scripted) got(text string) {
	want := strings.Split(text, "\n")
	if text == "nothing" {
		want = nil
		s.hear(s.peers[""], "") // what was sent has been dealt with
	}
	var got []string
	for until := time.Now().Add(10 * time.Second); len(got) < len(want) && time.Now().Before(until); time.Sleep(time.Millisecond) {
		got = append(got, s.talk.take()...)
	}
	got = append(got, s.talk.take()...)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.fail("the meeting got\n%s", strings.Join(got, "\n"))
	}
}

// happen makes something happen:
//
//	begin MEETING TENANT [speculative]   a channel begins
//	end MEETING                          its meeting is over
//	object MEETING                       somebody objected; we stay
//	turn MEETING SEQ SPEAKER TEXT…       the agent is given a turn
//	partial MEETING SEQ SPEAKER TEXT…    and one while it is said
//	extended MEETING SEQ TEXT…           a turn is reopened
//	interrupted MEETING TEXT…            somebody cut in
//	connect NAME TENANT                  another WebSocket
//	hang NAME                            it breaks
func (s *scripted) happen(words []string) {
	now := time.Date(2026, 11, 30, 13, 20, 11, 0, time.UTC)
	rest := func(i int) string { return strings.Join(words[i:], " ") }
	tell := func(meeting string, e turn.Effect) {
		m, ok := channel.NewConversation(meeting, "room").Tell(now, e)
		if !ok {
			s.fail("that is nothing to be told")
		}
		s.update(channel.Update{Message: &m})
	}
	speaker := func(name string) *transcript.Speaker {
		if name == "-" {
			return nil
		}
		return &transcript.Speaker{Name: name}
	}
	switch words[0] {
	case "begin":
		s.update(channel.Update{Tenant: words[2], Meeting: words[1], Opened: &channel.Channel{ID: channel.ID(words[1]), Tenant: words[2],
			Meeting: words[1], Platform: "room", Label: "Room " + words[1], Speculative: len(words) > 3}})
	case "end":
		s.update(channel.Update{Meeting: words[1], Closed: "ended"})
	case "object":
		s.update(channel.Update{Meeting: words[1], Closed: "objection"})
	case "turn":
		seq := s.seq(words[2])
		s.talk.mu.Lock()
		s.talk.turn = seq
		s.talk.mu.Unlock()
		tell(words[1], turn.Deliver{Turn: turn.Turn{Seq: seq, Merged: []transcript.Seq{seq}, Text: rest(4), Lang: "en", Speaker: speaker(words[3]), Draft: turn.DraftNone,
			Start: time.Second, End: 2 * time.Second, Held: 300 * time.Millisecond}})
	case "partial":
		tell(words[1], turn.DeliverPartial{Seq: s.seq(words[2]), Text: rest(4), Speaker: speaker(words[3])})
	case "extended":
		tell(words[1], turn.Extended{Turn: s.seq(words[2]), TurnText: "before", SoFar: rest(3)})
	case "interrupted":
		tell(words[1], turn.SpeechEnded{State: turn.SpeechInterrupted, BargeIn: true, Said: rest(2), Unsaid: "the rest"})
	case "connect":
		s.peers[words[1]] = s.w.socket(map[string]string{"me": tokenMe, "you": tokenYou, "swarm": tokenSwarm}[words[2]])
	case "hang":
		s.peers[words[1]].hang()
		for until := time.Now().Add(10 * time.Second); s.board.Counts().Connections >= len(s.peers); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				s.fail("the connection is still there")
			}
		}
		delete(s.peers, words[1])
	default:
		s.fail("%s cannot happen", words[0])
	}
}

// update tells the board something, and waits until it has dealt with it: its reader takes a second nothing only when
// it is done with the first one.
func (s *scripted) update(u channel.Update) {
	for _, u := range []channel.Update{u, {}, {}} {
		s.talk.updates <- u
	}
}

func (s *scripted) seq(text string) transcript.Seq {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.fail("%v", err)
	}
	return transcript.Seq(n)
}
