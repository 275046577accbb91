package room

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/room/wire"
)

var update = flag.Bool("update", false, "rewrite the expected lines of the stories")

// TestStories plays the stories of testdata/meeting: lines that begin with a word are what happens, indented lines are
// what the meeting does about it.
//
//	options lobby key=K people=2      how the room is set
//	at 12.5s                          the clock, from the story's start
//	1 join Ada [muted] [key=K] [token=T] [seen=N]
//	1 mute on | hand up | say TEXT | admit ID | decline ID | remove ID | end | leave | restart N | lost
//	loud ID                           a loud packet
//	failed ID N                       media connection N of a seat broke
//
// Every line lets pass what is due before it.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/meeting/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tellStory(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func tellStory(t *testing.T, story string) string {
	n := 0
	m := &meeting{room: "r", rules: Options{}.withDefaults(), fresh: func() (string, string) {
		n++
		return fmt.Sprintf("p%d", n), fmt.Sprintf("t%d", n)
	}}
	start := time.Unix(1_000_000, 0)
	now := start
	var out strings.Builder
	show := func(effects []effect) {
		for _, e := range effects {
			fmt.Fprintf(&out, "    %s\n", effectText(e))
		}
		check(t, m)
	}
	for line := range strings.Lines(story) {
		text := strings.TrimRight(line, "\n")
		if strings.HasPrefix(text, " ") {
			continue
		}
		fmt.Fprintln(&out, text)
		word := strings.Fields(text)
		if len(word) == 0 || word[0] == "#" {
			continue
		}
		switch word[0] {
		case "options":
			for _, w := range word[1:] {
				name, value, _ := strings.Cut(w, "=")
				switch name {
				case "lobby":
					m.rules.Lobby = true
				case "key":
					m.rules.HostKey = value
				case "people":
					m.rules.MaxPeople, _ = strconv.Atoi(value)
				}
			}
		case "at":
			d, err := time.ParseDuration(word[1])
			if err != nil {
				t.Fatal(err)
			}
			until := start.Add(d)
			for {
				due := m.deadline()
				if due.IsZero() || due.After(until) {
					break
				}
				now = due
				if effects := m.tick(now); len(effects) > 0 {
					fmt.Fprintf(&out, "  %v\n", now.Sub(start))
					show(effects)
				}
			}
			now = until
		case "loud":
			show(m.loud(now, word[1]))
		case "failed":
			number, _ := strconv.Atoi(word[2])
			show(m.mediaFailed(now, word[1], number))
		default:
			show(act(t, m, now, word))
		}
	}
	return out.String()
}

func act(t *testing.T, m *meeting, now time.Time, word []string) []effect {
	number, err := strconv.Atoi(word[0])
	if err != nil {
		t.Fatalf("no such line: %v", word)
	}
	conn := connID(number)
	rest := append(word[2:], "")
	var r wire.Request
	switch word[1] {
	case "join":
		j := wire.Join{Name: word[2]}
		for _, w := range word[3:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "muted":
				j.Muted = true
			case "key":
				j.Key = value
			case "token":
				j.Token = value
			case "seen":
				j.Seen, _ = strconv.ParseInt(value, 10, 64)
			}
		}
		return m.join(now, conn, j)
	case "lost":
		return m.lost(now, conn)
	case "again":
		r = wire.Join{Name: "again"}
	case "mute":
		r = wire.Mute{Muted: rest[0] == "on"}
	case "hand":
		r = wire.Hand{Up: rest[0] == "up"}
	case "say":
		r = wire.Say{Text: strings.TrimSpace(strings.Join(rest, " ")), Ref: "r"}
	case "admit":
		r = wire.Admit{ID: rest[0]}
	case "decline":
		r = wire.Decline{ID: rest[0]}
	case "remove":
		r = wire.Remove{ID: rest[0]}
	case "end":
		r = wire.EndAll{}
	case "leave":
		r = wire.Leave{}
	case "ping":
		r = wire.Ping{}
	case "restart":
		n, _ := strconv.Atoi(rest[0])
		r = wire.Restart{Media: n}
	default:
		t.Fatalf("no such line: %v", word)
	}
	return m.request(now, conn, r)
}

// effectText is an effect as the stories show it.
func effectText(e effect) string {
	switch e := e.(type) {
	case tell:
		return fmt.Sprintf("%d <- %s", e.conn, noticeText(e.notice))
	case hang:
		return fmt.Sprintf("%d hang %s", e.conn, e.reason)
	case openMedia:
		return fmt.Sprintf("media %s %d over %d", e.seat, e.media, e.conn)
	case closeMedia:
		return fmt.Sprintf("no media %s forget=%t", e.seat, e.forget)
	case hush:
		return fmt.Sprintf("hush %s %t", e.seat, e.muted)
	}
	return fmt.Sprintf("%T", e)
}

func noticeText(n wire.Notice) string {
	switch n := n.(type) {
	case wire.Welcome:
		var b strings.Builder
		fmt.Fprintf(&b, "welcome %s %s:", n.Self, n.Token)
		for _, p := range n.People {
			fmt.Fprintf(&b, " [%s]", personText(p))
		}
		for _, w := range n.Waiters {
			fmt.Fprintf(&b, " waiter %s", w.ID)
		}
		for _, c := range n.Chat {
			fmt.Fprintf(&b, " chat %d", c.Seq)
		}
		return b.String()
	case wire.Waiting:
		return "waiting " + n.Token
	case wire.Refused:
		return "refused " + string(n.Reason)
	case wire.Here:
		return "here " + personText(n.Person)
	case wire.Gone:
		return fmt.Sprintf("gone %s %s", n.ID, n.Reason)
	case wire.Speaking:
		return fmt.Sprintf("speaking %s %t", n.ID, n.On)
	case wire.Knock:
		return fmt.Sprintf("knock %s %s", n.Waiter.ID, n.Waiter.Name)
	case wire.Unknock:
		return "unknock " + n.ID
	case wire.Chat:
		return fmt.Sprintf("chat %d from %s: %q", n.Seq, n.From, n.Text)
	case wire.Problem:
		return fmt.Sprintf("problem %s %s", n.Code, n.Ref)
	case wire.Ended:
		return "ended " + string(n.Reason)
	case wire.Pong:
		return "pong"
	}
	return fmt.Sprintf("%T", n)
}

