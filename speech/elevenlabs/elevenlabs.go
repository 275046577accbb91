// Package elevenlabs is a voice made by the cloud service ElevenLabs, or another one with its speech endpoint.
package elevenlabs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/speech"
	"parley/speech/sentences"
)

// What is used where nobody says otherwise.
const (
	DefaultURL   = "https://api.elevenlabs.io"
	DefaultModel = "eleven_v4_turbo"
	DefaultVoice = "JBFqnCBsd6RMkjVDRZzb"
)

// Options are what an Engine needs; Key is required.
type Options struct {
	// Key is the account's. It goes into a header of requests to URL and nowhere else.
	Key string
	// URL, Model and Voice; empty: the defaults.
	URL, Model, Voice string
	// Limit is how long one sentence may take, tries included. Zero: 20 s.
	Limit time.Duration
	// Retry is the pause before a service that is busy is asked again, unless it says how long. Zero: 500 ms.
	Retry time.Duration
}

// The bounds of an answer.
const (
	maxAudio = 24_000 * 2 * 300 // five minutes
	maxError = 16 << 10
	maxTries = 4
)

// Engine implements speech.Synthesizer. It is safe for concurrent use. A text is sent a sentence at a time, the next one
// while one plays. Zero retention is asked for with every sentence; the service grants it by the account's plan.
type Engine struct {
	o      Options
	client *http.Client
}

// New makes an engine. It does not connect.
func New(o Options) (*Engine, error) {
	if o.Key == "" {
		return nil, errors.New("elevenlabs: there is no key (ELEVENLABS_API_KEY)")
	}
	if o.URL == "" {
		o.URL = DefaultURL
	}
	var err error
	if o.URL, err = sentences.Address(o.URL); err != nil {
		return nil, fmt.Errorf("elevenlabs: %w", err)
	}
	if o.Model == "" {
		o.Model = DefaultModel
	}
	if o.Voice == "" {
		o.Voice = DefaultVoice
	}
	if o.Limit == 0 {
		o.Limit = 20 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 500 * time.Millisecond
	}
	return &Engine{o: o, client: sentences.Client(&http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true})}, nil
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
	Text     string         `json:"text"`
	Model    string         `json:"model_id"`
	Lang     string         `json:"language_code,omitempty"`
	Settings *voiceSettings `json:"voice_settings,omitempty"`
}

type voiceSettings struct {
	Speed float64 `json:"speed"`
}

// sentence gives the sound of one sentence at the speaking rate. A service that is busy, or breaks off, is asked again:
// nothing of the sentence has sounded yet.
func (e *Engine) sentence(ctx context.Context, r speech.SpeakRequest, text string) ([]int16, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Limit)
	defer cancel()
	body := request{Text: text, Model: e.o.Model}
	if r.Model != "" {
		body.Model = r.Model
	}
	if lang, _, _ := strings.Cut(r.Lang, "-"); len(lang) == 2 && body.Model != "eleven_multilingual_v2" { // that one takes none
		body.Lang = lang
	}
	if r.Speed != 0 && r.Speed != 1 {
		body.Settings = &voiceSettings{Speed: min(max(r.Speed, 0.7), 1.2)} // what the service takes
	}
	voice := e.o.Voice
	if r.Voice != "" {
		voice = r.Voice
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, sentences.Fail(speech.KindInput, errors.New("the text cannot be sent"))
	}
	for try := 1; ; try++ {
		pcm, wait, err := e.post(ctx, voice, raw)
		if err == nil || wait < 0 || try == maxTries {
			return pcm, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// post asks once. With an error, wait is how long to wait before asking again; negative: it makes no sense.
func (e *Engine) post(ctx context.Context, voice string, body []byte) (pcm []int16, wait time.Duration, err error) {
	address := e.o.URL + "/v1/text-to-speech/" + url.PathEscape(voice) + "/stream?output_format=pcm_24000&enable_logging=false"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, -1, sentences.Fail(speech.KindInput, errors.New("the address of the service cannot be used"))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "audio/pcm")
	req.Header.Set("xi-api-key", e.o.Key)
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.o.Retry, reach(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		wait, err = e.refusal(res)
		return nil, wait, err
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAudio+2))
	switch {
	case err != nil:
		return nil, e.o.Retry, reach(ctx, err)
	case len(raw) > maxAudio:
		return nil, -1, sentences.Fail(speech.KindInternal, errors.New("the service sends more sound than a sentence can have"))
	case !bare(raw, res.Header.Get("Content-Type")):
		return nil, -1, sentences.Fail(speech.KindInternal, errors.New("the service answers with something that is not the sound that was asked for"))
	case len(raw) < 2:
		return nil, e.o.Retry, sentences.Fail(speech.KindUnavailable, errors.New("the service sent no sound"))
	}
	pcm = make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm, 0, nil
}

