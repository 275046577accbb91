package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"parley/internal/settings"
	"parley/room"
)

type roomOptions struct {
	listen, base, name, origins string
	lobby                       bool
	people                      int
}

var roomCommand = &command{
	name:  "room",
	args:  "[flags]",
	short: "the built-in conference: prints a link that people and bots join",
	long: `Runs the built-in conference and prints the link of a room, on a line of its own. Open it in a browser
to talk; give it to parley join or meeting_join to send the bot. Rooms of other names are made by opening
http://<listen>/room/<name>. Browsers give a microphone to pages on this machine or over https only.`,
	example: "parley room --listen 127.0.0.1:7370",
	flags: func(fs *flag.FlagSet) any {
		o := &roomOptions{}
		fs.StringVar(&o.listen, "listen", "127.0.0.1:7370", "`host:port` of the pages and of the sound (TCP and UDP); port 0 picks one")
		fs.StringVar(&o.base, "base-url", "", "what links begin with, where people come in through a proxy")
		fs.StringVar(&o.name, "name", "", "`name` of the room; a new one when empty")
		fs.StringVar(&o.origins, "origins", "", "further hosts whose pages may connect, separated by commas")
		fs.BoolVar(&o.lobby, "lobby", false, "newcomers wait until somebody inside lets them in")
		fs.IntVar(&o.people, "people", 16, "how many fit in a room, up to 16")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*roomOptions)
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		if o.people < 1 || o.people > 16 {
			return fail(exitUsage, "--people must be between 1 and 16")
		}
		if _, _, err := net.SplitHostPort(o.listen); err != nil {
			return fail(exitUsage, "--listen %q is not host:port", o.listen)
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		if o.name == "" {
			o.name = room.NewID()
		} else if !room.ValidID(o.name) {
			return fail(exitUsage, "a room cannot be called %q: use letters, digits and dashes", o.name)
		}
		var origins []string
		for _, h := range strings.Split(o.origins, ",") {
			if h = strings.TrimSpace(h); h != "" {
				origins = append(origins, h)
			}
		}
		s, err := room.New(room.Options{
			Listen: o.listen, BaseURL: o.base, Lobby: o.lobby, MaxPeople: o.people, Origins: origins, Log: logger(env, v),
		})
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return fail(exitFailed, "%s is in use: another parley room may run; stop it, or give --listen another port", o.listen)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return fail(exitFailed, "%s is no address of this machine; give --listen one that is", o.listen)
		case err != nil:
			return err
		}
		fmt.Fprintln(env.stdout, s.Link(o.name))
		return s.Serve(ctx)
	},
}

// logger writes to standard error at the level that is set.
func logger(env *environment, v *settings.Values) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[v.String("PARLEY_LOG_LEVEL")]
	return slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: level}))
}

// quietLogger is for commands that talk to a person: only warnings, unless a level is set.
func quietLogger(env *environment, v *settings.Values) *slog.Logger {
	if quietLevel(v) != "warn" {
		return logger(env, v)
	}
	return slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func quietLevel(v *settings.Values) string {
	if v.From("PARLEY_LOG_LEVEL") != settings.FromDefault {
		return v.String("PARLEY_LOG_LEVEL")
	}
	return "warn"
}
