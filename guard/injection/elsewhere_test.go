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
	"time"

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
			call("read", map[string]any{}) // what was typed has left the page by now
			if c.allowed {
				comes(t, answer, func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(strings.Join(typed, "\n"), secret) })
			}
			mu.Lock()
			defer mu.Unlock()
			for _, got := range typed {
				if site, text, _ := strings.Cut(got, " "); site == "other" && text != "" {
					t.Errorf("%s got %d letters of it: %s", site, len(text), answer)
					return
				}
			}
			// A slow machine may be asked when the page has gone already: then it is the rule that says no.
			if !c.allowed && !strings.Contains(answer, "secret_elsewhere") && !strings.Contains(answer, "another site") && !strings.Contains(answer, "nobody_to_ask") {
				t.Errorf("what became of it is not told: %s", answer)
			}
		})
	}
}

// comes waits for what a page sends.
func comes(t *testing.T, answer string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("it never came: %s", answer)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestNothingIsPressedWhereThePageWent: an act that was let on a run's own site is not done on another one, to which the page
// goes while the element is waited for. Where a run has no list of sites it is.
func TestNothingIsPressedWhereThePageWent(t *testing.T) {
	var mu sync.Mutex
	posts := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			posts++
			mu.Unlock()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>other</title><button id=b onclick="fetch('/done', {method: 'POST'})">b</button><input id=f aria-label=code oninput="fetch('/done', {method: 'POST'})">`)
	}))
	defer other.Close()
	u, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>home</title><button onclick="setTimeout(() => location = 'http://localhost:%s/', 700)">go</button>`, u.Port())
	}))
	defer home.Close()
	for _, listed := range []bool{false, true} {
		for tool, args := range map[string]map[string]any{
			"click":     {"selector": "#b"},
			"type":      {"selector": "#f", "value": "x"},
			"fill_form": {"fields": []any{map[string]any{"field": "code", "value": "x"}}},
		} {
			t.Run(fmt.Sprint(tool, " listed ", listed), func(t *testing.T) {
				var c policy.Config
				if listed {
					c.Guardrails.Hosts = []string{"127.0.0.1"}
				}
				call := guardedBrowser(t, c, strings.Join([]string{home.Listener.Addr().String(), other.Listener.Addr().String(), "localhost:" + u.Port()}, ","))
				call("session_open", map[string]any{})
				call("navigate", map[string]any{"url": home.URL})
				call("click", map[string]any{"selector": "button"})
				mu.Lock()
				posts = 0
				mu.Unlock()
				answer := call(tool, args)
				call("read", map[string]any{}) // what was done has left the page by now
				if !listed {
					comes(t, answer, func() bool { mu.Lock(); defer mu.Unlock(); return posts > 0 })
				}
				mu.Lock()
				defer mu.Unlock()
				if listed && posts != 0 {
					t.Errorf("%d times it was done: %s", posts, answer)
				}
				if listed && !strings.Contains(answer, "denied_by_policy") && !strings.Contains(answer, "outside this run's sites") && !strings.Contains(answer, "nobody_to_ask") {
					t.Errorf("why it was not done is not told: %s", answer)
				}
			})
		}
	}
}
