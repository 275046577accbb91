package injection

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"parley/guard/policy"
)

// TestASecretStaysWhereItWasLet: a secret that may be typed on the page it was read on gets into no field of another site: not
// when the page goes there while the field is waited for, and not when the field is that of a frame in the page.
func TestASecretStaysWhereItWasLet(t *testing.T) {
	const secret = "hunter2" + "Xq9Lm"
	var mu sync.Mutex
	var typed []string // by site
	note := func(site string, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		typed = append(typed, site+" "+string(b))
	}
	const field = `<input id=f aria-label=code oninput="fetch('/typed', {method: 'POST', body: this.value})">`
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			note("other", r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>other</title>"+field)
	}))
	defer other.Close()
	u, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := "http://localhost:" + u.Port() + "/"
	mail := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			note("mail", r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>mail</title><p>Your new password is %s</p>", secret)
		switch r.URL.Path {
		case "/own":
			fmt.Fprint(w, field)
		case "/going": // only once the agent has read it, and as soon as somebody looks for a field
			fmt.Fprintf(w, `<button onclick="setTimeout(() => location = '%s', 700)">go</button>`, elsewhere)
		case "/frame":
			fmt.Fprintf(w, `<iframe src="%s"></iframe>`, elsewhere)
		}
	}))
	defer mail.Close()
	for _, c := range []struct {
		page, tool string
		form       bool
		allowed    bool
	}{{"/own", "type", false, true}, {"/going", "type", false, false}, {"/going", "fill_form", true, false}, {"/frame", "type", false, false}, {"/frame", "fill_form", true, false}} {
		t.Run(c.tool+" "+c.page[1:], func(t *testing.T) {
			mu.Lock()
			typed = nil
			mu.Unlock()
			var rules policy.Config
			rules.Guardrails.Rules = map[string]policy.Effect{"secret-release": policy.Allow}
			call := guardedBrowser(t, rules, strings.Join([]string{mail.Listener.Addr().String(), other.Listener.Addr().String(), "localhost:" + u.Port()}, ","))
			call("session_open", map[string]any{})
			call("navigate", map[string]any{"url": mail.URL + c.page})
			h := handle.FindString(call("read", map[string]any{}))
			if h == "" {
				t.Fatal("no handle")
			}
			if c.page == "/going" {
				call("click", map[string]any{"selector": "button"})
			}
			args := map[string]any{"selector": "#f", "value": h}
			if c.form {
				args = map[string]any{"fields": []any{map[string]any{"field": "code", "value": h}}}
			}
			answer := call(c.tool, args)
			call("read", map[string]any{}) // what was typed has arrived by now
			mu.Lock()
			defer mu.Unlock()
			for _, got := range typed {
				if site, text, _ := strings.Cut(got, " "); site == "other" && text != "" {
					t.Errorf("%s got %d letters of it: %s", site, len(text), answer)
					return
				}
			}
			if c.allowed && (len(typed) == 0 || !strings.Contains(strings.Join(typed, "\n"), secret)) {
				t.Errorf("its own page got %q: %s", typed, answer)
			}
			if !c.allowed && !strings.Contains(answer, "secret_elsewhere") && !strings.Contains(answer, "another site") {
				t.Errorf("what became of it is not told: %s", answer)
			}
		})
	}
}
