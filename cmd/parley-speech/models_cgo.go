//go:build cgo

package main

import (
	"context"
	"fmt"
	"log/slog"

	"parley/speech"
	"parley/speech/kokoro"
	"parley/speech/local"
	"parley/speech/models"
	"parley/speech/ort"
	"parley/speech/server"
	"parley/speech/turnend"
	"parley/speech/vad"
	"parley/speech/whisper"
)

// loader brings the models up. What it loads lives as long as the process.
type loader struct {
	c   config
	log *slog.Logger
}

// hear loads what listening needs.
func (l *loader) hear(ctx context.Context) (*server.Models, error) {
	ears, err := local.CheckHearing(l.c.models, l.c.weak)
	if err != nil {
		return nil, l.deaf(modelsError{err})
	}
	m, err := l.open(models.At(l.c.models), ears)
	if err != nil {
		return nil, l.deaf(modelsError{fmt.Errorf("%w: run make setup, or parley models fetch", err)})
	}
	return m, nil
}

// deaf says of an error whether the voice works all the same.
func (l *loader) deaf(err error) error {
	if local.CheckVoice(l.c.models) != nil {
		return err
	}
	return server.Deaf{Err: err}
}

func (l *loader) open(p models.Paths, has local.Ears) (*server.Models, error) {
	if err := ort.Init(p.Runtime); err != nil {
		return nil, err
	}
	ears, err := vad.Load(p.VAD)
	if err != nil {
		return nil, err
	}
	m := &server.Models{
		Ear:   func() server.Ear { return ears.Stream() },
		Knows: func(lang string) bool { return lang == "en" },
		Notes: has.Notes,
	}
	if has.Small {
		small, err := whisper.Load(p.Whisper(models.TinyEn), whisper.Options{})
		if err != nil {
			return nil, err
		}
		m.Small = decoder{small}
	}
	if has.Large {
		large, err := whisper.Load(p.Whisper(models.Base), whisper.Options{})
		if err != nil {
			return nil, err
		}
		m.Large = decoder{large}
		m.Knows = func(lang string) bool { _, ok := large.Config.Languages[lang]; return ok }
	}
	var turn *turnend.Model
	if err = local.CheckTurnEnd(l.c.models); err == nil {
		turn, err = turnend.Load(p.TurnEnd)
	}
	if err != nil {
		m.Notes = append(m.Notes, fmt.Sprintf("turns end by silence alone: %v", err))
	} else {
		m.TurnEnd = turn.Prob
	}
	return m, nil
}

// decoder is a whisper.Model with what its tokens know.
type decoder struct{ *whisper.Model }

func (d decoder) Agreed(before, now []int) []int { return d.Tokens.Agreed(before, now) }

// voice loads what speaking needs.
func (l *loader) voice(context.Context) (server.Voice, error) {
	p := models.At(l.c.models)
	if err := local.CheckVoice(l.c.models); err != nil {
		return nil, err
	}
	ids, err := p.Voices()
	if err != nil {
		return nil, err
	}
	plan, err := kokoro.NewPlanner(ids, p.Lexicon("us_gold"), p.Lexicon("us_silver"))
	if err != nil {
		return nil, err
	}
	if err := ort.Init(p.Runtime); err != nil {
		return nil, err
	}
	m, err := kokoro.Load(p.Kokoro, p.KokoroVocab, p.Voice)
	if err != nil {
		return nil, err
	}
	return voice{plan, m}, nil
}

// voices lists the voices without loading one.
func (l *loader) voices() []speech.Voice {
	ids, err := models.At(l.c.models).Voices()
	if err != nil {
		return nil // State says what is missing
	}
	return kokoro.Voices(ids)
}

// voice is Kokoro in the words of the server.
type voice struct {
	plan  *kokoro.Planner
	model *kokoro.Model
}

func (v voice) Voices() []speech.Voice { return v.plan.Voices() }
func (v voice) Notes() []string        { return v.plan.Notes() }

func (v voice) Plan(ctx context.Context, r speech.SpeakRequest) ([]server.Clause, error) {
	return clauses(v.plan.Plan(ctx, r))
}

func (v voice) Common(ctx context.Context, name string) ([]server.Clause, error) {
	return clauses(v.plan.Common(ctx, name))
}

func clauses(list []kokoro.Clause, err error) ([]server.Clause, error) {
	out := make([]server.Clause, len(list))
	for i, c := range list {
		out[i] = server.Clause(c)
	}
	return out, err
}

func (v voice) Say(ctx context.Context, c server.Clause) ([]int16, error) {
	return v.model.Say(ctx, kokoro.Clause(c))
}
