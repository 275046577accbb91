package main

import (
	"context"
	"io"
	"os"

	"parley/mcp/bridge"
)

var bridgeCommand = &command{
	name:  "bridge",
	short: "a stdio client of a service elsewhere, for MCP clients that only start programs",
	long: `Carries MCP between standard input and output and the service that PARLEY_URL names (ws:// or wss://, path
/mcp), with the token of PARLEY_TOKEN. It ends when its client is gone, or after PARLEY_IDLE_EXIT_SEC (3600; 0
is never) without a message. Exit codes of its own: 0 done, 1 connection failed or lost, 2 bad configuration, 3
token refused.`,
	example: "PARLEY_URL=ws://127.0.0.1:7360/mcp PARLEY_TOKEN=… parley bridge",
	run: func(ctx context.Context, env *environment, _ any, args []string) error {
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		c, err := bridge.FromEnv(os.Getenv)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		in, ok := env.stdin.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(env.stdin)
		}
		if code := bridge.Run(ctx, c, in, env.stdout, env.stderr); code != bridge.ExitDone {
			return &exitError{code, errSaid}
		}
		return nil
	},
}

// errSaid is the error of a command that has said on standard error what went wrong.
var errSaid = silent{}

type silent struct{}

// Error is empty: there is nothing to add.
func (silent) Error() string { return "" }
