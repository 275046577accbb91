// Command mcp-agent is a small complete agent that talks in a meeting by plain MCP: meeting_listen, meeting_speak and
// meeting_draft.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/examples/mind"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-agent:", err)
		os.Exit(1)
	}
}

func run() error {
	stdio := flag.String("stdio", "", "start this program and talk to its stdin and stdout, instead of PARLEY_URL; such as \"bin/parley stdio\"")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mcp-agent [-stdio COMMAND] MEETING-LINK\n\n"+
			"PARLEY_URL (http://127.0.0.1:7360/mcp) and PARLEY_TOKEN say where the service is; LLM_URL, LLM_MODEL and LLM_API_KEY what thinks,\n"+
			"without which a script does.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		return errors.New("a meeting link is needed")
	}
	m, err := mind.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return attend(ctx, transport(*stdio, os.Getenv), m, flag.Arg(0), os.Stdout)
}

// transport is the way to the service.
func transport(stdio string, getenv func(string) string) sdk.Transport {
	if command := strings.Fields(stdio); len(command) > 0 {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us: we leave first
		return &sdk.CommandTransport{Command: cmd}
	}
	url := getenv("PARLEY_URL")
	if url == "" {
		url = "http://127.0.0.1:7360/mcp"
	}
	return &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(getenv("PARLEY_TOKEN"))}}
}

// bearer adds the token to each request.
type bearer string

// RoundTrip sends the request with the token.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
