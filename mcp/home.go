package mcp

import (
	_ "embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed home.html
var homePage string

var homeTemplate = template.Must(template.New("home").Parse(homePage))

// home is the page of a service without a dashboard: what it is, and where clients connect. It tells nothing about
// tenants or meetings, since nobody has said who they are.
func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		problem(w, http.StatusNotFound, "there is nothing here; clients connect to /mcp")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		problem(w, http.StatusMethodNotAllowed, "this page is only read")
		return
	}
	base := s.o.BaseURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	_ = homeTemplate.Execute(w, map[string]any{ // the client is gone, or it is not
		"Version": s.o.Version, "HTTP": base + "/mcp", "Socket": "ws" + strings.TrimPrefix(base, "http") + "/mcp", "Base": base,
	})
}
