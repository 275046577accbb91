package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"parley/cmd/parley/internal/station"
	"parley/meeting/worker"
)

// workerCommand is the word that makes this program the process of one meeting. It is for the service, not for people.
const workerCommand = "worker"

func workerMain() int {
	in, out, err := worker.Inherited()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parley worker:", err)
		return exitUsage
	}
	level := slog.LevelInfo
	if err := level.UnmarshalText([]byte(os.Getenv("PARLEY_LOG_LEVEL"))); err != nil {
		level = slog.LevelInfo // not set
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log)
	return worker.Main(context.Background(), in, out, station.Factory(station.Options{Platforms: platformModules(), Log: log}))
}
