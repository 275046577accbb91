package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"parley/tenant"
	"parley/tool"
)

func TestAClientThatReadsNothingDoesNotHoldUpTheEnd(t *testing.T) {
	w := newWorld(t, nil)
	me, _ := w.server.o.Auth.(*tenant.Registry).Get("me")
	inR, inW := io.Pipe()
	_, outW := io.Pipe() // nobody reads it, and a write to it cannot be broken off
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.server.ServeStdio(ctx, inR, outW, tool.Caller{Principal: tenant.Principal{Tenant: me}})
	}()
	if _, err := io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it hangs")
	}
	outW.Close()
}

func TestTheListenerTakesOnlySoManyAndStillCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newLimitListener(l, 1)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := dial(), dial()
	defer a.Close()
	defer b.Close()
	first, err := limited.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 2)
	go func() {
		c, err := limited.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}()
	select {
	case <-accepted:
		t.Fatal("two were taken")
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	first.Close() // once more gives no second place
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if len(limited.room) != 0 {
		t.Errorf("%d places are taken", len(limited.room))
	}
	limited.room <- struct{}{}
	go func() { _, err := limited.Accept(); accepted <- err }()
	limited.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// deadlines notes what is set on a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.set = append(d.set, t); return nil }

func TestARequestDoesNotInheritTheLastOnesDeadline(t *testing.T) {
	w := newWorld(t, nil)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/healthz", nil)
	w.server.Handler().ServeHTTP(d, r)
	if len(d.set) == 0 || !d.set[0].IsZero() || d.Code != 200 {
		t.Errorf("%v %d", d.set, d.Code)
	}
}

func TestALongCallSaysThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan tool.Progress)
		var got []tool.Progress
		p := startProgress(func(r tool.Progress) { got = append(got, r) }, reports)
		reports <- tool.Progress{Text: "a"}
		time.Sleep(heartbeat + time.Second)
		reports <- tool.Progress{Text: "b", Done: 50, Total: 100}
		reports <- tool.Progress{Text: "c", Done: 20}
		close(reports)
		<-p
		var texts []string
		last := 0.0
		for _, r := range got {
			texts = append(texts, r.Text)
			if r.Done <= last {
				t.Errorf("%v does not grow", r)
			}
			last = r.Done
		}
		if len(texts) != 4 || texts[0] != "a" || texts[1] != "still working" || texts[3] != "c" {
			t.Error(texts)
		}
	})
}
