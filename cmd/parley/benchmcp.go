package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-rod/rod/lib/cdp"

	"parley/browser/chromium"
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
	r, err := rivals.Run(ctx, rivals.Options{Self: self, Env: env, Modules: b.o.rivals, Chromium: browser, Nodes: b.o.nodes, Large: largeNodes, Rounds: b.o.n, Say: b.say,
		Raw: func(ctx context.Context) (rivals.Floor, error) { return b.raw(ctx, browser) }})
	if err != nil {
		return err
	}
	if len(r.Missing) > 0 {
		b.say("not measured: %s. To get them: %s, then --rivals DIR", strings.Join(r.Missing, ", "), rivals.Install("DIR"))
	}
	ours := r.Ours
	for _, o := range r.Rivals {
		b.beside(ours, o, r.Counted)
	}
	for _, name := range r.Missing {
		b.add(figures.NotMeasured("against "+name, "", "it is not installed: "+rivals.Install("DIR")))
	}
	if len(r.Rivals) == 0 {
		b.beside(ours, rivals.Samples{Name: "nobody"}, r.Counted)
	}
	b.add(figures.AtMost("tools: schemas of their results, tokens", "", 0, float64(ours.OutputTokens)).Noted("not in the rows of the list"),
		figures.AtMost("the server's instructions, tokens", "", 0, float64(ours.InstructionTokens)).Noted("not in the rows of the list"))
	above := make([]float64, len(r.LargeOurs))
	for i := range above {
		above[i] = r.LargeOurs[i] - figures.Quantile(slices.Sorted(slices.Values(r.LargeFloor)), 0.5)
	}
	b.add(figures.AtMost(fmt.Sprintf("snapshot, %d nodes, call → answer", largeNodes), "ms", 0, r.LargeOurs...),
		figures.AtMost("the same over raw CDP", "ms", 0, r.LargeFloor...).Noted("the shortest script that writes such lines, evaluated once"),
		figures.AtMost("above raw CDP", "ms", 500, above...))
	return nil
}

// largeNodes is the size of the page that is read against raw CDP.
const largeNodes = 10_000

// beside adds the rows of one rival.
func (b *bench) beside(ours, r rivals.Samples, counted string) {
	row := func(what, unit string, target float64, ours, theirs []float64) {
		f := figures.AtMost(fmt.Sprintf("%s, %d nodes, against %s", what, b.o.nodes, r.Name), unit, 0, ours...).Against(theirs...)
		if f.Ratio != nil && target > 0 && r.Name == "playwright-mcp" {
			holds := *f.Ratio <= target
			f.Target, f.Holds = &target, &holds
			f.Note = "the target is the ratio"
		}
		b.add(f)
	}
	one := func(v int) []float64 {
		if v == 0 {
			return nil
		}
		return []float64{float64(v)}
	}
	tokens := "tokens (" + counted + ")"
	row("navigate, call → answer", "ms", 0, ours.Navigate, r.Navigate)
	row("snapshot, call → answer", "ms", 0, ours.Snapshot, r.Snapshot)
	row("snapshot, "+tokens, "", 0.33, ours.SnapshotTokens, r.SnapshotTokens)
	row("what a click changed against their whole snapshot, "+tokens, "", 0.01, ours.DiffTokens, r.SnapshotTokens)
	row("click, call → answer", "ms", 0.15, ours.Reply, r.Reply)
	row("click, call → the page has it", "ms", 0.75, ours.Effect, r.Effect)
	row("click, characters of the answer", "", 0, ours.CharsClick, r.CharsClick)
	row("list of tools as a model gets it, "+tokens, "", 0.40, one(ours.ListTokens), one(r.ListTokens))
	row("list of tools with titles and hints, "+tokens, "", 0, one(ours.WholeTokens), one(r.WholeTokens))
	row("memory of the server beside the browser", "MiB", 0.20, ours.MemoryMiB, r.MemoryMiB)
	zero := float64(ours.FalseDone)
	f := figures.AtMost("clicks said to be done that the page did not see, against "+r.Name, "", 0, zero).Against(float64(r.FalseDone))
	target, holds := 0.0, zero == 0
	f.Ratio, f.Target, f.Holds = nil, &target, &holds
	b.add(f)
}

// rawPage is a browser's page that is driven without a server.
type rawPage struct {
	*chromium.Tab
	b *chromium.Browser
}

// Close ends the browser.
func (p rawPage) Close() error { return p.b.Close() }

func (b *bench) raw(ctx context.Context, path string) (rivals.Floor, error) {
	browser, err := chromium.Start(ctx, chromium.Options{Path: path, Account: b.account, NoSandbox: os.Getenv("PARLEY_CHROMIUM_SANDBOX") == "0", Headless: true, Log: b.log})
	if err != nil {
		return nil, err
	}
	tab, err := browser.OpenTab(ctx, func(*cdp.Event) {})
	if err != nil {
		return nil, errors.Join(err, browser.Close())
	}
	return rawPage{tab, browser}, nil
}
