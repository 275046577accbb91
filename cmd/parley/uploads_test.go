package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/testkit/need"
	"parley/tool"
	"parley/tool/browse"
)

// A file that the agent brought goes into a form of a page, and from there to the page's server; with the session it is
// gone from everywhere.
func TestAFileGoesIntoAPage(t *testing.T) {
	need.Browser(t)
	arrived := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			f, h, err := r.FormFile("doc")
			if err != nil {
				arrived <- err.Error()
				return
			}
			raw, err := io.ReadAll(f)
			if err != nil {
				raw = []byte(err.Error())
			}
			arrived <- h.Filename + ": " + string(raw)
			_, _ = io.WriteString(w, "thanks")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<form method=post enctype=multipart/form-data><label>Report <input type=file name=doc></label><button>Send</button></form>`)
	}))
	defer site.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	data := filepath.Join(t.TempDir(), "data")
	c, err := startClient(ctx, data, t.TempDir(), 1, "PARLEY_FEATURES_MEETINGS=0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	must := func(name string, args map[string]any, result any) {
		t.Helper()
		if err := c.call(ctx, name, args, result); err != nil {
			t.Fatal(err)
		}
	}
	var s browse.Opened
	must("session_open", map[string]any{"url": site.URL}, &s)
	var up tool.Uploaded
	must("upload_create", map[string]any{"filename": "report.txt", "size_bytes": 9}, &up)
	give := map[string]any{"session": s.Session, "selector": "input[type=file]", "file_id": up.File}
	if err := c.call(ctx, "upload", give, nil); err == nil || !strings.Contains(err.Error(), "has not arrived") {
		t.Errorf("before it came: %v", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, up.URL, strings.NewReader("all there"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
	var g browse.GivenFiles
	must("upload", give, &g)
	if g.Method != "input" || len(g.Names) != 1 || g.Names[0] != "report.txt" {
		t.Errorf("%+v", g)
	}
	must("click", map[string]any{"session": s.Session, "role": "button", "name": "Send"}, nil)
	select {
	case got := <-arrived:
		if got != "report.txt: all there" {
			t.Errorf("the site got %q", got)
		}
	case <-ctx.Done():
		t.Fatal("the site got nothing")
	}
	must("session_close", map[string]any{"session": s.Session}, nil)
	// What a session used goes with it; it happens right behind the end.
	for {
		files, err := filepath.Glob(filepath.Join(data, "uploads", "*", "f*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		lent, err := filepath.Glob(filepath.Join(os.TempDir(), copies+"*", s.Session))
		if err != nil {
			t.Fatal(err)
		}
		if len(files)+len(lent) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("still there: %v %v", files, lent)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := c.call(ctx, "upload", give, nil); err == nil {
		t.Error("a closed session took a file")
	}
}
