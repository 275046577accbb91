package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/livekit/livekit-server/pkg/config"
	"github.com/livekit/livekit-server/pkg/routing"
	"github.com/livekit/livekit-server/pkg/service"
	"github.com/livekit/livekit-server/pkg/telemetry/prometheus"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/livekit"
	lksdk "github.com/livekit/server-sdk-go/v2"
)

// serve runs LiveKit's server behind one address with the page, until the context ends.
func serve(ctx context.Context, listen, page, room string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	defer l.Close()
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return errors.New("it listens on loopback only: its key is in its source")
	}
	for _, f := range []string{"main.js", "main.css", "index.html"} {
		if _, err := os.Stat(filepath.Join(page, f)); err != nil {
			return fmt.Errorf("the page is not there, run ./build first: %w", err)
		}
	}
	inner, server, err := startLiveKit()
	if err != nil {
		return err
	}
	served := make(chan error, 2)
	go func() { served <- server.Start() }()

	target := &url.URL{Scheme: "http", Host: inner}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServer(http.Dir(page))))
	mux.HandleFunc("GET /rooms/{room}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(page, "index.html"))
	})
	mux.HandleFunc("GET /api/token", func(w http.ResponseWriter, r *http.Request) {
		name, room := strings.TrimSpace(r.FormValue("name")), r.FormValue("room")
		if name == "" || len(name) > 100 || room == "" || len(room) > 100 {
			http.Error(w, "Please enter a name", http.StatusBadRequest)
			return
		}
		token, err := accessToken(room, name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, token)
	})
	mux.Handle("/", proxy)
	pages := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { served <- pages.Serve(l) }()

	if err := awake(ctx, inner); err != nil {
		server.Stop(true)
		return err
	}
	fmt.Printf("http://%s/rooms/%s\n", l.Addr(), room)
	select {
	case <-ctx.Done():
		err = nil
	case err = <-served:
	}
	_ = pages.Close()
	server.Stop(true)
	return err
}

func accessToken(room, name string) (string, error) {
	var b [4]byte
	rand.Read(b[:])
	identity := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)) + "-" + hex.EncodeToString(b[:])
	return auth.NewAccessToken(apiKey, apiSecret).SetIdentity(identity).SetName(name).SetValidFor(12 * time.Hour).
		SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Room: room}).ToJWT()
}

// startLiveKit makes the server on ports of its own, on loopback.
func startLiveKit() (address string, server *service.LivekitServer, err error) {
	var ports [2]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return "", nil, err
		}
	}
	text := fmt.Sprintf(`
port: %d
bind_addresses: ["127.0.0.1"]
rtc:
  tcp_port: %d
  port_range_start: 50000
  port_range_end: 60000
  node_ip: 127.0.0.1
  enable_loopback_candidate: true
  use_external_ip: false
keys:
  %s: %s
logging:
  level: error
room:
  empty_timeout: 30
  departure_timeout: 5
`, ports[0], ports[1], apiKey, apiSecret)
	conf, err := config.NewConfig(text, true, nil, nil)
	if err != nil {
		return "", nil, err
	}
	config.InitLoggerFromConfig(&conf.Logging)
	node, err := routing.NewLocalNode(conf)
	if err != nil {
		return "", nil, err
	}
	if err := prometheus.Init(string(node.NodeID()), node.NodeType()); err != nil {
		return "", nil, err
	}
	if server, err = service.InitializeServer(conf, node); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), server, nil
}

// awake waits until the server answers.
func awake(ctx context.Context, address string) error {
	ctx, cancel := within(ctx, 20*time.Second)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
		if err != nil {
			return err
		}
		if a, err := http.DefaultClient.Do(r); err == nil {
			_ = a.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("LiveKit does not answer: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// remove puts a participant out, as a host does.
func remove(ctx context.Context, link, identity string) error {
	server, room, err := split(link)
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, 10*time.Second)
	defer cancel()
	_, err = lksdk.NewRoomServiceClient(server, apiKey, apiSecret).RemoveParticipant(ctx, &livekit.RoomParticipantIdentity{Room: room, Identity: identity})
	return err
}

// end ends the meeting for everyone.
func end(ctx context.Context, link string) error {
	server, room, err := split(link)
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, 10*time.Second)
	defer cancel()
	_, err = lksdk.NewRoomServiceClient(server, apiKey, apiSecret).DeleteRoom(ctx, &livekit.DeleteRoomRequest{Room: room})
	return err
}
