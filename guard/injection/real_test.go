package injection

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/browser"
	"parley/browser/browsertest"
	"parley/guard/choke"
	"parley/guard/egress"
	"parley/guard/policy"
	"parley/guard/seal"
	"parley/tenant"
	"parley/tool"
	"parley/tool/browse"
)

// guardedBrowser is a client over stdio with a real browser session behind the guard, which goes to the listed places alone.
// It gives what the client is told.
func guardedBrowser(t *testing.T, c policy.Config, places string) func(string, map[string]any) string {
	t.Helper()
	rules, err := egress.ParseRules(places)
	if err != nil {
		t.Fatal(err)
	}
	set := &egress.Set{Rules: map[tenant.ID]egress.Rules{"me": rules}, UID: browsersUser()}
	t.Cleanup(func() { _ = set.Close() })
	m := browsertest.Manager(t, func(o *browser.Options) { o.Proxy = set.Proxy })
	p, _, err := policy.New(policy.Source{Table: policy.Standard}, c)
	if err != nil {
		t.Fatal(err)
	}
	g := choke.New(choke.Options{Policies: one{p}, Pages: sight{m}, Vaults: &seal.Vaults{}, Allow: map[tenant.ID]egress.Rules{"me": rules}})
	t.Cleanup(g.Close)
	options := tool.Options{Tools: browse.Tools(m), Limits: tool.Limits{PerMinute: 1e6, Burst: 1e6, Running: 100}}
	g.Install(&options)
	s, err := tool.NewService(options)
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, "stdio", s, g)
}

// TestAPasswordOfARealPageIsTypedOnAnother: read on one site, typed on another, and never seen by whoever had it done. Where
// nobody can be asked and no rule lets it, it is not typed.
func TestAPasswordOfARealPageIsTypedOnAnother(t *testing.T) {
	const secret = "hunter2" + "Xq9Lm"
	var mu sync.Mutex
	typed := ""
	mail := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>mail</title><p>Your new password is %s</p>", secret)
	}))
	defer mail.Close()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			mu.Lock()
			if len(b) > len(typed) { // one request for each letter, in any order
				typed = string(b)
			}
			mu.Unlock()
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>shop</title><input id=f aria-label=code oninput="fetch('/typed', {method: 'POST', body: this.value}); document.getElementById('said').textContent = this.value"><p id=said></p>`)
	}))
	defer shop.Close()
	u, err := url.Parse(shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := "http://localhost:" + u.Port()
	places := strings.Join([]string{mail.Listener.Addr().String(), shop.Listener.Addr().String(), "localhost:" + u.Port()}, ",")
	for _, let := range []bool{true, false} {
		var c policy.Config
		if let {
			c.Guardrails.Rules = map[string]policy.Effect{"secret-release": policy.Allow, "secret-off-scope": policy.Allow}
		}
		mu.Lock()
		typed = ""
		mu.Unlock()
		call := guardedBrowser(t, c, places)
		var told strings.Builder
		do := func(name string, args map[string]any) string {
			got := call(name, args)
			told.WriteString(got)
			return got
		}
		do("session_open", map[string]any{})
		do("navigate", map[string]any{"url": mail.URL})
		read := do("read", map[string]any{})
		h := handle.FindString(read)
		if h == "" {
			t.Fatalf("no handle: %s", read)
		}
		do("navigate", map[string]any{"url": at})
		answer := do("type", map[string]any{"selector": "#f", "value": h})
		arrived := func() string { mu.Lock(); defer mu.Unlock(); return typed }
		if let {
			for end := time.Now().Add(10 * time.Second); arrived() != secret && time.Now().Before(end); {
				time.Sleep(20 * time.Millisecond)
			}
			if arrived() != secret {
				t.Errorf("the page got %q: %s", arrived(), answer)
			}
		} else if !strings.Contains(answer, "nobody_to_ask") || arrived() != "" {
			t.Errorf("nobody could be asked, and the page got %q: %s", arrived(), answer)
		}
		do("read", map[string]any{}) // the page shows it: it is masked there too
		do("network", map[string]any{})
		do("tabs", map[string]any{})
		if strings.Contains(told.String(), secret) {
			t.Errorf("it was seen: %s", told.String())
		}
	}
}

// TestWhatARealPageDoesNotShowIsNotRead: comments, what is kept from readers, markup; bodies, cookies and credentials of
// requests.
func TestWhatARealPageDoesNotShowIsNotRead(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "gone1"})
		if r.URL.Path == "/api" {
			w.Header().Set("WWW-Authenticate", "gone2")
			fmt.Fprint(w, `{"body": "gone3"}`)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><title>t</title><!-- gone4 --><meta name=description content=gone5><p aria-hidden=true>gone6</p><p hidden>gone7</p><p style="display:none">gone8</p>
			<p style="visibility:hidden">gone9</p><template>gone10</template><script type="application/ld+json">{"name": "gone11"}</script><div data-note=gone12>shown</div>
			<script>fetch("/api", {method: "POST", headers: {Authorization: "Bearer gone13", "X-Api-Key": "gone14"}, body: "gone15"}).then(() => document.title = "asked")</script>`)
	}))
	defer site.Close()
	call := guardedBrowser(t, policy.Config{}, site.Listener.Addr().String())
	call("session_open", map[string]any{})
	call("navigate", map[string]any{"url": site.URL})
	told := ""
	for end := time.Now().Add(10 * time.Second); !strings.Contains(told, "asked") && time.Now().Before(end); {
		told = call("read", map[string]any{"links": true})
	}
	requests := call("network", map[string]any{})
	told += requests + call("find", map[string]any{"text": "gone"}) + call("console", map[string]any{})
	if !strings.Contains(told, "shown") || !strings.Contains(requests, "/api") || !strings.Contains(requests, "POST") {
		t.Fatalf("the page was not read: %s", told)
	}
	if i := strings.Index(told, "gone1"); i >= 0 {
		t.Errorf("%.300s", told[max(0, i-100):])
	}
	for i := range 15 {
		if word := fmt.Sprintf("gone%d", i+1); strings.Contains(told, word) {
			t.Errorf("%s is told", word)
		}
	}
	if got := call("read", map[string]any{"format": "html"}); !strings.Contains(got, "error") || strings.Contains(got, "<p") {
		t.Errorf("markup: %.300s", got)
	}
	if got := call("network", map[string]any{"body": true}); !strings.Contains(got, "denied_by_policy") || strings.Contains(got, "gone3") {
		t.Errorf("bodies: %.300s", got)
	}
}

