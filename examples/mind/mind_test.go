package mind

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheScript(t *testing.T) {
	m, err := FromEnv(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"Parley, what time is it?": "I have no clock", "CAN YOU HEAR ME?": "Yes, I hear", "The weather is fine.": "", "Parley, is it so?": "Good question", "": "",
	} {
		got, err := m.Answer(t.Context(), []Line{{Who: "Ada", Text: said}})
		if err != nil || want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
	if got, err := m.Answer(t.Context(), []Line{{Text: "what time is it?", Ours: true}}); got != "" || err != nil {
		t.Error(got, err)
	}
	d := m.(Drafter)
	if got, err := d.Draft(t.Context(), nil, Line{Text: "so what time is it"}); !strings.HasPrefix(got, "I have no clock") || err != nil {
		t.Error(got, err)
	}
	if got, err := d.Draft(t.Context(), nil, Line{Text: "can you hear me"}); got != "" || err != nil {
		t.Error(got, err)
	}
}

func TestAScriptOfOnesOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.txt")
	env := func(name string) string { return map[string]string{"LLM_SCRIPT": path}[name] }
	for text, fine := range map[string]bool{"# nothing\n\nhello => Hi.\n": true, "hello": false, "( => x": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := FromEnv(env); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheModel(t *testing.T) {
	var asked struct {
		Model    string
		Messages []message
	}
	key, answer, status := "", `{"choices":[{"message":{"role":"assistant","content":" Yes. "}}]}`, http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization") + " " + r.URL.Path
		asked.Messages = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	m, err := FromEnv(func(name string) string {
		return map[string]string{"LLM_URL": s.URL + "/v1/", "LLM_MODEL": "small", "LLM_API_KEY": "k"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	talk := []Line{{Who: "Ada", Text: "Are you there?"}, {Ours: true, Text: "I am."}, {Text: "Really?"}}
	if got, err := m.Answer(t.Context(), talk); got != "Yes." || err != nil {
		t.Error(got, err)
	}
	if key != "Bearer k /v1/chat/completions" || asked.Model != "small" || len(asked.Messages) != 4 || asked.Messages[1].Content != "Ada: Are you there?" ||
		asked.Messages[2].Role != "assistant" || asked.Messages[3].Content != "Somebody: Really?" {
		t.Errorf("%s %+v", key, asked)
	}
	for _, c := range []struct {
		answer string
		status int
		want   string
		fails  bool
	}{
		{`{"choices":[{"message":{"content":"Silent."}}]}`, 200, "", false},
		{`{"choices":[{"message":{"content":"` + strings.Repeat("ä", 2000) + `"}}]}`, 200, strings.Repeat("ä", answerChars), false},
		{`{"choices":[]}`, 200, "", true},
		{`what`, 200, "", true},
		{`{}`, 500, "", true},
	} {
		answer, status = c.answer, c.status
		if got, err := m.Answer(t.Context(), talk); got != c.want || (err != nil) != c.fails {
			t.Errorf("%.60s: %.60q, %v", c.answer, got, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Answer(gone, talk); err == nil {
		t.Error("a call that was given up has an answer")
	}
}
