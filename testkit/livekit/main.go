// Command parley-livekit is a real conference that nobody of ours wrote, for tests: LiveKit's server with LiveKit's
// prebuilt page, and a participant made with LiveKit's own library.
//
//	parley-livekit serve --page DIR [--listen 127.0.0.1:7880]    prints the link of a room on a line of its own
//	parley-livekit guest LINK --name N [--play FILE] [--record FILE.wav] [--chat TEXT] [--delay 2s] [--orders]
//	parley-livekit remove LINK IDENTITY
//	parley-livekit end LINK
//
// It is a module of its own: LiveKit needs other versions of the WebRTC library than the product does.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path"
	"syscall"
	"time"
)

// The key and secret of the development server, which listens on loopback only.
const (
	apiKey    = "devkey"
	apiSecret = "not-a-secret-only-for-tests-on-loopback"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parley-livekit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want serve, guest, remove or end")
	}
	switch args[0] {
	case "serve":
		flags := flag.NewFlagSet("serve", flag.ContinueOnError)
		listen := flags.String("listen", "127.0.0.1:7880", "loopback `address` of the page and the signalling")
		page := flags.String("page", "", "`folder` with the bundled page")
		room := flags.String("room", "demo", "`name` of the room to print a link of")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return serve(ctx, *listen, *page, *room)
	case "guest":
		if len(args) < 2 {
			return fmt.Errorf("guest: want the link of a room")
		}
		flags := flag.NewFlagSet("guest", flag.ContinueOnError)
		o := guestOptions{link: args[1]}
		flags.StringVar(&o.name, "name", "Guest", "display `name`")
		flags.StringVar(&o.play, "play", "", "`file` to play")
		flags.StringVar(&o.record, "record", "", "WAV `file` for what is heard")
		flags.StringVar(&o.chat, "chat", "", "`text` to write into the chat")
		orders := flags.Bool("orders", false, "read orders, one JSON object a line: {\"say\": TEXT}, {\"on\": true}, {\"play\": FILE}")
		flags.DurationVar(&o.delay, "delay", 0, "how long to `wait` before playing and writing")
		if err := flags.Parse(args[2:]); err != nil {
			return err
		}
		if *orders {
			o.orders = os.Stdin
		}
		return attend(ctx, o)
	case "remove":
		if len(args) != 3 {
			return fmt.Errorf("remove: want the link of a room and an identity")
		}
		return remove(ctx, args[1], args[2])
	case "end":
		if len(args) != 2 {
			return fmt.Errorf("end: want the link of a room")
		}
		return end(ctx, args[1])
	}
	return fmt.Errorf("%q is none of serve, guest, remove, end", args[0])
}

// split takes a link apart into the server's address and the room's name.
func split(link string) (server, room string, err error) {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || path.Dir(u.Path) != "/rooms" {
		return "", "", fmt.Errorf("%q is not the link of a room", link)
	}
	return "http://" + u.Host, path.Base(u.Path), nil
}

// freePort finds a port on loopback.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// within bounds a call that has no other bound.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
