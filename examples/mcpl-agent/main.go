// Command mcpl-agent is a small complete agent that talks in a meeting through its MCPL channel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"parley/examples/mind"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mcpl-agent:", err)
		os.Exit(1)
	}
}

func run() error {
	stdio := flag.String("stdio", "", "start this program and talk to its stdin and stdout, instead of PARLEY_URL; such as \"bin/parley stdio\"")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mcpl-agent [-stdio COMMAND] MEETING-LINK\n\n"+
			"PARLEY_URL (ws://127.0.0.1:7360/mcp) and PARLEY_TOKEN say where the service is; LLM_URL, LLM_MODEL and LLM_API_KEY what thinks,\n"+
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
	var w wire
	if *stdio != "" {
		w, err = spawn(strings.Fields(*stdio))
	} else {
		url := os.Getenv("PARLEY_URL")
		if url == "" {
			url = "ws://127.0.0.1:7360/mcp"
		}
		w, err = dial(ctx, url, os.Getenv("PARLEY_TOKEN"))
	}
	if err != nil {
		return err
	}
	return attend(ctx, w, m, flag.Arg(0), os.Stdout)
}