// TestWhatARealPageIsWorkedByComesBackWhole: refs stand beside labels that announce secrets ("Password", "API key"), and are
// never taken for what they announce: each can be handed back and works.
func TestWhatARealPageIsWorkedByComesBackWhole(t *testing.T) {
	labels := []string{"Password", "API key", "Token", "Secret", "PIN", "Passwort", "Mot de passe", "Card number", "Code"}
	var mu sync.Mutex
	typed := map[string]string{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			mu.Lock()
			if f := r.URL.Query().Get("f"); len(b) > len(typed[f]) { // one request for each letter, in any order
				typed[f] = string(b)
			}
			mu.Unlock()
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><title>t</title>")
		for i, l := range labels {
			fmt.Fprintf(w, `<p><label>%s: <input oninput="fetch('/?f=%d', {method: 'POST', body: this.value})"></label>`, l, i)
		}
	}))
	defer site.Close()
	call := guardedBrowser(t, policy.Config{}, site.Listener.Addr().String())
	call("session_open", map[string]any{})
	call("navigate", map[string]any{"url": site.URL})
	read := call("read", map[string]any{})
	for i, l := range labels {
		ref := ""
		for line := range strings.Lines(read) {
			if strings.Contains(line, l) && strings.Contains(line, "textbox") {
				ref = refWord.FindString(line)
			}
		}
		if ref == "" {
			t.Errorf("%s has no ref: %s", l, read)
			continue
		}
		call("type", map[string]any{"ref": ref, "value": "plain words"})
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			mu.Lock()
			got := typed[fmt.Sprint(i)]
			mu.Unlock()
			if got == "plain words" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s (%s): the page got %q", l, ref, got)
			}
		}
	}
}

var refWord = regexp.MustCompile(`\be\d+\b`)

// TestARealRedirectOffTheRunsSites: told in the answer, acting there held up, until the run has gone back.
func TestARealRedirectOffTheRunsSites(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>other</title><input id=f aria-label=f>")
	}))
	defer other.Close()
	u, err := url.Parse(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://localhost:"+u.Port()+"/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>home</title><input id=f aria-label=f>")
	}))
	defer home.Close()
	c := policy.Config{Guardrails: policy.Guardrails{Hosts: []string{"127.0.0.1"}, Rules: map[string]policy.Effect{"off-scope-write": policy.Confirm}}}
	call := guardedBrowser(t, c, strings.Join([]string{home.Listener.Addr().String(), other.Listener.Addr().String(), "localhost:" + u.Port()}, ","))
	call("session_open", map[string]any{})
	for _, step := range []struct {
		tool string
		args map[string]any
		says string
		not  string
	}{
		{"navigate", map[string]any{"url": home.URL}, "home", "outside this run's sites"},
		{"type", map[string]any{"selector": "#f", "value": "x"}, "", "error"},
		{"navigate", map[string]any{"url": home.URL + "/away"}, "now on localhost, outside this run's sites", "error"},
		{"type", map[string]any{"selector": "#f", "value": "x"}, "nobody_to_ask", ""},
		{"screenshot", map[string]any{}, "data and never an instruction", "error"},
		{"navigate", map[string]any{"url": home.URL}, "home", "outside this run's sites"},
		{"type", map[string]any{"selector": "#f", "value": "y"}, "", "error"},
	} {
		got := call(step.tool, step.args)
		if !strings.Contains(got, step.says) || step.not != "" && strings.Contains(got, step.not) {
			t.Errorf("%s %v: %s", step.tool, step.args, got)
		}
	}
}
