package guest_test

import (
	"context"
	"strings"
	"testing"

	"parley/room"
	"parley/room/guest"
	"parley/testkit/need"
)

func TestListeningEverywhere(t *testing.T) {
	need.Real(t)
	for _, listen := range []string{":0", "[::]:0", "localhost:0"} {
		t.Run(listen, func(t *testing.T) {
			s, err := room.New(room.Options{Listen: listen})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx) }()
			defer func() {
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			port := s.Addr().String()[strings.LastIndex(s.Addr().String(), ":"):]
			for _, link := range []string{s.Link("r"), "http://127.0.0.1" + port + "/room/r"} {
				for _, network := range []string{"udp", "tcp"} {
					a, w := join(t, guest.Options{URL: link, Name: "A", Network: network})
					w.kind(guest.Joined)
					b, _ := join(t, guest.Options{URL: link, Name: "B", Network: network})
					w.wait("B is heard", func(e guest.Event) bool { return e.Kind == guest.Heard })
					if err := b.Leave(); err != nil {
						t.Error(err)
					}
					if err := a.Leave(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
