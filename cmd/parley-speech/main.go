// Command parley-speech hears and speaks for all meetings on this machine, with models that run here.
//
// Clients start it when they need it and share it; it ends by itself some seconds after the last one. It is a second
// program because the models' runtime is native code: its faults must not take a meeting with them.
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
	"syscall"
	"time"

	"parley/speech/local"
	"parley/speech/server"
	"parley/speech/wire"
)

const help = `Usage: parley-speech --run DIR --models DIR [--weak] [--cache DIR]

Hears and speaks for all meetings on this machine. Programs that need it start it; by hand it is useful to look at its
log. It serves the socket ` + wire.SocketName + ` in the run folder and ends some seconds after its last client.

Example: parley-speech --run /run/user/1000/parley --models ~/.local/share/parley/models

Exit status: 0 nobody needs it any more, or it was asked to end; 64 its arguments are wrong, or another one serves the
run folder; 69 a model is missing or broken; anything else: it died.

`

// config is the command line.
type config struct {
	run, models, cache string
	weak, inherited    bool
	idle               time.Duration
	nice               int
}

func main() {
	c, err := parse(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		err = run(ctx, c)
	}
	if err != nil {
		// Clients that started us read this line: the name, then one sentence.
		fmt.Fprintf(os.Stderr, "%s: %v\n", local.BinaryName, err)
		os.Exit(exitCode(err))
	}
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	f := flag.NewFlagSet(local.BinaryName, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.run, "run", "", "the private folder with socket, lock and log")
	f.StringVar(&c.models, "models", "", "the folder of the models")
	f.StringVar(&c.cache, "cache", "", "where the sound of common openers is kept (default: in the run folder)")
	f.BoolVar(&c.weak, "weak", false, "the small model only: English, for machines with little memory")
	f.BoolVar(&c.inherited, "inherited", false, "lock and socket are descriptors 3 and 4")
	f.DurationVar(&c.idle, "idle", 5*time.Second, "how long to stay after the last client")
	f.IntVar(&c.nice, "nice", 5, "how far to stand back behind the meetings themselves")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, help)
		f.SetOutput(out)
		f.PrintDefaults()
		return c, err
	case err != nil:
		return c, usageError{err}
	case c.run == "" || c.models == "":
		return c, usageError{errors.New("--run and --models are needed")}
	case f.NArg() > 0:
		return c, usageError{fmt.Errorf("%q was not expected", f.Arg(0))}
	}
	if c.cache == "" {
		c.cache = filepath.Join(c.run, "voice")
	}
	return c, nil
}

// usageError is an error of whoever started us.
type usageError struct{ error }

// modelsError says what is missing or broken.
type modelsError struct{ error }

func (e usageError) Unwrap() error  { return e.error }
func (e modelsError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage usageError
	var models modelsError
	switch {
	case errors.As(err, &usage):
		return local.ExitUsage
	case errors.As(err, &models):
		return local.ExitModels
	}
	return 1
}

// run serves until nobody needs it.
func run(ctx context.Context, c config) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	claim, err := claimOf(c)
	if err != nil {
		return usageError{err}
	}
	defer claim.Release()
	listener, err := claim.Listener()
	if err != nil {
		return err
	}
	if err := lowerPriority(c.nice); err != nil {
		log.Warn("priority not lowered", "err", err)
	}
	log.Info("speech process", "pid", os.Getpid(), "weak", c.weak)
	l := &loader{c: c, log: log}
	srv := server.New(server.Options{
		Listener:  listener,
		Load:      l.hear,
		LoadVoice: l.voice,
		Voices:    l.voices,
		Sounds:    server.NewSounds(c.cache),
		IdleAfter: c.idle,
		MaxRSS:    maxRSS,
		Log:       log,
		Stuck: func(what string) {
			// Native code cannot be interrupted for sure. Whoever waits gets a new process and loses nothing.
			fmt.Fprintf(os.Stderr, "%s: %s does not answer any more\n", local.BinaryName, what)
			os.Exit(1)
		},
	})
	return srv.Run(ctx)
}

// maxRSS is twice what the process holds with everything loaded and used.
const maxRSS = 1800 << 20

func claimOf(c config) (*wire.Claim, error) {
	if c.inherited {
		return wire.InheritedClaim(c.run)
	}
	return wire.NewClaim(c.run)
}
