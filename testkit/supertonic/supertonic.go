// Package supertonic is a stand-in for the two kinds of Supertonic servers: it speaks their wire, with tones for words.
package supertonic

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request is what a client asked for.
type Request struct {
	Model  string  `json:"model"`
	Input  string  `json:"input"`
	Voice  string  `json:"voice"`
	Lang   string  `json:"lang"`
	Format string  `json:"response_format"`
	Speed  float64 `json:"speed"`
}

// Server is the stand-in. Its fields may be changed between requests, under Change.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	behave   Behaviour
	requests []Request
}

// Behaviour is how it answers. The zero value answers like the vendor's own server.
type Behaviour struct {
	// Streams sends the sound bit by bit, with a placeholder for its length, as the other server does.
	Streams bool
	// NotReady is how many requests find the model still loading.
	NotReady int
	// Fails answers with this status instead, and Code in the body.
	Fails int
	Code  string
	// Hangs makes it stop in the middle of the sound, until the client goes away; Before is how many requests it answers
	// well first.
	Hangs  bool
	Before int
	// Breaks ends the connection in the middle of the sound.
	Breaks bool
	// Body answers with these bytes instead of sound.
	Body []byte
	// Rate of the sound; zero: 44100. Channels; zero: 1.
	Rate, Channels int
	// Redirect answers with this place.
	Redirect string
}

// New starts one on a free port; Close ends it.
func New() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/speech", s.speak)
	mux.HandleFunc("GET /v1/styles", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"styles": []map[string]string{{"name": "M1", "kind": "builtin"}, {"name": "F1", "kind": "builtin"}}})
	})
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "ok", "model": "supertonic-3", "sample_rate": 44100, "version": "stand-in"})
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Change changes how it answers.
func (s *Server) Change(f func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.behave)
}

// Requests are those that came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// known are the voices that the vendor's server has.
var known = []string{"F1", "F2", "F3", "F4", "F5", "M1", "M2", "M3", "M4", "M5"}

func (s *Server) speak(w http.ResponseWriter, r *http.Request) {
	var q Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		fail(w, http.StatusBadRequest, "bad_request", "no JSON")
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	b := s.behave
	if s.behave.NotReady > 0 {
		s.behave.NotReady--
	}
	if s.behave.Before > 0 {
		s.behave.Before--
		b.Hangs = false
	}
	s.mu.Unlock()
	switch {
	case b.NotReady > 0:
		fail(w, http.StatusServiceUnavailable, "not_ready", "the model is loading")
		return
	case b.Redirect != "":
		http.Redirect(w, r, b.Redirect, http.StatusTemporaryRedirect)
		return
	case b.Fails != 0:
		fail(w, b.Fails, b.Code, "it failed on: "+q.Input)
		return
	case b.Body != nil:
		_, _ = w.Write(b.Body)
		return
	case q.Model != "supertonic-3":
		fail(w, http.StatusBadRequest, "model_not_loaded", "another one is")
		return
	case q.Format != "wav" && q.Format != "flac" && q.Format != "ogg":
		fail(w, http.StatusBadRequest, "unsupported_response_format", q.Format)
		return
	case !slices.Contains(known, q.Voice):
		fail(w, http.StatusBadRequest, "unknown_voice", q.Voice)
		return
	}
	rate, channels := 44100, 1
	if b.Rate != 0 {
		rate = b.Rate
	}
	if b.Channels != 0 {
		channels = b.Channels
	}
	pcm := tone(q.Input, rate, channels)
	size := uint32(len(pcm))
	if b.Streams {
		size = 0x7fffffff // nobody knows yet
	}
	w.Header().Set("Content-Type", "audio/wav")
	_, _ = w.Write(head(rate, channels, size))
	flush := http.NewResponseController(w)
	for at, step := 0, len(pcm)/4/(2*channels)*(2*channels)+2*channels; at < len(pcm); at += step {
		_, _ = w.Write(pcm[at:min(at+step, len(pcm))])
		if b.Streams || b.Hangs || b.Breaks {
			_ = flush.Flush()
		}
		if at > 0 && b.Hangs {
			<-r.Context().Done()
			return
		}
		if at > 0 && b.Breaks {
			panic(http.ErrAbortHandler)
		}
	}
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message, "type": "error", "code": code}})
}

// Length is how long a text sounds here.
func Length(text string) time.Duration {
	return 200*time.Millisecond + time.Duration(len(strings.Fields(text)))*150*time.Millisecond
}

// tone is a hum as long as a text.
func tone(text string, rate, channels int) []byte {
	n := int(Length(text) * time.Duration(rate) / time.Second)
	out := make([]byte, 0, n*2*channels)
	for i := range n {
		v := int16(6000 * math.Sin(2*math.Pi*220*float64(i)/float64(rate)))
		for range channels {
			out = binary.LittleEndian.AppendUint16(out, uint16(v))
		}
	}
	return out
}

func head(rate, channels int, size uint32) []byte {
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, size+36)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*2*channels))
	b = binary.LittleEndian.AppendUint16(b, uint16(2*channels))
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, size)
}
