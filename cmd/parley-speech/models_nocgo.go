//go:build !cgo

package main

import (
	"context"
	"errors"
	"log/slog"

	"parley/speech"
	"parley/speech/server"
)

// loader of a build without cgo has nothing to load models with.
type loader struct {
	c   config
	log *slog.Logger
}

var errNoCgo = errors.New("this parley-speech was built without cgo and cannot run models: run make build")

func (*loader) hear(context.Context) (*server.Models, error) { return nil, modelsError{errNoCgo} }
func (*loader) voice(context.Context) (server.Voice, error)  { return nil, modelsError{errNoCgo} }
func (*loader) voices() []speech.Voice                       { return nil }
