package server_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/speechtest"
	"parley/speech/whisper"
	"parley/speech/wire"
)

// process is a server in this process.
type process struct {
	t    *testing.T
	path string
	end  chan error
	stop context.CancelFunc
}

func start(t *testing.T, change func(*server.Options)) *process {
	t.Helper()
	dir, err := os.MkdirTemp("", "sv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &process{t: t, path: filepath.Join(dir, "s"), end: make(chan error, 1)}
	l, err := net.Listen("unix", p.path)
	if err != nil {
		t.Fatal(err)
	}
	o := server.Options{
		Listener: l, IdleAfter: time.Minute, Log: slog.New(slog.DiscardHandler),
		Load:      func(context.Context) (*server.Models, error) { return speechtest.Models(), nil },
		LoadVoice: func(context.Context) (server.Voice, error) { return speechtest.Voice{}, nil },
	}
	if change != nil {
		change(&o)
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	srv := server.New(o)
	go func() { p.end <- srv.Run(ctx) }()
	t.Cleanup(func() {
		p.stop()
		select {
		case <-p.end:
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	return p
}

// peer is a client that speaks the wire by hand.
type peer struct {
	t *testing.T
	c net.Conn
	r *wire.Reader
}

func (p *process) dial() *peer {
	p.t.Helper()
	c, err := net.Dial("unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		p.t.Fatal(err)
	}
	return &peer{p.t, c, wire.NewReader(c)}
}

func (p *peer) send(frames []byte) {
	p.t.Helper()
	if _, err := p.c.Write(frames); err != nil {
		p.t.Fatal(err)
	}
}

// want reads until a frame of one type.
func (p *peer) want(want wire.Type) []byte {
	p.t.Helper()
	for {
		typ, body, err := p.r.Next()
		if err != nil {
			p.t.Fatalf("waiting for %q: %v", want, err)
		}
		if typ == want {
			return body
		}
		if typ == wire.TypeFault {
			p.t.Fatalf("waiting for %q: %s", want, body)
		}
	}
}

func want[T any](p *peer, typ wire.Type) T {
	p.t.Helper()
	v, err := wire.Parse[T](p.want(typ))
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// fault reads the fault that ends a connection.
func (p *peer) fault() wire.Fault {
	p.t.Helper()
	f := want[wire.Fault](p, wire.TypeFault)
	if !f.Fatal || f.Text == "" {
		p.t.Errorf("%+v", f)
	}
	if _, _, err := p.r.Next(); err == nil {
		p.t.Error("the connection goes on after a fatal fault")
	}
	return f
}

func (p *process) listen(l wire.Listen) *peer {
	p.t.Helper()
	c := p.dial()
	c.send(wire.AppendJSON(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{Version: wire.Version}), wire.TypeListen, l))
	return c
}

func (p *peer) audio(pos int64, pcm []int16) {
	p.t.Helper()
	for len(pcm) > 0 {
		n := min(len(pcm), wire.MaxAudio)
		p.send(wire.AppendAudio(nil, pos, pcm[:n]))
		pos += int64(n)
		pcm = pcm[n:]
	}
}

func (p *peer) flush(id, at int64) {
	p.t.Helper()
	p.send(wire.AppendJSON(nil, wire.TypeFlush, wire.Flush{ID: id, At: at}))
}

func (p *process) state() wire.State {
	p.t.Helper()
	c := p.dial()
	defer c.c.Close()
	c.send(wire.Append(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{Version: wire.Version}), wire.TypeAsk, nil))
	return want[wire.State](c, wire.TypeState)
}

func TestStrangersAreTurnedAway(t *testing.T) {
	p := start(t, nil)
	for name, first := range map[string][]byte{
		"no greeting":  wire.AppendAudio(nil, 0, make([]int16, 10)),
		"broken JSON":  wire.Append(nil, wire.TypeHello, []byte("{")),
		"another wire": []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"nothing":      nil,
	} {
		c := p.dial()
		c.send(first)
		if name == "nothing" || name == "another wire" {
			if u, ok := c.c.(*net.UnixConn); ok {
				u.CloseWrite()
			}
			if _, err := io.ReadAll(c.c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if f := c.fault(); f.Kind != speech.KindInternal {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// A client that goes wrong later takes nobody with it.
	good := p.listen(wire.Listen{})
	good.want(wire.TypeAccepted)
	bad := p.listen(wire.Listen{})
	bad.want(wire.TypeAccepted)
	bad.send(wire.Append(nil, wire.TypeAudio, []byte{1, 2, 3}))
	if _, err := io.ReadAll(bad.c); err != nil {
		t.Error(err)
	}
	tone := speechtest.Tone("alpha bravo")
	good.audio(0, tone)
	good.flush(1, int64(len(tone)))
	if f := want[wire.Final](good, wire.TypeFinal); f.Text != "alpha bravo." {
		t.Errorf("%+v", f)
	}
	good.want(wire.TypeFlushed)
}

func TestInputThatCannotWorkIsRefused(t *testing.T) {
	p := start(t, func(o *server.Options) { o.MaxStreams = 2 })
	if f := p.listen(wire.Listen{Lang: "xx"}).fault(); f.Kind != speech.KindInput {
		t.Errorf("%+v", f)
	}
	if f := p.listen(wire.Listen{From: -5}).fault(); f.Kind != speech.KindInput {
		t.Errorf("%+v", f)
	}
	a, b := p.listen(wire.Listen{Lang: "en-GB"}), p.listen(wire.Listen{Lang: "DE"})
	a.want(wire.TypeAccepted)
	b.want(wire.TypeAccepted)
	if f := p.listen(wire.Listen{}).fault(); f.Kind != speech.KindBusy {
		t.Errorf("%+v", f)
	}
}

func TestItEndsAfterItsLastClientOnly(t *testing.T) {
	p := start(t, func(o *server.Options) { o.IdleAfter = 200 * time.Millisecond })
	c := p.listen(wire.Listen{})
	c.want(wire.TypeAccepted)
	select {
	case err := <-p.end:
		t.Fatalf("it ended under a client: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	c.c.Close()
	if err := <-p.end; err != nil {
		t.Error(err)
	}
	p.end <- nil // for the clean-up
}

func TestModelsThatDoNotLoad(t *testing.T) {
	broken := errors.New("the file is broken")
	going := make(chan struct{})
	p := start(t, func(o *server.Options) {
		o.Load = func(context.Context) (*server.Models, error) { <-going; return nil, broken }
	})
	c := p.listen(wire.Listen{})
	if st := p.state(); st.Hear.State != "loading" {
		t.Errorf("%+v", st.Hear)
	}
	close(going)
	if f := c.fault(); f.Kind != speech.KindUnavailable || !strings.Contains(f.Text, "the file is broken") {
		t.Errorf("%+v", f)
	}
	err := <-p.end
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	p.end <- nil
}

func TestTheVoiceLoadsWhenItIsNeeded(t *testing.T) {
	loads := atomic.Int32{}
	p := start(t, func(o *server.Options) {
		o.LoadVoice = func(context.Context) (server.Voice, error) { loads.Add(1); return nil, errors.New("no such file") }
	})
	if st := p.state(); st.Voice.State != "idle" || loads.Load() != 0 {
		t.Errorf("%+v after %d loads", st.Voice, loads.Load())
	}
	for range 2 {
		c := p.dial()
		c.send(wire.AppendJSON(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{}), wire.TypeSay, wire.Say{Text: "hello"}))
		if f := c.fault(); f.Kind != speech.KindUnavailable {
			t.Errorf("%+v", f)
		}
	}
	if st := p.state(); st.Voice.State != "failed" || loads.Load() != 1 {
		t.Errorf("%+v after %d loads", st.Voice, loads.Load())
	}
}

// moody hears with a will of its own. As the large model it hears finals and drafts of English, but no partials.
type moody struct {
	speechtest.Decoder
	final func(whisper.Request) (whisper.Result, error)
}

func (m moody) Decode(ctx context.Context, r whisper.Request) (whisper.Result, error) {
	if m.final != nil {
		return m.final(r)
	}
	return m.Decoder.Decode(ctx, r)
}

func withLarge(d server.Decoder) func(*server.Options) {
	return func(o *server.Options) {
		o.Load = func(context.Context) (*server.Models, error) {
			m := speechtest.Models()
			m.Large = d
			return m, nil
		}
	}
}

func TestASegmentWithoutSpeechTakesItsPartialsBack(t *testing.T) {
	p := start(t, withLarge(moody{final: func(whisper.Request) (whisper.Result, error) { return whisper.Result{NoSpeech: 0.9}, nil }}))
	shown := p.listen(wire.Listen{Lang: "en", Partials: true})
	shown.want(wire.TypeAccepted)
	tone := speechtest.Tone("alpha bravo charlie delta echo")
	shown.audio(0, tone)
	if x := want[wire.Partial](shown, wire.TypePartial); !strings.HasPrefix(x.Text, "alpha") {
		t.Errorf("%+v", x)
	}
	shown.flush(1, int64(len(tone)))
	if f := want[wire.Final](shown, wire.TypeFinal); f.Text != "" || f.Upto < int64(len(tone)) {
		t.Errorf("%+v", f)
	}
	// Who saw nothing need not know.
	blind := p.listen(wire.Listen{Lang: "en"})
	blind.want(wire.TypeAccepted)
	blind.audio(0, tone)
	blind.flush(1, int64(len(tone)))
	if h := want[wire.Heard](blind, wire.TypeHeard); h.Upto < int64(len(tone)) {
		t.Errorf("%+v", h)
	}
	blind.want(wire.TypeFlushed)
}

func TestASegmentThatFailsIsReportedAndTheStreamGoesOn(t *testing.T) {
	calls := 0
	p := start(t, withLarge(moody{final: func(r whisper.Request) (whisper.Result, error) {
		if calls++; calls == 1 {
			return whisper.Result{}, errors.New("out of memory")
		}
		return speechtest.Decoder{}.Decode(context.Background(), r)
	}}))
	c := p.listen(wire.Listen{Lang: "en"})
	c.want(wire.TypeAccepted)
	tone := speechtest.Tone("alpha bravo charlie")
	n := int64(len(tone))
	c.audio(0, tone)
	c.flush(1, n)
	for {
		typ, body, err := c.r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if typ == wire.TypeFault {
			if f, err := wire.Parse[wire.Fault](body); err != nil || f.Fatal || f.Kind != speech.KindInternal {
				t.Errorf("%+v %v", f, err)
			}
			break
		}
	}
	c.want(wire.TypeFlushed)
	c.audio(n, tone)
	c.flush(2, 2*n)
	if f := want[wire.Final](c, wire.TypeFinal); f.Text != "alpha bravo charlie." {
		t.Errorf("%+v", f)
	}
}

// A recogniser far too slow, four clients that talk without end and one that says a sentence: its final comes after
// a few others, and no final of anybody is lost.
func TestFairUnderLoad(t *testing.T) {
	p := start(t, withLarge(speechtest.Decoder{Slow: 20 * time.Millisecond}))
	line := append(speechtest.Tone("alpha bravo charlie delta"), make([]int16, 16000)...)
	n := int64(len(line))
	var crowd []*peer
	for range 4 {
		c := p.listen(wire.Listen{Lang: "en", Partials: true})
		c.want(wire.TypeAccepted)
		go func() {
			for i := range int64(20) {
				pos, pcm := i*n, line
				for len(pcm) > 0 {
					k := min(len(pcm), wire.MaxAudio)
					if _, err := c.c.Write(wire.AppendAudio(nil, pos, pcm[:k])); err != nil {
						return
					}
					pos += int64(k)
					pcm = pcm[k:]
				}
			}
			c.c.Write(wire.AppendJSON(nil, wire.TypeFlush, wire.Flush{ID: 1, At: 20 * n}))
		}()
		crowd = append(crowd, c)
	}
	want[wire.Final](crowd[0], wire.TypeFinal) // it is busy
	before := p.state()
	late := p.listen(wire.Listen{Lang: "en"})
	late.want(wire.TypeAccepted)
	late.audio(0, line)
	want[wire.Final](late, wire.TypeFinal)
	after := p.state()
	if others := after.Done.Finals - before.Done.Finals; others > 20 {
		t.Errorf("%d finals of others went first", others)
	}
	for i, c := range crowd {
		finals := 0
		if i == 0 {
			finals = 1
		}
		for {
			typ, body, err := c.r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if typ == wire.TypeFinal {
				if f, err := wire.Parse[wire.Final](body); err != nil || f.Text != "alpha bravo charlie delta." {
					t.Errorf("%+v %v", f, err)
				}
				finals++
			}
			if typ == wire.TypeFlushed {
				break
			}
		}
		if finals != 20 {
			t.Errorf("client %d: %d finals", i, finals)
		}
	}
	if st := p.state(); st.Dropped.Partials == 0 || st.Dropped.Finals != 0 {
		t.Errorf("dropped: %+v", st.Dropped)
	}
}

// A client that does not read its answers delays nobody else.
func TestAClientThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	p := start(t, nil)
	deaf := p.listen(wire.Listen{Lang: "en", Partials: true, Words: true})
	line := append(speechtest.Tone("alpha bravo"), make([]int16, 16000)...)
	go func() {
		for i := range int64(100_000) {
			pos, pcm := i*int64(len(line)), line
			for len(pcm) > 0 {
				k := min(len(pcm), wire.MaxAudio)
				if _, err := deaf.c.Write(wire.AppendAudio(nil, pos, pcm[:k])); err != nil {
					return
				}
				pos += int64(k)
				pcm = pcm[k:]
			}
		}
	}()
	// Wait until it is stuck: nothing is decoded any more.
	last := int64(-1)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		now := p.state().Done
		if now.Finals+now.Drafts == last && last > 0 {
			break
		}
		last = now.Finals + now.Drafts
		if time.Now().After(deadline) {
			t.Fatal("it is never stuck")
		}
	}
	good := p.listen(wire.Listen{Lang: "en"})
	good.want(wire.TypeAccepted)
	good.audio(0, line)
	good.flush(1, int64(len(line)))
	want[wire.Final](good, wire.TypeFinal)
	deaf.c.Close()
}

func TestClipsTakeTurns(t *testing.T) {
	p := start(t, nil)
	say := func(text string, credit int) *peer {
		c := p.dial()
		c.send(wire.AppendJSON(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{}), wire.TypeSay, wire.Say{Text: text, Credit: credit}))
		c.want(wire.TypeAccepted)
		return c
	}
	long := say(strings.Repeat("one more. ", 50), 2)
	for range 2 {
		long.want(wire.TypePiece)
	}
	// Without credit the long one waits, and another is served.
	short := say("hello. there.", 2)
	short.want(wire.TypePiece)
	short.want(wire.TypePiece)
	short.want(wire.TypeSaid)
	if st := p.state(); st.Done.Clauses != 4 || st.Queued.Clauses != 48 {
		t.Errorf("%+v %+v", st.Done, st.Queued)
	}
	long.send(wire.Append(nil, wire.TypeMore, nil))
	long.want(wire.TypePiece)
	long.c.Close()
	for deadline := time.Now().Add(10 * time.Second); p.state().Clips > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a clip whose client has gone is still there")
		}
	}
}
