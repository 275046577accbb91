package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"parley/internal/settings"
	"parley/tenant"
	"parley/tool"
)

// politeEnd is how long meetings have to leave and everything to close when the service is told to end.
const politeEnd = 30 * time.Second

type serveOptions struct{ listen string }

var serveCommand = &command{
	name:  "serve",
	args:  "[--listen host:port]",
	short: "the service: MCP over WebSocket and HTTP, one-time links, health",
	long: `Runs the service until it is told to end (SIGTERM, Ctrl-C); every meeting then leaves politely first.
MCP clients connect to /mcp, by WebSocket or Streamable HTTP, with a bearer token. Without PARLEY_TOKENS the
first start makes a token, writes it to the file token in the data folder, and prints the lines to paste into
a client. /healthz, /readyz and /metrics are there for machines.`,
	example: "parley serve\nPARLEY_LISTEN=127.0.0.1:9000 parley serve",
	flags: func(fs *flag.FlagSet) any {
		o := &serveOptions{}
		fs.StringVar(&o.listen, "listen", "", "`host:port` instead of PARLEY_LISTEN")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		flags := map[string]string{}
		if l := opts.(*serveOptions).listen; l != "" {
			flags["PARLEY_LISTEN"] = l
		}
		v, err := loadSettings(flags)
		if err != nil {
			return err
		}
		for _, name := range settings.Unknown(os.Environ()) {
			fmt.Fprintf(env.stderr, "parley serve: warning: %s is in the environment, and there is no such setting\n", name)
		}
		l, err := listen(v.String("PARLEY_LISTEN"))
		if err != nil {
			return err
		}
		a, err := newApp(ctx, v, appOptions{log: logger(env, v), needToken: true, control: true})
		if err != nil {
			_ = l.Close()
			return err
		}
		defer a.closeWithin(politeEnd)
		a.greet(env.stdout, "http://"+l.Addr().String())
		return a.serve(ctx, l)
	},
}

// listen opens the listener, with what to do when it cannot.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fail(exitFailed, "%s is in use: another parley serve may run; stop it, or set PARLEY_LISTEN to another port", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fail(exitFailed, "%s is no address of this machine; set PARLEY_LISTEN to one that is", address)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// greet says where the service is and, at the first start, how to connect.
func (a *app) greet(w io.Writer, base string) {
	if b := a.v.String("PARLEY_BASE_URL"); b != "" {
		base = b
	}
	fmt.Fprintf(w, "parley %s serves MCP at %s/mcp\n", version, base)
	file := filepath.Join(dataDir(a.v), tenant.LocalTokenFile)
	if a.firstToken == "" {
		if a.v.String("PARLEY_TOKENS") == "" {
			fmt.Fprintf(w, "the token is in %s\n", file)
		}
		return
	}
	config, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"parley": map[string]any{
		"type": "http", "url": base + "/mcp", "headers": map[string]string{"Authorization": "Bearer " + a.firstToken},
	}}}, "", "  ")
	fmt.Fprintf(w, "\nThis is the first start. A token was made; it is shown here once and kept in %s.\nPaste this into your MCP client:\n\n%s\n\n", file, config)
	fmt.Fprintf(w, "Claude Code:  claude mcp add --transport http parley %s/mcp --header \"Authorization: Bearer %s\"\n\n", base, a.firstToken)
}

var stdioCommand = &command{
	name:  "stdio",
	short: "MCP over standard input and output, for a client that starts it; no separate service needed",
	long: `Answers one MCP client on standard input and output. Meetings run as processes of their own; when the
input ends they leave politely. One-time links are served on PARLEY_LISTEN when it is set, else on a free
port of this machine. It acts for PARLEY_TENANT.`,
	example: `parley stdio       (as the command of an MCP server in a client's configuration)`,
	run: func(ctx context.Context, env *environment, _ any, args []string) error {
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		address := "127.0.0.1:0"
		if v.From("PARLEY_LISTEN") != settings.FromDefault {
			address = v.String("PARLEY_LISTEN")
		}
		l, err := listen(address)
		if err != nil {
			return err
		}
		base := "http://" + l.Addr().String()
		a, err := newApp(ctx, v, appOptions{log: logger(env, v), linksAt: base, needToken: true})
		if err != nil {
			_ = l.Close()
			return err
		}
		defer a.closeWithin(politeEnd)
		t, err := a.registry.Local(tenant.ID(v.String("PARLEY_TENANT")))
		if err != nil {
			_ = l.Close()
			return &exitError{exitUsage, err}
		}
		serving := make(chan error, 1)
		go func() { serving <- a.server.Serve(l) }() // ends with the server's Close
		in, ok := env.stdin.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(env.stdin)
		}
		by := tool.Caller{Principal: tenant.Principal{Tenant: t}, Transport: "stdio", BaseURL: strings.TrimSuffix(base, "/")}
		return a.server.ServeStdio(ctx, in, env.stdout, by)
	},
}
