package server_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/speechtest"
	"parley/speech/wire"
)

func (p *process) say(s wire.Say) *peer {
	p.t.Helper()
	c := p.dial()
	c.send(wire.AppendJSON(wire.AppendJSON(nil, wire.TypeHello, wire.Hello{Version: wire.Version}), wire.TypeSay, s))
	return c
}

// Without models to hear with it still speaks, and it hears as soon as they are there.
func TestADeafProcessSpeaks(t *testing.T) {
	var whole atomic.Bool
	p := start(t, func(o *server.Options) {
		o.Load = func(context.Context) (*server.Models, error) {
			if !whole.Load() {
				return nil, server.Deaf{Err: errors.New("a model is corrupt")}
			}
			return speechtest.Models(), nil
		}
	})
	if f := p.listen(wire.Listen{}).fault(); f.Kind != speech.KindUnavailable || f.Text != "a model is corrupt" {
		t.Errorf("%+v", f)
	}
	c := p.say(wire.Say{Text: "Hello.", Credit: 2})
	c.want(wire.TypePiece)
	c.want(wire.TypeSaid)
	if st := p.state(); st.Hear.State != "failed" || st.Hear.Text == "" || st.Voice.State != "ready" {
		t.Errorf("%+v", st)
	}
	whole.Store(true)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		c := p.listen(wire.Listen{})
		typ, _, err := c.r.Next() // the greeting
		if err == nil {
			typ, _, err = c.r.Next()
		}
		if err == nil && typ == wire.TypeAccepted {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not hear: %q %v", typ, err)
		}
	}
	if st := p.state(); st.Hear.State != "ready" {
		t.Errorf("%+v", st.Hear)
	}
}

// Each recogniser stands in for the other.
func TestOneRecogniserIsEnough(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *server.Models)
	}{
		{"the large one", func(m *server.Models) { m.Small = nil }},
		{"the small one", func(m *server.Models) { m.Large = nil }},
	} {
		p := start(t, func(o *server.Options) {
			o.Load = func(context.Context) (*server.Models, error) {
				m := speechtest.Models()
				c.change(m)
				return m, nil
			}
		})
		s := p.listen(wire.Listen{Partials: true})
		s.want(wire.TypeAccepted)
		tone := speechtest.Tone(strings.TrimSpace(strings.Repeat("alpha bravo ", 10)))
		s.audio(0, tone)
		s.want(wire.TypePartial)
		s.flush(1, int64(len(tone)))
		if f := want[wire.Final](s, wire.TypeFinal); !strings.HasPrefix(f.Text, "alpha bravo") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
