package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"parley/speech/local"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string
		ok   bool
	}{
		{"--run /r --models /m", true},
		{"--run /r --models /m --weak --cache /c --inherited --idle 1s --nice 0", true},
		{"--run /r", false},
		{"--models /m", false},
		{"--run /r --models /m extra", false},
		{"--no-such-flag", false},
		{"--run /r --models /m --idle soon", false},
	} {
		got, err := parse(strings.Fields(c.args), io.Discard)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.args, err)
		}
		if err != nil && exitCode(err) != local.ExitUsage {
			t.Errorf("%s: exit code %d", c.args, exitCode(err))
		}
		if err == nil && got.idle == 0 {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
	c, err := parse([]string{"--run", "/r", "--models", "/m"}, io.Discard)
	if err != nil || c.cache != "/r/voice" || c.idle != 5*time.Second || c.weak || c.inherited {
		t.Errorf("%+v %v", c, err)
	}
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	for _, want := range []string{"Example", "Exit status", "-weak", "69"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help does not mention %s", want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{usageError{io.EOF}, 64},
		{fmt.Errorf("so: %w", modelsError{io.EOF}), 69},
		{io.EOF, 1},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%v: %d", c.err, got)
		}
	}
}
