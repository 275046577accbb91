package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/browser"
	"parley/control/connection"
	"parley/control/dial"
	"parley/control/keys"
	"parley/control/wire"
	"parley/testkit/need"
)

// controlled starts a service in this process, with the control endpoint on or off, and gives its data folder.
func controlled(t *testing.T, on bool) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	t.Setenv("PARLEY_CONTROL", map[bool]string{true: "1", false: "0"}[on])
	inProcess(t, data)
	return data
}

// controlledApp starts one with the endpoint on, and gives it.
func controlledApp(t *testing.T, data string) *app {
	t.Helper()
	t.Setenv("PARLEY_CONTROL", "1")
	return inProcess(t, data)
}

func inProcess(t *testing.T, data string) *app {
	t.Helper()
	t.Setenv("PARLEY_DATA", data)
	t.Setenv("PARLEY_CONFIG", "/dev/null")
	t.Setenv("PARLEY_FEATURES_MEETINGS", "0")
	t.Setenv("PARLEY_CONTROL_KEYRING", "0")
	v, err := loadSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), v, appOptions{log: quietLogger(&environment{stderr: &bytes.Buffer{}}, v), needToken: true, control: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := a.close(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

// parley runs a command and gives its exit code and what it wrote.
func parley(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = dispatch(t.Context(), &environment{strings.NewReader(in), &o, &e}, args)
	return code, o.String(), e.String()
}

func TestNothingListensUnlessItIsSwitchedOn(t *testing.T) {
	data := controlled(t, false)
	if _, err := os.Stat(filepath.Join(data, connection.Name)); err == nil {
		t.Error("a connection file is there")
	}
	if code, _, errs := parley(t, "", "control", "sessions"); code != exitFailed || !strings.Contains(errs, "PARLEY_CONTROL=1") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := parley(t, "", "control", "admin", "state"); code != exitFailed || !strings.Contains(errs, "PARLEY_CONTROL=1") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestTheHelper(t *testing.T) {
	data := controlled(t, true)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	policy := file("policy.json", `{"version":1,"enabled":true,"identityMode":"legacy","scopes":["application:state","bookmarks:list","vault:status"]}`)
	if code, out, errs := parley(t, "", "control", "admin", "publish", policy); code != exitOK || !strings.Contains(out, `"policyVersion": 1`) {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	code, out, errs := parley(t, "", "control", "application:state")
	if code != exitOK || !json.Valid([]byte(out)) || !strings.Contains(errs, "application:state as local (generation 1) at 127.0.0.1:") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, out, errs := parley(t, "", "control", "--request", file("r.json", `{"action":"bookmarks:list","args":{}}`)); code != exitOK || !strings.Contains(out, `"revision": 0`) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	pad := func(n int) string {
		const a, b = `{"action":"bookmarks:list","args":{`, `}}`
		return a + strings.Repeat(" ", n-len(a)-len(b)) + b
	}
	if code, _, errs := parley(t, "", "control", "--request", file("r.json", pad(wire.MaxRequest))); code != exitOK {
		t.Errorf("32 KiB: %d %s", code, errs)
	}
	for what, args := range map[string][]string{
		"32 KiB and one": {"--request", file("r.json", pad(wire.MaxRequest+1))},
		"denied":         {"sessions"},
		"no such action": {"cookies"},
		"another file":   {"--connection", filepath.Join(data, "none.json"), "sessions"},
	} {
		if code, out, errs := parley(t, "", append([]string{"control"}, args...)...); code != exitFailed || out != "" || errs == "" {
			t.Errorf("%s: %d %s %s", what, code, out, errs)
		}
	}
	for what, args := range map[string][]string{"nothing": {}, "no JSON": {"read", "x"}, "a list": {"read", "[]"}, "no word": {"admin", "x"}, "a long wait": {"--timeout", "1h", "read"}} {
		if code, _, _ := parley(t, "", append([]string{"control"}, args...)...); code != exitUsage {
			t.Errorf("%s: %d", what, code)
		}
	}
	// The vault, by its person alone; the passphrase is no argument.
	if code, _, errs := parley(t, "correct horse\n", "control", "admin", "init-vault"); code != exitOK {
		t.Fatal(errs)
	}
	login := file("login.json", `{"id":"l","action":"https://a.example/login","userField":"u","passwordField":"p","Login":{"user":"ada","pass":"Tr0ub4dor"}}`)
	if code, _, errs := parley(t, "", "control", "admin", "add-login", login); code != exitOK {
		t.Error(errs)
	}
	if code, out, _ := parley(t, "", "control", "admin", "logins"); code != exitOK || strings.Contains(out, "Tr0ub4dor") || !strings.Contains(out, "a.example") {
		t.Error(out)
	}
	if code, _, _ := parley(t, "", "control", "admin", "lock"); code != exitOK {
		t.Error("lock")
	}
	if code, _, _ := parley(t, "wrong horse\n", "control", "admin", "unlock"); code != exitFailed {
		t.Error("a wrong passphrase")
	}
	if code, out, _ := parley(t, "", "control", "vault:status"); code != exitOK || !strings.Contains(out, `"locked": true`) {
		t.Error(out)
	}
	// What listens there and is not the endpoint is not believed, and nobody waits for it longer than told.
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hang := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang })}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	defer close(hang)
	stale := filepath.Join(t.TempDir(), "stale")
	dir, err := keys.OpenFiles(stale)
	if err != nil {
		t.Fatal(err)
	}
	_, end, err := connection.Read(keys.At(data), connection.Name)
	if err != nil {
		t.Fatal(err)
	}
	ring, place, err := keys.Protected(filepath.Join(data, "control-keys"), connection.PairingKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Load(ring, connection.PairingKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Write(dir, connection.Name, l.Addr().String(), end, place, key); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if code, out, errs := parley(t, "", "control", "--timeout", "1s", "--connection", filepath.Join(stale, connection.Name), "sessions"); code != exitFailed || out != "" || time.Since(begin) > 10*time.Second {
		t.Errorf("a server that hangs: %d %s %s after %v", code, out, errs, time.Since(begin))
	}
}

// TestARoundTripIsQuick holds the middle of a few hundred round trips to its target, where the machine has time.
func TestARoundTripIsQuick(t *testing.T) {
	need.Real(t)
	data := controlled(t, true)
	address, end, err := connection.Read(keys.At(data), connection.Name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial.New(address, end)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var took []time.Duration
	for range 55 { // within the budget of a minute
		begin := time.Now()
		if _, err := c.Do(t.Context(), wire.Request{Action: "sessions"}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("middle %v, worst %v", took[len(took)/2], took[len(took)-1])
	if !need.Overloaded(t) && took[len(took)/2] > 10*time.Millisecond {
		t.Errorf("the middle is %v", took[len(took)/2])
	}
}

// TestTheEndpointWorksTheTenantsSession: the first address opens a session of the tenant's, whose only way out is the proxy
// with the tenant's list; what another client opened is read, and what is not on the list is not reached.
func TestTheEndpointWorksTheTenantsSession(t *testing.T) {
	need.Browser(t)
	var hits atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!doctype html><title>t</title><body>hello from %s", q.URL.Path)
	}))
	defer site.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer elsewhere.Close()
	t.Setenv("PARLEY_TENANT_ALLOW", "me="+site.Listener.Addr().String())
	t.Setenv("PARLEY_HEADLESS", "1")
	data := filepath.Join(t.TempDir(), "data")
	a := controlledApp(t, data)
	if code, out, errs := parley(t, "", "control", "navigate", `{"url":"`+site.URL+`/one"}`); code != exitOK || !strings.Contains(out, "true") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if code, out, errs := parley(t, "", "control", "read"); code != exitOK || !strings.Contains(out, "hello from /one") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	if n := a.browsers.Count(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if code, out, _ := parley(t, "", "control", "navigate", `{"url":"`+elsewhere.URL+`/"}`); code != exitFailed || hits.Load() != 0 {
		t.Errorf("an address that is not on the list: %d %s, %d requests", code, out, hits.Load())
	}
	s, err := a.browsers.Open(t.Context(), browser.Want{Owner: browser.Owner{Tenant: "me", Client: "an agent"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Navigate(t.Context(), site.URL+"/two", browser.ActOptions{}); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := parley(t, "", "control", "read"); code != exitOK || !strings.Contains(out, "hello from /two") {
		t.Errorf("an agent's session: %d %s %s", code, out, errs)
	}
	// And the setting that leaves sessions alone.
	t.Setenv("PARLEY_CONTROL_BROWSER", "0")
	controlledApp(t, filepath.Join(t.TempDir(), "other"))
	if code, _, errs := parley(t, "", "control", "read"); code != exitFailed || !strings.Contains(errs, "denied") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestWhichHostsAnUnconfinedTabMayReach(t *testing.T) {
	for host, want := range map[string]bool{
		"example.org": true, "93.184.215.14": true, "2606:4700::1111": true, "localhost": false, "a.localhost": false, "127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "10.1.2.3": false,
		"172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.1.1": false, "[::1]": false, "::1": false, "fe80::1": false, "fd00::1": false, "::ffff:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "224.0.0.1": false,
	} {
		if got := publicHost(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
