// Command parley gives an agent a seat in the meeting: the service, its tools and everything a person needs to try it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// version is set when linking.
var version = "unknown"

// The exit codes, as `parley help exit-codes` prints them.
const (
	exitOK          = 0
	exitFailed      = 1 // it was tried and did not work; the message says why
	exitUsage       = 2 // wrong arguments or settings; nothing was tried
	exitMissing     = 3 // something is missing on this machine; parley doctor says what
	exitRefused     = 4 // the meeting, the platform or the service said no
	exitInterrupted = 130
)

const exitCodesHelp = `exit codes:
  0    done
  1    it was tried and did not work; the message says why
  2    wrong arguments or settings; nothing was tried
  3    something is missing on this machine; parley doctor says what to do
  4    the meeting, the platform or the service said no
  130  interrupted
`

// command is one word after parley.
type command struct {
	name    string
	args    string // "URL [flags]"
	short   string // one line
	long    string // what it does, for --help
	example string
	// hidden commands are for the program itself.
	hidden bool
	flags  func(*flag.FlagSet) any
	run    func(ctx context.Context, env *environment, opts any, args []string) error
}

// environment is what a command gets of the world around it.
type environment struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// exitError carries an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func fail(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

func main() {
	// The worker handles its signals itself, as one cause with the end of its pipe.
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		os.Exit(workerMain())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader that goes away (parley join … | head) is a person who leaves: Go would end the process on the spot.
	piped := make(chan os.Signal, 1)
	signal.Notify(piped, syscall.SIGPIPE)
	env := &environment{os.Stdin, &reader{os.Stdout, stop}, os.Stderr}
	code := dispatch(ctx, env, os.Args[1:])
	stop()
	os.Exit(code)
}

// reader is who reads our output. When it has gone, everything ends as after an interrupt.
type reader struct {
	io.Writer
	gone func()
}

func (r *reader) Write(b []byte) (int, error) {
	n, err := r.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		r.gone()
	}
	return n, err
}

func dispatch(ctx context.Context, env *environment, args []string) int {
	if len(args) == 0 {
		usage(env.stderr)
		return exitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "--help":
		if len(args) > 1 {
			return help(env, args[1])
		}
		usage(env.stdout)
		return exitOK
	case "--version":
		name = "version"
	}
	for _, c := range commands() {
		if c.name == name {
			return c.execute(ctx, env, args[1:])
		}
	}
	fmt.Fprintf(env.stderr, "parley: there is no command %q. parley help lists them.\n", name)
	return exitUsage
}

func (c *command) execute(ctx context.Context, env *environment, args []string) int {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var opts any
	if c.flags != nil {
		opts = c.flags(fs)
	}
	rest, err := parseFlags(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.help(env.stdout, fs)
		return exitOK
	case err != nil:
		fmt.Fprintf(env.stderr, "parley %s: %v. parley %s --help says more.\n", c.name, err, c.name)
		return exitUsage
	}
	err = c.run(ctx, env, opts, rest)
	if err == nil {
		return exitOK
	}
	var e *exitError
	code := exitFailed
	if errors.As(err, &e) {
		code = e.code
	} else if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		code = exitInterrupted
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintf(env.stderr, "parley %s: %s\n", c.name, msg)
	}
	return code
}

// parseFlags lets flags stand before and after the other arguments.
func parseFlags(fs *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		args = fs.Args()
		if len(args) == 0 {
			return rest, nil
		}
		// What follows "--" is never a flag; Parse has eaten the "--" itself.
		rest = append(rest, args[0])
		args = args[1:]
	}
}

func help(env *environment, name string) int {
	if name == "exit-codes" {
		fmt.Fprint(env.stdout, exitCodesHelp)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
			if c.flags != nil {
				c.flags(fs)
			}
			c.help(env.stdout, fs)
			return exitOK
		}
	}
	fmt.Fprintf(env.stderr, "parley: there is no command %q\n", name)
	return exitUsage
}

func (c *command) help(w io.Writer, fs *flag.FlagSet) {
	fmt.Fprintf(w, "usage: parley %s\n\n%s\n", strings.TrimSpace(c.name+" "+c.args), strings.TrimSpace(c.long))
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(w, "\nflags:\n")
			first = false
		}
		arg, text := flag.UnquoteUsage(f)
		line := "  --" + f.Name
		if arg != "" {
			line += " " + strings.ToUpper(arg)
		}
		fmt.Fprintf(w, "%-28s %s", line, text)
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "0s" {
			fmt.Fprintf(w, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(w)
	})
	if c.example != "" {
		fmt.Fprintf(w, "\nexample:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(c.example), "\n", "\n  "))
	}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "parley gives an AI agent a seat in the meeting.\n\nusage: parley COMMAND [arguments]\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
		}
	}
	fmt.Fprint(w, "\nparley COMMAND --help says more about one. parley help exit-codes lists the exit codes.\n")
}
