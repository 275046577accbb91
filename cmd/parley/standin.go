package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	meetstandin "parley/platforms/meet/standin"
	zoomstandin "parley/platforms/zoom/standin"
	"parley/testkit/standin"
)

type standinOptions struct {
	listen, scenario, lang string
	seed                   uint64
	list                   bool
}

// standinKinds are the platforms that have a stand-in.
var standinKinds = map[string]func() standin.Kind{"meet": meetstandin.Kind, "zoom": zoomstandin.Kind}

var standinCommand = &command{
	name:  "standin",
	args:  "PLATFORM [flags]",
	short: "a platform's pages for development: every state, real sound, a script",
	long: `Plays a meeting platform on this machine: its pages with every state they can be in, people with real
sound, a scenario, and mutations of the page. It prints the meeting's link and, after it, the setting that
makes Parley take the link for the platform's. Tests drive it at /_standin/do (one JSON action each; the
actions are listed at /_standin/actions) and read the truth at /_standin/state; docs/standins.md has the rest.`,
	example: "parley standin meet --listen 127.0.0.1:9001 --scenario lobby\nPARLEY_PLATFORM_ORIGINS=meet=http://127.0.0.1:9001 parley join http://127.0.0.1:9001/abc-defg-hij",
	flags: func(fs *flag.FlagSet) any {
		o := &standinOptions{}
		fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "`host:port` of the pages, on a loopback address; port 0 picks one")
		fs.StringVar(&o.scenario, "scenario", "", "`file` with a scenario, or the name of one that --list shows; without one nobody lets the visitor in")
		fs.Uint64Var(&o.seed, "seed", 0, "`number` that mutates the page; 0 leaves it as it is")
		fs.StringVar(&o.lang, "lang", "", "`language` of the page whatever is asked for, such as de")
		fs.BoolVar(&o.list, "list", false, "list the scenarios that come with it, and end")
		return o
	},
	run: func(ctx context.Context, env *environment, opts any, args []string) error {
		o := opts.(*standinOptions)
		platforms := strings.Join(slices.Sorted(maps.Keys(standinKinds)), ", ")
		if len(args) != 1 {
			return fail(exitUsage, "it takes one argument, a platform: %s", platforms)
		}
		kind, ok := standinKinds[args[0]]
		if !ok {
			return fail(exitUsage, "there is no stand-in of %q, only of %s", args[0], platforms)
		}
		k := kind()
		if o.list {
			return listScenarios(env, k)
		}
		var s standin.Scenario
		var err error
		if o.scenario != "" {
			if s, err = standin.Load(k, o.scenario); err != nil {
				return fail(exitUsage, "%v", err)
			}
		}
		langs, err := k.Languages()
		if err != nil {
			return err
		}
		if o.lang != "" && !slices.Contains(langs, o.lang) {
			return fail(exitUsage, "--lang %q: the page speaks %s", o.lang, strings.Join(langs, ", "))
		}
		v, err := loadSettings(nil)
		if err != nil {
			return err
		}
		so := standin.Options{Listen: o.listen, Scenario: s, Lang: o.lang, Log: quietLogger(env, v)}
		if o.seed != 0 {
			so.Mutation = standin.Mutate(k, o.seed)
			fmt.Fprintln(env.stderr, so.Mutation)
		}
		server, err := standin.New(k, so)
		if err != nil {
			return err
		}
		fmt.Fprintln(env.stdout, server.Link())
		fmt.Fprintln(env.stdout, "PARLEY_PLATFORM_ORIGINS="+server.Setting())
		return server.Serve(ctx)
	},
}

func listScenarios(env *environment, k standin.Kind) error {
	names, err := standin.Names(k)
	if err != nil {
		return err
	}
	for _, n := range names {
		s, err := standin.Load(k, n)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.stdout, "%-28s %s\n", n, s.About)
	}
	return nil
}
