package guest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/room"
	"parley/room/guest"
	"parley/room/wire"
	"parley/testkit/need"
	"parley/testkit/ruler"
)

func person(e guest.Event, name string) guest.Person {
	for _, p := range e.People {
		if p.Name == name {
			return p
		}
	}
	return guest.Person{}
}

// see waits until a person is shown in a certain way.
func (w *watcher) see(name, what string, ok func(guest.Person) bool) {
	w.t.Helper()
	w.wait(name+" "+what, func(e guest.Event) bool { return e.Kind == guest.People && ok(person(e, name)) })
}

func TestRosterMuteHandAndChat(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{})
	ada, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada"})
	e := seenByAda.people(1)
	if p := e.People[0]; !p.Self || !p.Host || p.Muted || p.ID != ada.Self() {
		t.Errorf("alone: %+v", p)
	}
	ben, seenByBen := join(t, guest.Options{URL: s.Link("r"), Name: "  Ben\u202e  Bo ", Muted: true})
	seenByAda.see("Ben Bo", "is in, muted", func(p guest.Person) bool { return p.Muted && !p.Host && !p.Self })
	seenByBen.people(2)
	if n := s.People(context.Background(), "r"); n != 2 {
		t.Errorf("the server counts %d", n)
	}
	for _, step := range []struct {
		what string
		do   func() error
		ok   func(guest.Person) bool
	}{
		{"unmutes", func() error { return ben.Mute(false) }, func(p guest.Person) bool { return !p.Muted }},
		{"mutes", func() error { return ben.Mute(true) }, func(p guest.Person) bool { return p.Muted }},
		{"raises a hand", func() error { return ben.Hand(true) }, func(p guest.Person) bool { return p.Hand }},
		{"lowers the hand", func() error { return ben.Hand(false) }, func(p guest.Person) bool { return !p.Hand }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		seenByAda.see("Ben Bo", step.what, step.ok)
	}
	if err := ben.Say("<b>Hi</b>\n\u202ethere"); err != nil {
		t.Fatal(err)
	}
	for w, own := range map[*watcher]bool{seenByAda: false, seenByBen: true} {
		c := w.kind(guest.Chat)
		if c.Text != "<b>Hi</b>\nthere" || c.Name != "Ben Bo" || c.ID != ben.Self() || c.Own != own || c.Seq != 1 {
			t.Errorf("chat: %+v", c)
		}
	}
	if err := ben.Say(strings.Repeat("x", wire.MaxChat+1)); err != nil {
		t.Fatal(err)
	}
	if p := seenByBen.kind(guest.Problem); p.Reason != wire.ReasonBadChat {
		t.Errorf("a message that is too long: %+v", p)
	}
	if err := ben.Leave(); err != nil {
		t.Error(err)
	}
	if e := seenByAda.kind(guest.Left); e.Name != "Ben Bo" || e.Reason != wire.ReasonLeft {
		t.Errorf("left: %+v", e)
	}
	if err := ben.Say("late"); !errors.Is(err, guest.ErrOut) {
		t.Errorf("chat after leaving: %v", err)
	}
}

func TestLobby(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{Lobby: true})
	ada, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada"})
	seenByAda.kind(guest.Joined)
	ben, seenByBen := join(t, guest.Options{URL: s.Link("r"), Name: "Ben"})
	seenByBen.kind(guest.Waiting)
	if err := ada.Admit(seenByAda.kind(guest.Knock).ID); err != nil {
		t.Fatal(err)
	}
	seenByBen.kind(guest.Joined)
	cem, seenByCem := join(t, guest.Options{URL: s.Link("r"), Name: "Cem"})
	seenByCem.kind(guest.Waiting)
	knock := seenByBen.kind(guest.Knock)
	if err := ben.Decline(knock.ID); err != nil { // whoever is inside may
		t.Fatal(err)
	}
	if e := seenByCem.kind(guest.Ended); e.Reason != wire.ReasonDeclined {
		t.Errorf("%+v", e)
	}
	if out, ok := errors.AsType[*guest.Out](cem.Wait()); !ok || out.Reason != wire.ReasonDeclined {
		t.Errorf("%v", cem.Wait())
	}
}

