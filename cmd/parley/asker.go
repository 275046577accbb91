package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"parley/guard/agents"
	"parley/guard/spawn"
	"parley/internal/settings"
	"parley/tenant"
)

// asker answers questions with an agent's program, two at a time.
type asker struct {
	kind, model string
	home, data  string
	log         *slog.Logger
	room        chan struct{}
}

func newAsker(v *settings.Values, data string, log *slog.Logger) *asker {
	return &asker{kind: v.String("PARLEY_AGENT"), model: v.String("PARLEY_AGENT_MODEL"), home: filepath.Join(data, "agents"), data: data, log: log, room: make(chan struct{}, 2)}
}

// machine is this one, as an agent's program sees it.
func machine() agents.Machine {
	home, _ := os.UserHomeDir() // without one nobody is signed in
	return agents.Machine{Home: home, Getenv: os.Getenv, ReadFile: os.ReadFile}
}

// find gives the program that the operator chose, or why there is none.
func (a *asker) find() (agents.State, string) {
	switch a.kind {
	case "off":
		return agents.State{}, "the operator has not chosen one (PARLEY_AGENT)"
	case "auto":
		for _, k := range []spawn.Kind{spawn.Claude, spawn.Codex, spawn.Qwen, spawn.Vibe, spawn.Grok, spawn.OpenCode, spawn.Cursor, spawn.Antigravity} {
			if s := agents.Look(k, machine()); s.State == agents.Ready {
				return s, ""
			}
		}
		return agents.State{}, "none is installed and signed in"
	}
	s := agents.Look(spawn.Kind(a.kind), machine())
	if s.State != agents.Ready {
		return agents.State{}, s.Label + " " + map[agents.Readiness]string{agents.Missing: "is not installed", agents.NeedsSetup: "needs setup"}[s.State] + " (" + s.Fix + ")"
	}
	return s, ""
}

// Agent implements tool.Asker.
func (a *asker) Agent() (name, why string) {
	s, why := a.find()
	if why != "" {
		return "", why
	}
	return s.Label, ""
}

// Ask implements tool.Asker. A third question waits for one of two to be answered.
func (a *asker) Ask(ctx context.Context, _ tenant.ID, question, text string) (string, bool, error) {
	select {
	case a.room <- struct{}{}:
		defer func() { <-a.room }()
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
	s, _ := a.find()
	r := &agents.Runner{Kind: s.Kind, Path: s.Path, Home: a.home, Model: a.model, Hide: a.data, Log: a.log}
	return r.Answer(ctx, question, text)
}