func personText(p wire.Person) string {
	s := p.ID + " " + p.Name
	for _, f := range []struct {
		on   bool
		name string
	}{{p.Host, "host"}, {p.Muted, "muted"}, {p.Hand, "hand"}, {p.Lost, "lost"}, {p.Speaking, "speaking"}} {
		if f.on {
			s += " " + f.name
		}
	}
	return s
}

// check holds what must be true of a meeting at any time.
func check(t testing.TB, m *meeting) {
	t.Helper()
	hosts := 0
	ids, conns := map[string]bool{}, map[connID]bool{}
	for _, s := range m.seats {
		if ids[s.id] {
			t.Fatalf("two seats are %s", s.id)
		}
		ids[s.id] = true
		if s.conn != 0 && conns[s.conn] {
			t.Fatalf("two seats have connection %d", s.conn)
		}
		conns[s.conn] = true
		if (s.conn == 0) != !s.lostAt.IsZero() {
			t.Fatalf("%s: connection %d, lost at %v", s.id, s.conn, s.lostAt)
		}
		if s.speaking && (s.muted || !s.inside || s.conn == 0) {
			t.Fatalf("%s speaks although it cannot", s.id)
		}
		if s.host && s.inside {
			hosts++
		}
	}
	inside := m.count(true)
	if inside > m.rules.MaxPeople {
		t.Fatalf("%d people", inside)
	}
	if m.rules.HostKey == "" && inside > 0 && hosts != 1 {
		t.Fatalf("%d hosts", hosts)
	}
	if len(m.chat) > maxChatKept {
		t.Fatalf("%d messages", len(m.chat))
	}
}

// FuzzMeeting lets anything happen in any order, and holds what must be true.
func FuzzMeeting(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true, false)
	f.Add([]byte("a quick brown fox jumps over the lazy dog and back again, and so on"), false, true)
	f.Fuzz(func(t *testing.T, script []byte, lobby, keyed bool) {
		n := 0
		m := &meeting{room: "r", rules: Options{Lobby: lobby, MaxPeople: 3}.withDefaults(), fresh: func() (string, string) {
			n++
			return fmt.Sprintf("p%d", n), fmt.Sprintf("t%d", n)
		}}
		if keyed {
			m.rules.HostKey = "k"
		}
		now := time.Unix(1_000_000, 0)
		next, live := connID(1), []connID{}
		drop := func(effects []effect) {
			for _, e := range effects {
				if h, ok := e.(hang); ok {
					for i, c := range live {
						if c == h.conn {
							live = append(live[:i:i], live[i+1:]...)
							break
						}
					}
				}
				if tl, ok := e.(tell); ok && tl.conn == 0 {
					t.Fatal("told to nobody")
				}
			}
		}
		for i := 0; i+1 < len(script); i += 2 {
			what, who := script[i]%14, int(script[i+1])
			now = now.Add(time.Duration(script[i]) * 20 * time.Millisecond)
			var out []effect
			out = append(out, m.tick(now)...)
			drop(out)
			id := fmt.Sprintf("p%d", who%(n+1))
			var conn connID
			if len(live) > 0 {
				conn = live[who%len(live)]
			}
			switch what {
			case 0, 1:
				j := wire.Join{Name: "n", Muted: who%2 == 0}
				if who%3 == 0 {
					j.Token = fmt.Sprintf("t%d", who%(n+1))
				}
				if who%5 == 0 {
					j.Key = "k"
				}
				live = append(live, next)
				out = m.join(now, next, j)
				next++
			case 2:
				out = m.lost(now, conn)
				drop([]effect{hang{conn: conn}})
			case 3:
				out = m.request(now, conn, wire.Leave{})
			case 4:
				out = m.request(now, conn, wire.Admit{ID: id})
			case 5:
				out = m.request(now, conn, wire.Decline{ID: id})
			case 6:
				out = m.request(now, conn, wire.Remove{ID: id})
			case 7:
				out = m.request(now, conn, wire.Mute{Muted: who%2 == 0})
			case 8:
				out = m.request(now, conn, wire.Say{Text: "x"})
			case 9:
				out = m.loud(now, id)
			case 10:
				out = m.mediaFailed(now, id, who%4)
			case 11:
				out = m.request(now, conn, wire.Hand{Up: who%2 == 0})
			case 12:
				if who%16 == 0 {
					out = m.request(now, conn, wire.EndAll{})
				}
			case 13:
				out = m.request(now, conn, wire.Answer{})
			}
			drop(out)
			check(t, m)
		}
	})
}

func TestBucket(t *testing.T) {
	var b bucket
	now := time.Unix(0, 0).Add(time.Hour)
	for i := range 3 {
		if !b.take(now, 3, time.Second) {
			t.Fatalf("%d of the burst was refused", i)
		}
	}
	if b.take(now.Add(999*time.Millisecond), 3, time.Second) {
		t.Error("allowed before the interval was over")
	}
	if !b.take(now.Add(1001*time.Millisecond), 3, time.Second) {
		t.Error("refused after the interval")
	}
}