func TestRemovedFullAndEnded(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{MaxPeople: 2, HostKey: "top secret"})
	hal, seenByHal := join(t, guest.Options{URL: s.HostLink("r"), Name: "Hal"})
	seenByHal.see("Hal", "is host", func(p guest.Person) bool { return p.Host })
	ben, seenByBen := join(t, guest.Options{URL: s.Link("r"), Name: "Ben"})
	seenByBen.people(2)
	full, _ := join(t, guest.Options{URL: s.Link("r"), Name: "Cem"})
	if out, ok := errors.AsType[*guest.Out](full.Wait()); !ok || out.Reason != wire.ReasonFull {
		t.Errorf("the third of two: %v", full.Wait())
	}
	if err := ben.Remove(hal.Self()); err != nil {
		t.Fatal(err)
	}
	if p := seenByBen.kind(guest.Problem); p.Reason != wire.ReasonNotHost {
		t.Errorf("a guest removes the host: %+v", p)
	}
	if err := hal.Remove(ben.Self()); err != nil {
		t.Fatal(err)
	}
	if out, ok := errors.AsType[*guest.Out](ben.Wait()); !ok || out.Reason != wire.ReasonRemoved {
		t.Errorf("removed: %v", ben.Wait())
	}
	again, seenByAgain := join(t, guest.Options{URL: s.Link("r"), Name: "Ben"})
	seenByAgain.people(2)
	if err := hal.EndAll(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(hal.Wait(), again.Wait()); err != nil {
		t.Errorf("the end of a room is no error: %v", err)
	}
	if e := seenByAgain.kind(guest.Ended); e.Reason != wire.ReasonEnded {
		t.Errorf("%+v", e)
	}
}

func TestComingBackAfterALoss(t *testing.T) {
	clip := tone(t, time.Second)
	s := start(t, room.Options{})
	var heard memory
	_, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada", OnAudio: heard.hear})
	ben, seenByBen := join(t, guest.Options{URL: s.Link("r"), Name: "Ben"})
	seenByAda.kind(guest.Heard)
	id := ben.Self()
	ben.Unplug()
	seenByAda.see("Ben", "is lost", func(p guest.Person) bool { return p.Lost })
	seenByBen.kind(guest.Lost)
	if e := seenByBen.kind(guest.Back); e.ID != id {
		t.Errorf("another seat: %+v", e)
	}
	seenByAda.see("Ben", "is back", func(p guest.Person) bool { return p.ID == id && !p.Lost })
	// The sound comes back by itself, in the same track.
	if err := ben.Play(context.Background(), clip); err != nil {
		t.Fatal(err)
	}
	seenByAda.wait("Ben speaks", func(e guest.Event) bool { return e.Kind == guest.Speaking && e.ID == id && *e.On })
	seenByAda.wait("Ben is silent", func(e guest.Event) bool { return e.Kind == guest.Speaking && e.ID == id && !*e.On })
	if pcm := heard.of(id); loud(pcm) == len(pcm) {
		t.Error("nothing was heard after the loss")
	}
}

func TestLostForGood(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{Hold: 300 * time.Millisecond})
	_, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada"})
	conn := raw(t, s, "r")
	put(t, conn, wire.Join{Name: "Ben"})
	seenByAda.people(2)
	_ = conn.CloseNow()
	seenByAda.see("Ben", "is lost", func(p guest.Person) bool { return p.Lost })
	if e := seenByAda.kind(guest.Left); e.Reason != wire.ReasonLost {
		t.Errorf("%+v", e)
	}
	seenByAda.people(1)
}

func TestAThirdTakesThePlaceOfASecond(t *testing.T) {
	clip := tone(t, time.Second)
	s := start(t, room.Options{})
	var heard memory
	_, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada", OnAudio: heard.hear})
	seenByAda.kind(guest.Joined)
	for _, name := range []string{"Ben", "Cem", "Dee"} {
		g, _ := join(t, guest.Options{URL: s.Link("r"), Name: name})
		seenByAda.wait(name+" is heard", func(e guest.Event) bool { return e.Kind == guest.Heard && e.Name == name })
		if err := g.Play(context.Background(), clip); err != nil {
			t.Fatal(err)
		}
		seenByAda.wait(name+" speaks", func(e guest.Event) bool { return e.Kind == guest.Speaking && e.Name == name })
		id := g.Self()
		if err := g.Leave(); err != nil {
			t.Fatal(err)
		}
		if pcm := heard.of(id); loud(pcm) == len(pcm) {
			t.Errorf("nothing was heard of %s", name)
		}
		seenByAda.people(1)
	}
}

