package mind

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Model is a language model behind the chat API that most services and local servers offer: POST {URL}/chat/completions.
type Model struct {
	URL  string // up to and without /chat/completions, such as http://127.0.0.1:8080/v1
	Name string
	Key  string // sent as a bearer token; empty: none
}

//go:embed prompt.txt
var prompt string

// Bounds of a call.
const (
	rememberLines = 40
	answerWithin  = 30 * time.Second
	answerBytes   = 1 << 20
	answerChars   = 1000
)

// message is one of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Answer asks the model.
func (m *Model) Answer(ctx context.Context, talk []Line) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	messages := []message{{"system", prompt}}
	for _, l := range talk[max(0, len(talk)-rememberLines):] {
		switch {
		case l.Ours:
			messages = append(messages, message{"assistant", l.Text})
		case l.Who == "":
			messages = append(messages, message{"user", "Somebody: " + l.Text})
		default:
			messages = append(messages, message{"user", l.Who + ": " + l.Text})
		}
	}
	body, err := json.Marshal(map[string]any{"model": m.Name, "messages": messages, "max_tokens": 200})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(m.URL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("LLM_URL: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if m.Key != "" {
		r.Header.Set("Authorization", "Bearer "+m.Key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("ask the language model: %w", err)
	}
	defer resp.Body.Close()
	var a struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the language model answers %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, answerBytes)).Decode(&a); err != nil {
		return "", fmt.Errorf("read the language model's answer: %w", err)
	}
	if len(a.Choices) == 0 {
		return "", errors.New("the language model gave no answer")
	}
	text := strings.TrimSpace(a.Choices[0].Message.Content)
	if strings.HasPrefix(strings.ToUpper(text), "SILENT") {
		return "", nil
	}
	if r := []rune(text); len(r) > answerChars {
		text = string(r[:answerChars])
	}
	return text, nil
}
