package main

import (
	"context"
	"fmt"
	"runtime"
)

var versionCommand = &command{
	name:  "version",
	short: "which parley this is",
	long:  "Prints the version of this program and of the Go it was built with.",
	run: func(_ context.Context, env *environment, _ any, _ []string) error {
		fmt.Fprintf(env.stdout, "parley %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	},
}