func TestSixteenPeople(t *testing.T) {
	clip := tone(t, 1500*time.Millisecond)
	s := start(t, room.Options{})
	speaker, seenBySpeaker := join(t, guest.Options{URL: s.Link("r"), Name: "Speaker"})
	seenBySpeaker.kind(guest.Joined)
	var others []*watcher
	var hear [15]memory
	for i := range 15 {
		o := guest.Options{URL: s.Link("r"), Name: fmt.Sprint("Guest ", i), Muted: true}
		if i%7 == 0 { // decoding in all of them is too much for a small machine under the race detector
			o.OnAudio = hear[i].hear
		}
		_, w := join(t, o)
		w.kind(guest.Joined)
		others = append(others, w)
	}
	extra, _ := join(t, guest.Options{URL: s.Link("r"), Name: "One too many"})
	if out, ok := errors.AsType[*guest.Out](extra.Wait()); !ok || out.Reason != wire.ReasonFull {
		t.Errorf("the seventeenth: %v", extra.Wait())
	}
	for _, w := range others {
		w.kind(guest.Heard)
	}
	if err := speaker.Play(context.Background(), clip); err != nil {
		t.Fatal(err)
	}
	for i, w := range others {
		w.wait("the speaker falls silent", func(e guest.Event) bool { return e.Kind == guest.Speaking && !*e.On })
		if i%7 != 0 {
			continue
		}
		pcm := hear[i].of(speaker.Self())
		from := loud(pcm)
		if len(pcm) < from+guest.Rate {
			t.Errorf("guest %d heard nothing", i)
			continue
		}
		if got := hz(pcm[from+guest.Rate/4 : from+3*guest.Rate/4]); got < 390 || got > 410 {
			t.Errorf("guest %d heard %.0f Hz", i, got)
		}
	}
}

func TestRecordingIsWhole(t *testing.T) {
	clip := tone(t, 7*time.Second)
	s := start(t, room.Options{})
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.wav"), filepath.Join(dir, "-b.ogg")}
	var listeners []*guest.Guest
	var heard []*watcher
	for _, f := range files {
		g, w := join(t, guest.Options{URL: s.Link("r"), Name: "Listener", Muted: true, Record: f})
		w.kind(guest.Joined)
		listeners, heard = append(listeners, g), append(heard, w)
	}
	ben, _ := join(t, guest.Options{URL: s.Link("r"), Name: "Ben"})
	for _, w := range heard { // the tone is to be whole
		w.wait("Ben is heard", func(e guest.Event) bool { return e.Kind == guest.Heard && e.Name == "Ben" })
	}
	if err := ben.Play(context.Background(), clip); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		if err := listeners[i].Leave(); err != nil {
			t.Fatal(err)
		}
		r, err := ruler.Read(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v long, %d seconds, lost %v, doubled %v", filepath.Ext(f), r.Length, len(r.Seconds), r.Lost(), r.Doubled())
		if err := r.Err(60 * time.Millisecond); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if d := r.Span().Length - 7*time.Second; d.Abs() > 100*time.Millisecond {
			t.Errorf("%s: the tone lasts %v", f, r.Span().Length)
		}
	}
}

func TestAScriptIsHeardFromItsFirstSound(t *testing.T) {
	need.Program(t, "ffmpeg")
	s := start(t, room.Options{})
	dir := t.TempDir()
	clip := filepath.Join(dir, "tone.wav")
	writeTone(t, clip, 2*time.Second)
	var h memory
	_, seen := join(t, guest.Options{URL: s.Link("r"), Name: "Ada", Muted: true, OnAudio: h.hear})
	seen.kind(guest.Joined)
	bot := watch(t)
	if err := guest.Run(context.Background(), guest.Options{URL: s.Link("r"), Name: "Bot"},
		guest.Script{Play: []string{clip}, LeaveAfter: true}, bot.take); err != nil {
		t.Fatal(err)
	}
	pcm := h.of(bot.kind(guest.Joined).ID)
	from := loud(pcm)
	if end := len(pcm); end-from < 1900*guest.Rate/1000 {
		t.Errorf("%d ms of 2 s were heard", (end-from)*1000/guest.Rate)
	}
}

