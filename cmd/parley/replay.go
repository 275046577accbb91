package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"parley/meeting"
	"parley/turn"
	"parley/turn/replay"
)

type replayOptions struct {
	policy string
	set    string
	events bool
	json   bool
}

var replayCommand = &command{
	name:  "replay",
	args:  "JOURNAL [--policy NAME] [--set NAME=VALUE;…] [--events] [--json]",
	short: "plays a meeting's journal again: what the turn engine would do, and what was different",
	long: `A meeting's journal (MEETING.evidence/journal.jsonl beside its recording, kept as long as that) holds kinds, times
and numbers, and no word of anybody. Replay tells the turn engine the same again. Under the recorded policy and settings
every effect has to come again: a difference is a defect. Under another policy or other settings it shows what would
have been different. It exits with 1 when the recorded policy gave something else.`,
	example: "parley replay m1a2b3c4d5e6.evidence/journal.jsonl --set turn_hold_ms=500",
	flags: func(fs *flag.FlagSet) any {
		o := &replayOptions{}
		fs.StringVar(&o.policy, "policy", "", "`name` of the policy that decides; otherwise the recorded one")
		fs.StringVar(&o.set, "set", "", "settings of turns to change: `name=value; name=value`")
		fs.BoolVar(&o.events, "events", false, "print every effect with its time, and the meeting's states")
		fs.BoolVar(&o.json, "json", false, "print one JSON object")
		return o
	},
	run: func(_ context.Context, env *environment, opts any, args []string) error {
		o := opts.(*replayOptions)
		if len(args) != 1 {
			return fail(exitUsage, "it takes the path of a journal")
		}
		raw, err := os.ReadFile(args[0])
		if err != nil {
			return fail(exitUsage, "%v", err)
		}
		return replayJournal(env.stdout, raw, o)
	},
}

// replayed is what --json prints.
type replayed struct {
	Recorded  string      `json:"recorded_policy"`
	Policy    string      `json:"policy"`
	Events    int         `json:"events"`
	Effects   int         `json:"effects"`
	Different int         `json:"different"`
	First     []string    `json:"first_differences"`
	HeldMS    float64     `json:"mean_hold_ms"`
	Counts    turn.Counts `json:"counts"`
}

func replayJournal(w io.Writer, raw []byte, o *replayOptions) error {
	opts := replay.Options{}
	if o.policy != "" {
		if opts.Policy = turn.Named(o.policy); opts.Policy == nil {
			return fail(exitUsage, "there is no policy %q; there are reference and reference+duck", o.policy)
		}
	}
	changes := map[string]string{}
	for part := range strings.SplitSeq(o.set, ";") {
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		set := turn.Default()
		if !ok {
			return fail(exitUsage, "--set %s: want name=value", part)
		}
		if err := set.Set(name, value); err != nil {
			return fail(exitUsage, "--set: %v", err)
		}
		changes[name] = value
	}
	if len(changes) > 0 {
		opts.Change = func(s *turn.Settings) { s.SetAll(changes) }
	}
	type line struct {
		at   time.Duration
		text string
	}
	var told []line
	if o.events && !o.json {
		opts.Each = func(at time.Duration, summary string) { told = append(told, line{at, summary}) }
	}
	rep, err := replay.Run(bytes.NewReader(raw), opts)
	if err != nil {
		return fail(exitFailed, "%v", err)
	}
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(replayed{rep.Recorded, rep.Policy, rep.Events, rep.Effects, rep.Different, slices.Clone(rep.First), float64(rep.Held.Microseconds()) / 1000, rep.Counts})
	}
	if o.events {
		if err := states(w, raw); err != nil {
			return err
		}
		fmt.Fprintln(w, "\nthe turn engine, in seconds since we attended:")
		for _, l := range told {
			fmt.Fprintf(w, "%9.3f  %s\n", l.at.Seconds(), l.text)
		}
		fmt.Fprintln(w)
	}
	c := rep.Counts
	fmt.Fprintf(w, "%d events and %d effects; recorded under %s, replayed under %s\n", rep.Events, rep.Effects, rep.Recorded, rep.Policy)
	fmt.Fprintf(w, "turns %d (reopened %d, held %d ms in the middle), echoes %d, publishes said %d, refused %d, superseded %d\n",
		c.Turns, c.Reopened, rep.Held.Milliseconds(), c.Echoes, c.Published, c.Refused, c.Dropped)
	fmt.Fprintf(w, "interrupted %d times, drafts said %d, dropped %d, acknowledgements %d\n", c.Interrupted, c.DraftsSpoken, c.DraftsDropped, c.Clips)
	for _, f := range rep.First {
		fmt.Fprintln(w, "  "+f)
	}
	same := rep.Recorded == rep.Policy && len(changes) == 0
	switch {
	case rep.Different == 0 && same:
		fmt.Fprintln(w, "everything came again as it was recorded")
	case rep.Different == 0:
		fmt.Fprintln(w, "nothing would have been different")
	case same:
		return fail(exitFailed, "%d effects came otherwise than recorded", rep.Different)
	default:
		fmt.Fprintf(w, "%d effects would have been different\n", rep.Different)
	}
	return nil
}

// states prints the steps of the meeting that the journal tells, in seconds since the attendance began.
func states(w io.Writer, raw []byte) error {
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 1<<20)
	last := meeting.State("")
	for sc.Scan() {
		var l meeting.JournalLine
		if json.Unmarshal(sc.Bytes(), &l) != nil || l.State == "" || l.State == last {
			continue
		}
		last = l.State
		fmt.Fprintf(w, "%9.3f  %s\n", float64(l.T)/1000, l.State)
	}
	return sc.Err()
}
