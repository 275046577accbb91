// Package elevenlabs is a stand-in for the speech endpoint of ElevenLabs: it speaks its wire, awkward sides included, with
// tones for words.
package elevenlabs

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Key is the one that it takes.
const Key = "key-of-the-stand-in"

// Request is what a client asked for.
type Request struct {
	Voice, Format string
	Logging       string // enable_logging
	Text          string
	Model         string
	Lang          string
	Speed         float64
}

// Behaviour is how it answers. The zero value answers well.
type Behaviour struct {
	// Busy is how many requests find too many others running (429); RetryAfter is the header with it.
	Busy       int
	RetryAfter string
	// Fails is how many requests are answered with Status instead.
	Fails  int
	Status int
	// Quota says that the credit is used up: the service says so with 401.
	Quota bool
	// Slow is how long the first byte takes.
	Slow time.Duration
	// Cuts is how many answers end in the middle of the sound.
	Cuts int
	// Hangs stops in the middle of the sound, until the client goes away.
	Hangs bool
	// Empty answers with no sound at all.
	Empty bool
	// Kind and Body are what a proxy answers instead of the service, with status 200.
	Kind, Body string
	// Redirect answers with this place.
	Redirect string
}

// Server is the stand-in.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	behave   Behaviour
	requests []Request
}

// New starts one on a free port; Close ends it.
func New() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/text-to-speech/{voice}/stream", s.speak)
	mux.HandleFunc("GET /v1/voices", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("xi-api-key") != Key {
			fail(w, http.StatusUnauthorized, "invalid_api_key")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"voices": []map[string]string{{"voice_id": Voice, "name": "Stand-in"}}})
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Voice is the one that it has, besides the vendor's own.
const Voice = "voice0of0the0standin"

var voices = []string{Voice, "JBFqnCBsd6RMkjVDRZzb"}

// models that it has, with whether they take a language.
var models = map[string]bool{"eleven_v4_turbo": true, "eleven_flash_v2_5": true, "eleven_multilingual_v2": false}

// Change changes how it answers.
func (s *Server) Change(f func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.behave)
}

// Requests are those that came with the key, refused ones included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("xi-api-key") != Key {
		fail(w, http.StatusUnauthorized, "invalid_api_key")
		return
	}
	var q struct {
		Text     string `json:"text"`
		Model    string `json:"model_id"`
		Lang     string `json:"language_code"`
		Settings struct {
			Speed float64 `json:"speed"`
		} `json:"voice_settings"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Text == "" {
		invalid(w, "text")
		return
	}
	query := r.URL.Query()
	s.mu.Lock()
	s.requests = append(s.requests, Request{Voice: r.PathValue("voice"), Format: query.Get("output_format"), Logging: query.Get("enable_logging"),
		Text: q.Text, Model: q.Model, Lang: q.Lang, Speed: q.Settings.Speed})
	b := s.behave
	once := func(n *int) bool {
		if *n > 0 {
			*n--
			return true
		}
		return false
	}
	busy, fails := once(&s.behave.Busy), false
	if !busy {
		fails = once(&s.behave.Fails)
	}
	cut := !busy && !fails && once(&s.behave.Cuts)
	s.mu.Unlock()
	takes, known := models[q.Model]
	switch {
	case busy:
		if b.RetryAfter != "" {
			w.Header().Set("Retry-After", b.RetryAfter)
		}
		fail(w, http.StatusTooManyRequests, "too_many_concurrent_requests")
		return
	case b.Redirect != "":
		http.Redirect(w, r, b.Redirect, http.StatusTemporaryRedirect)
		return
	case b.Body != "":
		w.Header().Set("Content-Type", b.Kind)
		_, _ = io.WriteString(w, b.Body) // the client is gone, or it is not
		return
	case b.Quota:
		fail(w, http.StatusUnauthorized, "quota_exceeded")
		return
	case fails:
		fail(w, b.Status, "it_failed_on: "+q.Text)
		return
	case !slices.Contains(voices, r.PathValue("voice")):
		fail(w, http.StatusNotFound, "voice_not_found")
		return
	case !known:
		fail(w, http.StatusBadRequest, "model_not_found")
		return
	case q.Lang != "" && !takes:
		fail(w, http.StatusBadRequest, "unsupported_language")
		return
	case q.Settings.Speed != 0 && (q.Settings.Speed < 0.7 || q.Settings.Speed > 1.2):
		invalid(w, "speed")
		return
	case query.Get("output_format") != "pcm_24000":
		fail(w, http.StatusForbidden, "output_format_not_allowed")
		return
	}
	select {
	case <-time.After(b.Slow):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "audio/pcm")
	pcm := tone(q.Text)
	if b.Empty {
		pcm = nil
	}
	flush := http.NewResponseController(w)
	for at, step := 0, len(pcm)/8*2+2; at < len(pcm); at += step { // as it is generated, in odd numbers of samples
		_, _ = w.Write(pcm[at:min(at+step, len(pcm))])
		_ = flush.Flush()
		switch {
		case at == 0:
		case cut:
			panic(http.ErrAbortHandler)
		case b.Hangs:
			<-r.Context().Done()
			return
		}
	}
}

func fail(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": map[string]string{"status": what, "message": "no"}})
}

func invalid(w http.ResponseWriter, field string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": []map[string]any{{"loc": []string{"body", field}, "msg": "no", "type": "value_error"}}})
}

// Length is how long a text sounds here.
func Length(text string) time.Duration {
	return 200*time.Millisecond + time.Duration(len(strings.Fields(text)))*150*time.Millisecond
}

// tone is a hum as long as a text, 16 bit little-endian at 24 kHz.
func tone(text string) []byte {
	n := int(Length(text) * 24000 / time.Second)
	out := make([]byte, 0, 2*n)
	for i := range n {
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(6000*math.Sin(2*math.Pi*220*float64(i)/24000))))
	}
	return out
}
