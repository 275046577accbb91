package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"parley/internal/settings"
)

type configOptions struct{ json bool }

var configCommand = &command{
	name:  "config",
	args:  "[--json]",
	short: "every setting: its value, where that came from, what it means",
	long: `Prints every setting with its value, where the value came from and what it means.
Settings come from flags, then the environment, then a file, then the default. The file is
parley/parley.conf in the user's configuration folder, or the one that PARLEY_CONFIG names;
it has NAME=VALUE lines. A bad value stops every command and is named.`,
	example: "PARLEY_MAX_MEETINGS=3 parley config",
	flags: func(fs *flag.FlagSet) any {
		o := &configOptions{}
		fs.BoolVar(&o.json, "json", false, "print a JSON array")
		return o
	},
	run: func(_ context.Context, env *environment, opts any, args []string) error {
		if len(args) > 0 {
			return fail(exitUsage, "it takes no arguments")
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		type row struct {
			Name    string `json:"name"`
			Value   string `json:"value"`
			From    string `json:"from"`
			Shape   string `json:"shape"`
			Default string `json:"default"`
			Meaning string `json:"meaning"`
		}
		var rows []row
		for _, name := range v.Names() {
			s := v.Describe(name)
			rows = append(rows, row{name, v.Shown(name), string(v.From(name)), s.Shape, s.Default, s.Meaning})
		}
		if opts.(*configOptions).json {
			e := json.NewEncoder(env.stdout)
			e.SetIndent("", "  ")
			return e.Encode(rows)
		}
		if v.File() != "" {
			fmt.Fprintf(env.stdout, "settings file: %s\n", v.File())
		}
		fmt.Fprintf(env.stdout, "data folder:   %s\nmodels folder: %s\n", dataDir(v), modelsDir(v))
		for _, r := range rows {
			value := r.Value
			if value == "" {
				value = "(not set)"
			}
			fmt.Fprintf(env.stdout, "\n%s = %s   [%s]\n    %s\n    %s\n", r.Name, value, r.From, r.Meaning, r.Shape)
		}
		for _, name := range settings.Unknown(os.Environ()) {
			fmt.Fprintf(env.stderr, "warning: %s is in the environment, and there is no such setting\n", name)
		}
		return nil
	},
}

// loadSettings reads the settings; flags are by setting name.
func loadSettings(flags map[string]string) (*settings.Values, error) {
	v, err := settings.Load(settings.Options{Flags: flags})
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if dataDir(v) == "" {
		return nil, &exitError{exitUsage, errors.New("no place for data: there is no home folder, so set PARLEY_DATA")}
	}
	return v, nil
}

// dataDir is PARLEY_DATA, else parley below the user's data folder.
func dataDir(v *settings.Values) string {
	if d := v.String("PARLEY_DATA"); d != "" {
		return absolute(d)
	}
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "parley")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "parley")
}

// modelsDir is PARLEY_MODELS, else models in the data folder.
func modelsDir(v *settings.Values) string {
	if d := v.String("PARLEY_MODELS"); d != "" {
		return absolute(d)
	}
	return filepath.Join(dataDir(v), "models")
}

// absolute is a folder as our own processes see it, which run elsewhere.
func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
