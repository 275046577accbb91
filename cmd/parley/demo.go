package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"parley/cmd/parley/internal/figures"
	"parley/internal/settings"
	"parley/room"
	"parley/tool"
)

type demoOptions struct {
	talk bool
	open bool
	json bool
	keep string
}

var demoCommand = &command{
	name:  "demo",
	args:  "[--conversation] [--open] [--keep FOLDER] [--json]",
	short: "a meeting from end to end, on this machine, with two recorded human voices",
	long: `Runs a room, lets two guests with recorded human voices talk in it, and attends through MCP as an agent
would: the bot joins with a real browser, says who it is, records, writes down who says what, answers aloud,
and leaves a file behind. In a second meeting somebody asks not to be recorded. It ends with the figures.
--conversation lets two guests talk with the bot instead: its agent answers in the meeting's channel, is interrupted
and yields, is told that a speaker goes on, and has a draft said; it ends with a picture of who spoke when.
--open keeps a room up instead and prints its link: open it in a browser and talk; the bot repeats what it
understood, falls silent when you stop it, and obeys "please don't record" in the chat.`,
	example: "parley demo\nparley demo --conversation --keep notes\nparley demo --open",
	flags: func(fs *flag.FlagSet) any {
		o := &demoOptions{}
		fs.BoolVar(&o.talk, "conversation", false, "two guests talk with the bot; ends with a picture of who spoke when")
		fs.BoolVar(&o.open, "open", false, "keep a room up and print its link, to talk with the bot")
		fs.StringVar(&o.keep, "keep", "", "`folder` in which recording and transcript stay; otherwise nothing stays")
		fs.BoolVar(&o.json, "json", false, "print the figures as one JSON object, everything else on standard error")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*demoOptions)
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		d := &demo{env: env, o: o, out: env.stdout}
		if o.json {
			d.out = env.stderr
		}
		return d.run(ctx)
	},
}

// demo is one run.
type demo struct {
	env  *environment
	o    *demoOptions
	out  io.Writer
	log  *slog.Logger
	dir  string // of this run
	room *room.Server
	rows []figures.Row
	open []func() // what close undoes, in reverse
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) run(ctx context.Context) (err error) {
	v, err := loadSettings(nil)
	if err != nil {
		return err
	}
	if !modelsThere(v) {
		return fail(exitMissing, "the speech models are missing: make setup, or parley models fetch")
	}
	if what, remedy := missing(); what != "" {
		return fail(exitMissing, "%s. %s", what, remedy)
	}
	d.log = quietLogger(d.env, v)
	if d.dir, err = os.MkdirTemp("", "parley-demo-"+strconv.Itoa(os.Getpid())+"-"); err != nil {
		return err
	}
	d.later(func() { _ = os.RemoveAll(d.dir) })
	defer d.close()

	if d.room, err = room.New(room.Options{Listen: "127.0.0.1:0", Log: d.log}); err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // the room outlives Ctrl-C until the bot has left
	served := make(chan error, 1)
	go func() { served <- d.room.Serve(serving) }()
	d.later(func() { stop(); <-served })

	if d.o.open {
		return d.openHouse(ctx)
	}
	machine := figures.Here()
	began := time.Now()
	if d.o.talk {
		if err := d.conversation(ctx); err != nil {
			return fmt.Errorf("conversation: %w", err)
		}
		return d.finish(machine, began, "demo-conversation")
	}
	if err := d.firstMeeting(ctx); err != nil {
		return fmt.Errorf("first meeting: %w", err)
	}
	if err := d.secondMeeting(ctx); err != nil {
		return fmt.Errorf("second meeting: %w", err)
	}
	return d.finish(machine, began, "demo")
}

// finish shows the figures.
func (d *demo) finish(machine figures.Machine, began time.Time, suite string) error {
	d.say("\ndone in %.0f s. parley demo --open lets you talk with it.", time.Since(began).Seconds())
	s := figures.Suite{Suite: suite, Machine: machine, Rows: d.rows}
	if d.o.json {
		return s.JSON(d.env.stdout)
	}
	d.say("")
	return s.Text(d.env.stdout)
}

func (d *demo) later(f func()) { d.open = append(d.open, f) }

func (d *demo) close() {
	for i := len(d.open) - 1; i >= 0; i-- {
		d.open[i]()
	}
}

// agent starts a service of its own and connects to it as an MCP client would.
func (d *demo) agent(ctx context.Context, name string, flags map[string]string) (*agent, error) {
	all := map[string]string{"PARLEY_DATA": filepath.Join(d.dir, name), "PARLEY_TOKENS": "", "PARLEY_BASE_URL": ""}
	for k, v := range flags {
		all[k] = v
	}
	base, err := settings.Load(settings.Options{})
	if err != nil {
		return nil, err
	}
	all["PARLEY_MODELS"] = modelsDir(base)
	v, err := settings.Load(settings.Options{Flags: all})
	if err != nil {
		return nil, err
	}
	a, err := startAgent(ctx, v, d.log)
	if err != nil {
		return nil, err
	}
	d.later(a.close)
	return a, nil
}

// openHouse keeps a room up for a person.
func (d *demo) openHouse(ctx context.Context) error {
	a, err := d.agent(ctx, "open", nil)
	if err != nil {
		return err
	}
	link := d.room.Link(room.NewID())
	d.say("open this in a browser and talk (Ctrl-C ends it):\n\n  %s\n", link)
	var st tool.Status
	if err := a.call(ctx, "meeting_join", map[string]any{"url": link, "alone_leave_sec": 7200, "leave_on_optout": false}, &st); err != nil {
		return err
	}
	hangup, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = a.listen(hangup, st.Meeting, st.Next, func(ev tool.Event) error {
		d.show(ev)
		if ev.Line != nil && ev.Line.Final && ev.Line.Rev == 0 && !ev.Line.Echo {
			text := "I heard: " + ev.Line.Text
			go func() {
				if err := a.call(ctx, "meeting_speak", map[string]any{"meeting_id": st.Meeting, "text": text, "interrupt": true}, nil); err != nil {
					d.say("! %v", err)
				}
			}()
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), 25*time.Second)
		defer cancel()
		return a.call(leave, "meeting_leave", map[string]any{"meeting_id": st.Meeting}, nil)
	}
	return err
}

// show prints an event the way the demo tells its story.
func (d *demo) show(ev tool.Event) {
	switch {
	case ev.Line != nil && ev.Line.Final:
		who := "somebody"
		if ev.Line.Speaker != nil && ev.Line.Speaker.Name != "" {
			who = plain(ev.Line.Speaker.Name)
		}
		note := ""
		if ev.Line.Rev > 0 {
			note = "  (corrected)"
		}
		d.say("  %s  %-8s %s%s", clock(ev.Line.Start), who+":", plain(ev.Line.Text), note)
	case ev.Chat != nil && !ev.Chat.Own:
		d.say("  chat   %s wrote: %s", plain(ev.Chat.Sender), plain(ev.Chat.Text))
	case ev.Chat != nil:
		text := plain(ev.Chat.Text)
		if i := strings.Index(text, " / "); i > 0 {
			text = text[:i] + " …"
		}
		d.say("  chat   the bot wrote: %s", text)
	case ev.Question != nil, ev.Optout != nil, ev.Announce != nil, ev.End != nil:
		if s := ev.Own(); s != "" {
			d.say("  event  %s", s)
		}
	}
}
