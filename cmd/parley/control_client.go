package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/control/connection"
	"parley/control/dial"
	"parley/control/keys"
	"parley/control/trusted"
	"parley/control/wire"
)

type controlOptions struct {
	connection string
	request    string
	timeout    time.Duration
}

var controlCommand = &command{
	name:  "control",
	args:  "ACTION [JSON] | admin WORD [ARGUMENT]",
	short: "one action through the control endpoint of a running service (PARLEY_CONTROL=1)",
	long: `Does one action through the control endpoint and prints its result, as docs/control.md describes both. It reads the
connection file, believes nothing that the keys in it did not sign, speaks to a literal loopback address alone, follows no
redirect, uses no proxy and gives up at its deadline. Standard error says what was done; a failure ends with code 1.
The request can stand in a file (--request) of at most 32 KiB: {"action":"read","args":{}}. Delete it afterwards.
admin gives the account's own orders, which no action reaches:
` + adminHelp(),
	example: "PARLEY_CONTROL=1 parley serve\nparley control sessions\nparley control navigate '{\"url\":\"https://example.org/\"}'\nparley control admin publish policy.json",
	flags: func(fs *flag.FlagSet) any {
		o := &controlOptions{}
		fs.StringVar(&o.connection, "connection", "", "`path` of the connection file; default: control.json in the data folder")
		fs.StringVar(&o.request, "request", "", "`path` of a file with the request")
		fs.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long it may take in all")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*controlOptions)
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		if o.timeout <= 0 || o.timeout > 10*time.Minute {
			return fail(exitUsage, "--timeout is up to 10m")
		}
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		if len(args) > 0 && args[0] == "admin" {
			return controlAdmin(ctx, env, dataDir(v), args[1:])
		}
		r, err := o.read(args)
		if err != nil {
			return err
		}
		path := o.connection
		if path == "" {
			path = connectionPath(v)
		}
		return controlOnce(ctx, env, path, r)
	},
}

// read takes the request from the arguments or from its file.
func (o *controlOptions) read(args []string) (wire.Request, error) {
	if o.request != "" {
		if len(args) > 0 {
			return wire.Request{}, fail(exitUsage, "it takes an action or --request, not both")
		}
		f, err := os.Open(o.request)
		if err != nil {
			return wire.Request{}, fmt.Errorf("the request: %w", err)
		}
		defer f.Close()
		raw, err := io.ReadAll(io.LimitReader(f, wire.MaxRequest+1))
		if err != nil {
			return wire.Request{}, fmt.Errorf("the request: %w", err)
		}
		r, err := wire.ParseRequest(raw)
		if errors.Is(err, wire.ErrTooLong) {
			return r, fail(exitFailed, "the request has more than %d bytes", wire.MaxRequest)
		}
		if err != nil {
			return r, fail(exitUsage, `the request is not {"action": …, "args": {…}}`)
		}
		return r, nil
	}
	if len(args) < 1 || len(args) > 2 {
		return wire.Request{}, fail(exitUsage, "it takes an action and perhaps its arguments as JSON")
	}
	r := wire.Request{Action: args[0], Args: json.RawMessage("{}")}
	if len(args) == 2 {
		r.Args = json.RawMessage(args[1])
	}
	raw, err := r.Bytes()
	if err != nil {
		return r, fail(exitUsage, "the arguments are no JSON object")
	}
	if r, err = wire.ParseRequest(raw); err != nil {
		return r, fail(exitUsage, "the arguments are no JSON object, or too long")
	}
	return r, nil
}

// controlOnce does one action and prints what it gave.
func controlOnce(ctx context.Context, env *environment, path string, r wire.Request) error {
	address, end, err := connection.Read(keys.At(filepath.Dir(path)), filepath.Base(path))
	if errors.Is(err, keys.ErrNone) {
		return fmt.Errorf("%s is not there: is parley serve running with PARLEY_CONTROL=1?", path)
	}
	if err != nil {
		return err
	}
	c, err := dial.New(address, end)
	if err != nil {
		return err
	}
	defer c.Close()
	begin := time.Now()
	reply, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	took := time.Since(begin).Round(time.Millisecond)
	if !reply.OK() {
		return fmt.Errorf("%s as %s (generation %d): %s (%d)", r.Action, end.Principal.ID, end.Principal.Generation, reply.Code, reply.Status())
	}
	var out bytes.Buffer
	if err := json.Indent(&out, reply.Result, "", "  "); err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, out.String())
	fmt.Fprintf(env.stderr, "parley control: %s as %s (generation %d) at %s: done in %s\n", r.Action, end.Principal.ID, end.Principal.Generation, address, took)
	return nil
}

func controlAdmin(ctx context.Context, env *environment, data string, args []string) error {
	if len(args) == 0 || !isAdmin(args[0]) {
		return fail(exitUsage, "admin takes one of its words; parley control --help lists them")
	}
	word := args[0]
	var body any
	var err error
	switch word {
	case "publish", "add-login":
		if len(args) != 2 {
			return fail(exitUsage, "admin %s takes a file", word)
		}
		raw, e := os.ReadFile(args[1])
		if e != nil {
			return e
		}
		body = json.RawMessage(raw)
		if !json.Valid(raw) {
			return fail(exitUsage, "%s is no JSON", args[1])
		}
	case "issue", "remove-login":
		if len(args) != 2 {
			return fail(exitUsage, "admin %s takes a name", word)
		}
		body = args[1]
	case "init-vault", "unlock":
		if body, err = passphrase(env.stdin); err != nil {
			return err
		}
	default:
		if len(args) != 1 {
			return fail(exitUsage, "admin %s takes nothing", word)
		}
	}
	var result json.RawMessage
	if err := trusted.Ask(ctx, trustedDir(data), word, body, &result); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, result, "", "  "); err != nil {
		return err
	}
	fmt.Fprintln(env.stdout, out.String())
	return nil
}

// passphrase is the first line of standard input: an argument would stand in the list of processes.
func passphrase(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", fail(exitUsage, "the passphrase is the first line of standard input")
	}
	return line, nil
}
