package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"parley/cmd/parley/internal/figures"
	"parley/cmd/parley/internal/rivals"
	"parley/internal/proc"
)

// mcp measures the browser's tools against others' on the same page.
func (b *bench) mcp(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env := append(proc.BaseEnv(), "PARLEY_DATA="+filepath.Join(b.dir, "data"), "PARLEY_LOG_LEVEL=error", "PARLEY_CONFIG=/dev/null", "PARLEY_FEATURES_MEETINGS=0")
	for _, k := range []string{"HOME", "TMPDIR", "PARLEY_ACCOUNT", "PARLEY_CHROMIUM", "PARLEY_CHROMIUM_SANDBOX"} {
		if v := os.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	browser := os.Getenv("PARLEY_CHROMIUM")
	if browser == "" {
		browser = "/usr/lib/chromium/chromium"
	}
	all, err := rivals.Run(ctx, rivals.Options{Self: self, Env: env, Modules: b.o.rivals, Chromium: browser, Nodes: b.o.nodes, Rounds: b.o.n, Say: b.say})
	if err != nil {
		return err
	}
	ours, others := all[0], all[1:]
	if len(others) == 0 {
		b.say("no rivals in %s: npm install --no-package-lock --ignore-scripts --prefix DIR @playwright/mcp@%s chrome-devtools-mcp@%s, then --rivals DIR",
			b.o.rivals, rivals.Pinned["@playwright/mcp"], rivals.Pinned["chrome-devtools-mcp"])
		others = []rivals.Samples{{Name: "nobody"}}
	}
	for _, r := range others {
		row := func(what, unit string, target float64, ours, theirs []float64) {
			f := figures.AtMost(fmt.Sprintf("%s, %d nodes, against %s", what, b.o.nodes, r.Name), unit, 0, ours...).Against(theirs...)
			if f.Ratio != nil && target > 0 && r.Name == "playwright-mcp" {
				holds := *f.Ratio <= target
				f.Target, f.Holds = &target, &holds
				f.Note = "the target is the ratio"
			}
			b.add(f)
		}
		one := func(v float64) []float64 { return []float64{v} }
		row("navigate, call → answer", "ms", 0, ours.Navigate, r.Navigate)
		row("snapshot, call → answer", "ms", 0, ours.Snapshot, r.Snapshot)
		row("snapshot, tokens (estimated)", "", 0.33, ours.SnapshotTokens, r.SnapshotTokens)
		row("click, call → answer", "ms", 0.15, ours.Reply, r.Reply)
		row("click, call → the page has it", "ms", 0.75, ours.Effect, r.Effect)
		row("click, characters of the answer", "", 0, ours.CharsClick, r.CharsClick)
		row("list of tools, tokens (estimated)", "", 0.40, one(float64(ours.ToolTokens)), one(float64(r.ToolTokens)))
		row("memory of the server beside the browser", "MiB", 0.20, one(ours.MemoryMiB), one(r.MemoryMiB))
		row("clicks said to be done that the page did not see", "", 0, one(float64(ours.FalseDone)), one(float64(r.FalseDone)))
	}
	return nil
}
