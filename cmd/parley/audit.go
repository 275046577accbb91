package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"parley/guard/audit"
)

type auditOptions struct {
	json   bool
	dir    string
	format string
}

var auditCommand = &command{
	name:  "audit",
	args:  "verify | show [--format jsonl|ecs|cef]",
	short: "the record of what was asked of the service: check it, print it",
	long: `verify reads the whole record and checks every link of its chain: a line that was changed, left out, doubled, moved or
taken off the end is found and named. show checks as it goes and prints the lines: as they stand, in the Elastic
Common Schema, or in the Common Event Format. Whoever can write the files can make a new chain: keep the last digest
that verify prints on another machine where that matters.`,
	example: "parley audit verify\nparley audit show --format ecs | tail",
	flags: func(fs *flag.FlagSet) any {
		o := &auditOptions{}
		fs.BoolVar(&o.json, "json", false, "verify: print JSON")
		fs.StringVar(&o.dir, "dir", "", "the `folder` of the record; default: audit in the data folder")
		fs.StringVar(&o.format, "format", "jsonl", "show: jsonl, ecs or cef")
		return o
	},
	run: func(_ context.Context, env *environment, opts any, args []string) error {
		o := opts.(*auditOptions)
		if len(args) != 1 || args[0] != "verify" && args[0] != "show" {
			return fail(exitUsage, "want verify or show")
		}
		dir := o.dir
		if dir == "" {
			v, err := loadSettings(nil)
			if err != nil {
				return err
			}
			dir = filepath.Join(dataDir(v), auditFolder)
		}
		if _, err := os.Stat(dir); err != nil {
			return fail(exitFailed, "there is no record in %s", dir)
		}
		if args[0] == "show" {
			render, err := auditForm(o.format)
			if err != nil {
				return err
			}
			_, err = audit.Verify(dir, func(e audit.Entry) error {
				line, err := render(e)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(env.stdout, line)
				return err
			})
			return broken(err)
		}
		r, err := audit.Verify(dir, nil)
		if err != nil {
			return broken(err)
		}
		if r.Records == 0 {
			return fail(exitFailed, "%s holds no record: nothing was asked of the service yet, or all of it was taken away", dir)
		}
		text := fmt.Sprintf("%d records in %d files hold together, numbers %d to %d; last digest %s\n", r.Records, r.Files, r.First, r.Last, r.Digest)
		if r.First > 1 {
			text += fmt.Sprintf("records before %d were deleted with old files\n", r.First)
		}
		return show(env.stdout, o.json, r, text)
	},
}

// broken gives a chain that does not hold its exit code.
func broken(err error) error {
	var b *audit.Broken
	if errors.As(err, &b) {
		return fail(exitFailed, "%v", b)
	}
	return err
}

func auditForm(name string) (func(audit.Entry) (string, error), error) {
	switch name {
	case "jsonl":
		return audit.Entry.Line, nil
	case "ecs":
		return func(e audit.Entry) (string, error) { b, err := e.ECS(); return string(b), err }, nil
	case "cef":
		return func(e audit.Entry) (string, error) { return e.CEF(version) }, nil
	}
	return nil, fail(exitUsage, "--format %s is none of jsonl, ecs, cef", name)
}
