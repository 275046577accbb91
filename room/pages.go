package room

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"path"
	"strings"
)

// The page is plain files, served as they are.
//
//go:embed page
var pageFiles embed.FS

// asset is a file of the page.
type asset struct {
	body []byte
	kind string
	etag string
}

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".svg": "image/svg+xml",
}

func loadAssets() map[string]asset {
	out := map[string]asset{}
	entries, err := pageFiles.ReadDir("page")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, e := range entries {
		body, err := pageFiles.ReadFile("page/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		out[e.Name()] = asset{body, kinds[path.Ext(e.Name())], `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return out
}

func (s *Server) routes() {
	assets := loadAssets()
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "room/"+NewID(), http.StatusSeeOther)
	})
	s.mux.HandleFunc("GET /room/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, NewID(), http.StatusSeeOther)
	})
	// The page's files are beside the rooms, since no room's id has a dot: so every address in the page is relative, and
	// a proxy may serve it below any path.
	s.mux.HandleFunc("GET /room/{room}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("room")
		a, ok := assets[name]
		if ValidID(name) {
			a, ok = assets["room.html"], true
		}
		if !ok || name == "room.html" {
			http.NotFound(w, r)
			return
		}
		serve(w, r, a)
	})
	s.mux.HandleFunc("GET /room/{room}/ws", s.signal)
}

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy(r.Host))
	h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=(), display-capture=()")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.etag)
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(a.body) // the reader may be gone; there is nothing else to tell it
}

// policy lets the page use its own files and its own WebSocket, and nothing else. The host was checked before; still,
// it goes in only if it looks like one.
func policy(host string) string {
	connect := "'self'"
	if host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") == "" {
		connect += " ws://" + host + " wss://" + host // browsers that do not count these as 'self'
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self' blob: mediastream:; connect-src " +
		connect + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
}

// discardLog silences the HTTP server's own log: it names addresses, and what goes wrong with one client's
// connection is that client's affair.
func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