// bare says that an answer may be bare samples: a page of a proxy, or sound in another format, would be played as noise.
func bare(raw []byte, kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(kind)), ";")
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "json"), strings.HasSuffix(kind, "xml"):
		return false
	case kind == "audio/mpeg" && len(raw) > 1 && raw[0] == 0xff && raw[1]&0xe0 == 0xe0:
		return false // samples may begin so, but nobody calls them that
	}
	for _, head := range []string{"RIFF", "OggS", "fLaC", "ID3"} {
		if bytes.HasPrefix(raw, []byte(head)) {
			return false
		}
	}
	written := func(b byte) bool { return b >= ' ' && b < 0x7f || b == '\n' || b == '\r' || b == '\t' }
	head := raw[:min(len(raw), 256)]
	for _, b := range head {
		if !written(b) {
			return true
		}
	}
	return len(head) < 16 // so few prove nothing
}

func reach(ctx context.Context, err error) error {
	return sentences.Reach(ctx, err, speech.KindNetwork, "the service was not reached, or broke off")
}

// refusal is an answer that is no sound. The service's own words are not repeated: they may quote the text.
func (e *Engine) refusal(res *http.Response) (wait time.Duration, err error) {
	var body struct {
		Detail json.RawMessage `json:"detail"`
	}
	var detail struct {
		Status string `json:"status"`
	}
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what cannot be read names no status
	if json.Unmarshal(raw, &body) == nil {
		_ = json.Unmarshal(body.Detail, &detail) // a list of what is invalid has none
	}
	wait = -1
	kind, what := speech.KindInput, fmt.Sprintf("the service answers with status %d", res.StatusCode)
	switch {
	case detail.Status == "quota_exceeded", res.StatusCode == http.StatusPaymentRequired:
		kind, what = speech.KindQuota, "the account's credit is used up"
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		kind, what = speech.KindAuth, "the service refuses the key (ELEVENLABS_API_KEY), or its plan does not have this"
	case res.StatusCode == http.StatusNotFound:
		what = "the service has no such voice"
	case res.StatusCode == http.StatusTooManyRequests:
		kind, what, wait = speech.KindBusy, "the service is busy, or the plan allows no more at once", e.o.Retry
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s >= 0 {
			wait = time.Duration(s) * time.Second
		}
	case res.StatusCode >= 500:
		kind, wait = speech.KindUnavailable, e.o.Retry
	}
	return wait, sentences.Fail(kind, errors.New(what))
}

// Voices lists the account's.
func (e *Engine) Voices(ctx context.Context) ([]speech.Voice, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.o.URL+"/v1/voices", nil)
	if err != nil {
		return nil, sentences.Fail(speech.KindInput, errors.New("the address of the service cannot be used"))
	}
	req.Header.Set("xi-api-key", e.o.Key)
	res, err := e.client.Do(req)
	if err != nil {
		return nil, reach(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		_, err := e.refusal(res)
		return nil, err
	}
	var list struct {
		Voices []struct {
			ID   string `json:"voice_id"`
			Name string `json:"name"`
		} `json:"voices"`
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, reach(ctx, err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, sentences.Fail(speech.KindInternal, errors.New("the list of voices cannot be read"))
	}
	var out []speech.Voice
	for _, v := range list.Voices {
		out = append(out, speech.Voice{ID: v.ID, Note: v.Name})
	}
	return out, nil
}

var _ speech.Synthesizer = (*Engine)(nil)
