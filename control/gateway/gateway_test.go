package gateway

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// standIn is a gateway that answers as the field's do.
func standIn(t *testing.T, h http.HandlerFunc) *Gateway {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	g, err := New(Options{URL: s.URL + "/v1/chat/completions", Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func says(w http.ResponseWriter, text string) {
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}}}})
}

func TestAQuestion(t *testing.T) {
	g := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer k" || !strings.Contains(string(raw), `"what is it?"`) || !strings.Contains(string(raw), "a page") || !strings.Contains(string(raw), `"model":"m"`) {
			t.Errorf("%s", raw)
		}
		says(w, strings.Repeat("ä", MaxAnswer+1))
	})
	got, err := g.Ask(t.Context(), "what is it?", "a page")
	if err != nil || len([]rune(got)) != MaxAnswer {
		t.Errorf("%d characters, %v", len([]rune(got)), err)
	}
}

func TestGatewaysThatMisbehave(t *testing.T) {
	for what, h := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("the redirect was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", 500) },
		"no json": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"empty":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"choices":[]}`) },
		"endless": func(w http.ResponseWriter, _ *http.Request) { says(w, strings.Repeat("x", maxBody)) },
	} {
		if got, err := standIn(t, h).Ask(t.Context(), "q", "p"); !errors.Is(err, ErrGateway) || got != "" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

func TestAddressesOfGateways(t *testing.T) {
	for _, u := range []string{"https://ai.example/v1/chat/completions", "http://127.0.0.1:8080/x", "http://[::1]:8080/x"} {
		if _, err := New(Options{URL: u}); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, u := range []string{"", "http://ai.example/x", "ftp://ai.example/", "https://u:p@ai.example/", "/x"} {
		if _, err := New(Options{URL: u}); err == nil {
			t.Errorf("%s is taken", u)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":"x"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if text, err := parse(raw); err == nil && (text == "" || len([]rune(text)) > MaxAnswer) {
			t.Errorf("%q", text)
		}
	})
}
