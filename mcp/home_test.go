package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestTheFirstPageSaysWhereClientsConnect(t *testing.T) {
	w := newWorld(t, nil)
	get := func(method, path string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b), resp.Header
	}
	code, body, h := get("GET", "/")
	if code != 200 || !strings.Contains(body, "http://"+w.addr+"/mcp") || !strings.Contains(body, "ws://"+w.addr+"/mcp") || !strings.HasPrefix(h.Get("Content-Type"), "text/html") {
		t.Errorf("%d %s", code, body)
	}
	if strings.Contains(body, "<script") || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("the page could run something")
	}
	for _, path := range []string{"/nothing", "/mcp2", "/index.html"} {
		if code, body, _ := get("GET", path); code != 404 || !strings.Contains(body, "/mcp") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _, h := get("POST", "/"); code != 405 || h.Get("Allow") == "" {
		t.Error(code)
	}
	if code, body, _ := get("HEAD", "/"); code != 200 || body != "" {
		t.Error(code, body)
	}
}

func TestTheFirstPageNamesTheOutsideAddress(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.BaseURL = "https://parley.example.org/" })
	resp, err := http.Get("http://" + w.addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(b), "wss://parley.example.org/mcp") || !strings.Contains(string(b), "https://parley.example.org/mcp") {
		t.Error(string(b))
	}
}