// writeTone makes a file of the ruler.
func writeTone(t *testing.T, file string, length time.Duration) {
	t.Helper()
	cmd := exec.Command("ffmpeg", "-v", "error", "-f", "s16le", "-ar", fmt.Sprint(guest.Rate), "-ac", "1", "-i", "pipe:0", file)
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, guest.Tone(length)); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = &raw
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestRunFollowsItsScript(t *testing.T) {
	need.Program(t, "ffmpeg")
	s := start(t, room.Options{})
	dir := t.TempDir()
	ding := tone(t, 300*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bot := watch(t)
	ended := make(chan error, 1)
	file := filepath.Join(dir, "heard.wav")
	go func() {
		ended <- guest.Run(ctx, guest.Options{URL: s.Link("r"), Name: "Bot", Record: file}, guest.Script{
			Chat:  "Hello, I am a bot",
			React: []guest.Reaction{{Match: regexp.MustCompile(`(?i)\bping\b`), Say: "pong", Play: ding}},
		}, bot.take)
	}()
	bot.kind(guest.Joined)
	ada, seenByAda := join(t, guest.Options{URL: s.Link("r"), Name: "Ada"})
	seenByAda.kind(guest.Joined)
	bot.people(2)
	if err := ada.Say("Ping!"); err != nil {
		t.Fatal(err)
	}
	if c := seenByAda.wait("an answer", func(e guest.Event) bool { return e.Kind == guest.Chat && !e.Own }); c.Text != "pong" {
		t.Errorf("%+v", c)
	}
	if p := bot.kind(guest.Played); p.Seconds != 0.32 { // whole packets of 20 ms, and what the encoder adds
		t.Errorf("%+v", p)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("leaving is no error: %v", err)
	}
	if e := bot.kind(guest.Ended); e.Reason != wire.ReasonLeft {
		t.Errorf("%+v", e)
	}
	if e := bot.kind(guest.Recorded); e.File != file || e.Seconds <= 0 {
		t.Errorf("%+v", e)
	}
	if e := seenByAda.kind(guest.Left); e.Name != "Bot" || e.Reason != wire.ReasonLeft {
		t.Errorf("%+v", e)
	}
}

func TestBadOptions(t *testing.T) {
	for name, o := range map[string]guest.Options{
		"link":     {URL: "http://h/x"},
		"network":  {URL: "http://h/room/x", Network: "pigeon"},
		"file":     {URL: "http://h/room/x", Record: "x.mp3"},
		"no place": {URL: "http://h/room/x", Record: "/nowhere/at/all/x.wav"},
	} {
		if _, err := guest.Join(context.Background(), o, nil); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if err := guest.Run(context.Background(), guest.Options{URL: "http://h/room/x"}, guest.Script{Play: []string{"/nowhere.wav"}}, nil); err == nil {
		t.Error("a file that is not there was played")
	}
}

func TestNobodyThere(t *testing.T) {
	need.Real(t)
	g, err := guest.Join(context.Background(), guest.Options{URL: "http://127.0.0.1:1/room/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := errors.AsType[*guest.Out](g.Wait()); !ok || out.Reason != wire.ReasonUnreachable {
		t.Errorf("%v", g.Wait())
	}
}

func raw(t *testing.T, s *room.Server, id string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(s.Link(id), "http", "ws", 1)+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

func put(t *testing.T, conn *websocket.Conn, r wire.Request) {
	t.Helper()
	data, err := wire.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(t.Context(), websocket.MessageText, data); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, conn *websocket.Conn) wire.Notice {
	t.Helper()
	_, data, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := wire.ParseNotice(data)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// closed reads until the server ends the connection.
func closed(t *testing.T, conn *websocket.Conn) error {
	t.Helper()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			return err
		}
	}
}

func TestHostileClients(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{})
	good, seen := join(t, guest.Options{URL: s.Link("r"), Name: "Good"})
	seen.kind(guest.Joined)
	big := strings.Repeat("x", wire.MaxMessage+1)
	for name, first := range map[string]string{
		"no join":      `{"type":"leave"}`,
		"no JSON":      "\x01\x02",
		"too large":    `{"type":"join","name":"` + big + `"}`,
		"deep":         strings.Repeat("[", 50_000),
		"no text name": `{"type":"join","name":{"a":1}}`,
	} {
		conn := raw(t, s, "r")
		_ = conn.Write(t.Context(), websocket.MessageText, []byte(first))
		if err := closed(t, conn); t.Context().Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	conn := raw(t, s, "r")
	if err := conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"join","name":"x"}`)); err != nil {
		t.Fatal(err)
	}
	_ = closed(t, conn)

	// Answers that are none, for every offer there ever was: the room makes a new connection now and then, and lives.
	conn = raw(t, s, "r")
	put(t, conn, wire.Join{Name: "Liar"})
	lies := []string{"", "v=0", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n", strings.Repeat("a=x\r\n", 10_000)}
	for offers := 0; offers < 2; {
		if o, ok := get(t, conn).(wire.Offer); ok {
			put(t, conn, wire.Answer{Media: o.Media, N: o.N, SDP: lies[offers%len(lies)]})
			for i, lie := range lies {
				put(t, conn, wire.Answer{Media: o.Media - 1 + i, N: o.N + i, SDP: lie})
			}
			offers++
		}
	}
	// A flood ends the connection.
	for range 1000 {
		if conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"hand","up":true}`)) != nil {
			break
		}
	}
	if err := closed(t, conn); websocket.CloseStatus(err) != websocket.StatusPolicyViolation && !strings.Contains(err.Error(), "reset") {
		t.Errorf("a flood: %v", err)
	}
	// One who reads nothing does not hold up the others.
	deaf := raw(t, s, "r")
	put(t, deaf, wire.Join{Name: "Deaf"})
	seen.see("Deaf", "is in", func(p guest.Person) bool { return p.ID != "" })
	for i := range 20 {
		if err := good.Hand(i%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := good.Say("still here"); err != nil {
		t.Fatal(err)
	}
	seen.wait("the room works", func(e guest.Event) bool { return e.Text == "still here" })
}

func TestBadAddresses(t *testing.T) {
	need.Real(t)
	s := start(t, room.Options{})
	base := strings.TrimSuffix(s.Link(""), "/room/")
	for path, want := range map[string]int{
		"/room/tea": 200, "/room/room.js": 200, "/room/strings.json": 200,
		"/room/room.html": 404, "/room/%3Cscript%3E": 404, "/room/a.b": 404, "/room/" + strings.Repeat("x", 65): 404,
		"/room/..%2f..%2fetc": 404, "/room/a/b": 404, "/nothing": 404, "/room/a%00b": 404,
	} {
		r, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, r.StatusCode, want)
		}
		if want == 200 && !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy", path)
		}
	}
	// A name that somebody pointed at this machine.
	r, err := http.NewRequest(http.MethodGet, base+"/room/tea", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name: %d", resp.StatusCode)
	}
	// A page of somebody else's.
	_, resp, err = websocket.Dial(t.Context(), strings.Replace(base, "http", "ws", 1)+"/room/tea/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"http://evil.example"}}})
	if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page: %v", err)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	need.Real(t)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	s, err := room.New(room.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	w := watch(t)
	var guests []*guest.Guest
	for i := range 3 {
		g, err := guest.Join(context.Background(), guest.Options{URL: s.Link("r"), Name: fmt.Sprint(i), Network: []string{"", "udp", "tcp"}[i]}, w.take)
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, g)
		w.kind(guest.Joined)
	}
	w.kind(guest.Heard)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, room.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	for _, g := range guests {
		if err := g.Wait(); err != nil {
			t.Errorf("a server that goes away ends the room: %v", err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
	if _, err := guest.Join(context.Background(), guest.Options{URL: s.Link("r")}, nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}
