// Package supertonic is a voice made by a local Supertonic service, or another one with its speech endpoint, over HTTP.
package supertonic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"parley/speech"
	"parley/speech/sentences"
)

// Options are what an Engine needs; URL is required.
type Options struct {
	// URL is the service's base address; the path of its speech endpoint is added.
	URL string
	// Model is what requests name. Empty: supertonic-3.
	Model string
	// Voice is used where a request names none. Empty: F1.
	Voice string
	// Limit is how long one sentence may take. Zero: 30 s.
	Limit time.Duration
	// Retry is the pause before a service that is still loading is asked again. Zero: 1 s.
	Retry time.Duration
}

// The bounds of an answer.
const (
	maxAudio = 32 << 20 // some six minutes at 44.1 kHz
	maxError = 16 << 10
)

// Engine implements speech.Synthesizer. It is safe for concurrent use. A text is sent a sentence at a time, the next one
// while one plays; the service does one at a time.
type Engine struct {
	o      Options
	client *http.Client
}

// New makes an engine. It does not connect.
func New(o Options) (*Engine, error) {
	var err error
	if o.URL, err = sentences.Address(o.URL); err != nil {
		return nil, fmt.Errorf("supertonic: %w", err)
	}
	if o.Model == "" {
		o.Model = "supertonic-3"
	}
	if o.Voice == "" {
		o.Voice = "F1"
	}
	if o.Limit == 0 {
		o.Limit = 30 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	return &Engine{o: o, client: sentences.Client(&http.Transport{Proxy: nil, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: o.Limit, MaxResponseHeaderBytes: 64 << 10})}, nil
}

// Close lets go of idle connections.
func (e *Engine) Close() error { e.client.CloseIdleConnections(); return nil }

// Speak starts the synthesis of a text.
func (e *Engine) Speak(ctx context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	if err := sentences.Check(r); err != nil {
		return nil, err
	}
	return sentences.Speak(ctx, r.Text, r.Lang, func(ctx context.Context, text string) ([]int16, error) { return e.sentence(ctx, r, text) }), nil
}

// request is the body of the speech endpoint.
type request struct {
	Model  string  `json:"model"`
	Input  string  `json:"input"`
	Voice  string  `json:"voice"`
	Lang   string  `json:"lang,omitempty"`
	Format string  `json:"response_format"`
	Speed  float64 `json:"speed,omitempty"`
}

// sentence gives the sound of one sentence at the speaking rate. A service that is still loading is asked again.
func (e *Engine) sentence(ctx context.Context, r speech.SpeakRequest, text string) ([]int16, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Limit)
	defer cancel()
	body := request{Model: e.o.Model, Input: text, Voice: e.o.Voice, Lang: r.Lang, Format: "wav", Speed: r.Speed}
	if r.Model != "" {
		body.Model = r.Model
	}
	if r.Voice != "" {
		body.Voice = strings.TrimPrefix(r.Voice, "supertonic-")
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, sentences.Fail(speech.KindInput, errors.New("the text cannot be sent"))
	}
	for {
		pcm, err := e.post(ctx, raw)
		if !errors.Is(err, errNotReady) {
			return pcm, err
		}
		select {
		case <-time.After(e.o.Retry):
		case <-ctx.Done():
			return nil, err
		}
	}
}

var errNotReady = errors.New("the service is still loading its model")

func (e *Engine) post(ctx context.Context, body []byte) ([]int16, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.o.URL+"/v1/audio/speech", bytes.NewReader(body))
	if err != nil {
		return nil, sentences.Fail(speech.KindInput, errors.New("the address of the service cannot be used"))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "audio/wav")
	res, err := e.client.Do(req)
	if err != nil {
		return nil, reach(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, refusal(res)
	}
	pcm, err := readWAV(io.LimitReader(res.Body, maxAudio+1))
	switch {
	case ctx.Err() != nil:
		return nil, reach(ctx, ctx.Err())
	case err != nil:
		return nil, sentences.Fail(speech.KindInternal, err)
	}
	return pcm, nil
}

func reach(ctx context.Context, err error) error {
	return sentences.Reach(ctx, err, speech.KindUnavailable, "the service cannot be reached (PARLEY_TTS_URL)")
}

// codes are those that the service is known to give; other words of it are not repeated: they may quote the text.
var codes = map[string]speech.Kind{
	"unknown_voice": speech.KindInput, "unsupported_lang": speech.KindInput, "unsupported_response_format": speech.KindInput,
	"model_not_loaded": speech.KindInput, "not_ready": speech.KindUnavailable, "synthesis_failed": speech.KindInternal,
}

// refusal is an answer that is no sound.
func refusal(res *http.Response) error {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what cannot be read names no code
	_ = json.Unmarshal(raw, &body)
	kind, known := codes[body.Error.Code]
	switch {
	case body.Error.Code == "not_ready", res.StatusCode == http.StatusServiceUnavailable:
		return sentences.Fail(speech.KindUnavailable, errNotReady)
	case known:
		return sentences.Fail(kind, fmt.Errorf("the service answers %s", body.Error.Code))
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		kind = speech.KindAuth
	case res.StatusCode == http.StatusTooManyRequests:
		kind = speech.KindBusy
	case res.StatusCode >= 500:
		kind = speech.KindUnavailable
	default:
		kind = speech.KindInput
	}
	return sentences.Fail(kind, fmt.Errorf("the service answers with status %d", res.StatusCode))
}

// builtin are the voices that every service of this kind has.
var builtin = []string{"F1", "F2", "F3", "F4", "F5", "M1", "M2", "M3", "M4", "M5"}

// Voices lists what the service says it has, else the built-in ones.
func (e *Engine) Voices(ctx context.Context) ([]speech.Voice, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.o.URL+"/v1/styles", nil)
	if err != nil {
		return nil, sentences.Fail(speech.KindInput, errors.New("the address of the service cannot be used"))
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, reach(ctx, err)
	}
	defer res.Body.Close()
	var list struct {
		Styles []struct {
			Name string `json:"name"`
		} `json:"styles"`
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, 256<<10))
	if err != nil {
		return nil, reach(ctx, err)
	}
	var out []speech.Voice
	if res.StatusCode == http.StatusOK && json.Unmarshal(raw, &list) == nil {
		for _, s := range list.Styles {
			out = append(out, speech.Voice{ID: s.Name})
		}
	}
	if len(out) == 0 {
		for _, name := range builtin {
			out = append(out, speech.Voice{ID: name})
		}
	}
	return out, nil
}

var _ speech.Synthesizer = (*Engine)(nil)
