package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"parley/room/guest"
	"parley/room/wire"
)

type guestOptions struct {
	guest  guest.Options
	script guest.Script
	play   stringList
}

// stringList is a flag that may be given more than once.
type stringList []string

func (l *stringList) String() string     { return "" }
func (l *stringList) Set(s string) error { *l = append(*l, s); return nil }

var guestCommand = &command{
	name:  "guest",
	args:  "ROOM-URL [flags]",
	short: "a scripted participant of a room: plays files, chats, records what it hears",
	long: `Joins a room of parley room without a browser, plays files, writes into the chat, records what it
hears, and prints what it sees as JSON lines on standard output (chat included). It stays until it is told
to end (SIGTERM, Ctrl-C), then leaves politely and finishes its recording. Its exit codes are those of
parley join.`,
	example: "parley guest http://127.0.0.1:7370/room/demo --name Ada --play hello.wav --record heard.wav",
	flags: func(set *flag.FlagSet) any {
		o := &guestOptions{}
		set.StringVar(&o.guest.Name, "name", "Guest", "display `name`")
		set.Var(&o.play, "play", "`file` to play, of any format that ffmpeg reads; may be given more than once")
		set.StringVar(&o.guest.Record, "record", "", "`file` for what it hears: .wav, .ogg or .opus")
		set.StringVar(&o.script.Chat, "chat", "", "`text` to write into the chat")
		set.DurationVar(&o.script.Delay, "delay", 0, "how long to wait after being let in, such as 2s; a plain number is seconds")
		set.BoolVar(&o.guest.Muted, "muted", false, "come in with the microphone off")
		set.BoolVar(&o.script.LeaveAfter, "leave", false, "leave when everything was played")
		set.Lookup("delay").Value = &secondsFlag{&o.script.Delay}
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*guestOptions)
		if len(args) != 1 {
			return fail(exitUsage, "it takes one argument, the link of a room")
		}
		o.guest.URL, o.script.Play = args[0], o.play
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		o.guest.Log = logger(env, v).With(slog.String("part", "guest"))
		var mu sync.Mutex
		joined := false
		out := json.NewEncoder(env.stdout)
		err = guest.Run(ctx, o.guest, o.script, func(e guest.Event) {
			mu.Lock()
			defer mu.Unlock()
			joined = joined || e.Kind == guest.Joined
			_ = out.Encode(e) // a reader that went away does not end the meeting
		})
		mu.Lock()
		defer mu.Unlock()
		return guestEnd(err, joined)
	},
}

// guestEnd gives the end of a guest the exit code that parley join has for an end like it.
func guestEnd(err error, joined bool) error {
	var out *guest.Out
	switch {
	case errors.Is(err, guest.ErrLink), errors.Is(err, fs.ErrNotExist):
		return &exitError{exitUsage, err}
	case errors.Is(err, exec.ErrNotFound): // ffmpeg
		return &exitError{exitMissing, err}
	case !errors.As(err, &out):
		return err
	}
	switch out.Reason {
	case wire.ReasonBadName:
		return &exitError{exitUsage, err}
	case wire.ReasonLeft:
		return nil
	case wire.ReasonEnded, wire.ReasonShutdown:
		if joined {
			return nil // the meeting is over
		}
		return &exitError{exitRefused, err}
	case wire.ReasonFull, wire.ReasonBusy, wire.ReasonDeclined, wire.ReasonRemoved, wire.ReasonUnreachable:
		return &exitError{exitRefused, err}
	}
	return err
}

// secondsFlag takes "2s", "1m30s" or a plain number of seconds.
type secondsFlag struct{ d *time.Duration }

func (f *secondsFlag) String() string {
	if f.d == nil {
		return "0s"
	}
	return f.d.String()
}

func (f *secondsFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d < 0 {
		return errors.New("it is not a time such as 2s")
	}
	*f.d = d
	return nil
}
