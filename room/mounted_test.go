package room_test

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
)

func TestPagesServedBySomebodyElse(t *testing.T) {
	need.Real(t)
	s, err := room.New(room.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pages := httptest.NewServer(s)
	defer pages.Close()
	heard := make(chan struct{}, 8)
	for _, name := range []string{"A", "B"} {
		g, err := guest.Join(t.Context(), guest.Options{URL: pages.URL + "/room/r", Name: name}, func(e guest.Event) {
			if e.Kind == guest.Heard {
				heard <- struct{}{}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Leave()
		if err := g.Admitted(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-heard
	<-heard
}

func TestServerSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenUDP, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer takenUDP.Close()
	for want, o := range map[string]room.Options{
		"address already in use":     {Listen: taken.Addr().String()},
		"the sound's UDP port":       {Listen: takenUDP.LocalAddr().String()},
		"listen address":             {Listen: "nowhere"},
		"want http(s)://host[:port]": {Listen: "127.0.0.1:0", BaseURL: "meet.example.org"},
	} {
		s, err := room.New(o)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o.Listen, err, want)
		}
	}
}

func TestLinks(t *testing.T) {
	s, err := room.New(room.Options{Listen: "127.0.0.1:0", BaseURL: "https://meet.example.org/x/", HostKey: "a b"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Link("tea"); got != "https://meet.example.org/x/room/tea" {
		t.Error(got)
	}
	if got := s.HostLink("tea"); got != "https://meet.example.org/x/room/tea#host=a+b" {
		t.Error(got)
	}
	for range 100 {
		if id := room.NewID(); !room.ValidID(id) || len(id) != 14 {
			t.Fatal(id)
		}
	}
	for _, bad := range []string{"", "a b", "a/b", "ä", "a.b", strings.Repeat("x", 65)} {
		if room.ValidID(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ctx); err != nil {
		t.Error(err)
	}
}
