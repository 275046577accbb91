package dial

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley/control/client"
	"parley/control/connection"
	"parley/control/gate"
	"parley/control/sign"
	"parley/control/wire"
)

type keyring map[wire.Principal]*wire.Capability

func (k keyring) Capability(_ time.Time, p wire.Principal) (*wire.Capability, bool) {
	c, ok := k[p]
	return c, ok
}

func fake(t *testing.T, h http.HandlerFunc) (*Client, *gate.Gate) {
	t.Helper()
	id, err := sign.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	p := wire.Principal{ID: "a", Generation: 1}
	g, err := gate.New(id, keyring{p: {}}, gate.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(s.Listener.Addr().String(), client.Endpoint{Pins: g.Pins(), Instance: g.Instance(), Principal: p, Capability: &wire.Capability{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, g
}

// TestTheOuterStatusSaysNothing: a reply inside the seal is believed under any status of HTTP, and nothing outside is.
func TestTheOuterStatusSaysNothing(t *testing.T) {
	for _, c := range []struct {
		outer int
		inner wire.Reply
	}{{500, wire.Reply{}}, {200, wire.Reply{Code: wire.CodeDenied}}} {
		var g *gate.Gate
		cl, real := fake(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.URL.Path == wire.RouteChallenge {
				b, err := g.Challenge(time.Now(), r.Header.Get(wire.ProofHeader), body)
				if err != nil {
					t.Error(err)
				}
				w.WriteHeader(c.outer)
				_, _ = w.Write(b)
				return
			}
			o, err := g.Action(time.Now(), r.Header.Get(wire.ProofHeader), body)
			if err != nil {
				t.Error(err)
				return
			}
			b, err := o.Reply(time.Now, c.inner, nil)
			if err != nil {
				t.Error(err)
			}
			w.WriteHeader(c.outer)
			_, _ = w.Write(b)
		})
		g = real
		got, err := cl.Do(t.Context(), wire.Request{Action: "read"})
		if err != nil || got.Code != c.inner.Code {
			t.Errorf("outer %d, inner %q: %+v, %v", c.outer, c.inner.Code, got, err)
		}
	}
}

func TestWhateverElseListensThereIsNotBelieved(t *testing.T) {
	hits := 0
	for what, h := range map[string]http.HandlerFunc{
		"a web page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"success in the clear": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"kind":"agent-response","status":200,"result":1}`)
		},
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			if hits++; hits > 1 {
				t.Error("the redirect was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
	} {
		c, _ := fake(t, h)
		if got, err := c.Do(t.Context(), wire.Request{Action: "read"}); !errors.Is(err, client.ErrUntrusted) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	c, _ := fake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := c.Do(t.Context(), wire.Request{Action: "read"}); !errors.Is(err, ErrRefused) {
		t.Errorf("refused: %v", err)
	}
	if _, err := New("localhost:80", client.Endpoint{}); !errors.Is(err, connection.ErrAddress) {
		t.Errorf("a name: %v", err)
	}
}
