package standin

import (
	"bytes"
	"context"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"parley/room/guest"
)

// The files that all stand-ins share.
//
//go:embed page
var shared embed.FS

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".svg": "image/svg+xml",
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	common, err := fs.Sub(shared, "page")
	if err != nil {
		panic(err) // the files are part of the program
	}
	mux.HandleFunc("GET /_page/{file...}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r, s.kind.Files) })
	mux.HandleFunc("GET /_shared/{file...}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r, common) })
	mux.HandleFunc("GET /_frame/{name...}", s.frame)
	mux.HandleFunc("GET /_standin/page", s.socket)
	mux.HandleFunc("GET /_standin/state", s.tellState)
	mux.HandleFunc("GET /_standin/flags", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(newPlay(s.kind, s.opts.Scenario).switchedOn())
	})
	mux.HandleFunc("GET /_standin/heard.wav", s.tellSound)
	mux.HandleFunc("GET /_standin/actions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(Actions(), "\n"))
	})
	mux.HandleFunc("POST /_standin/do", s.takeActions)
	mux.Handle("GET /room/", s.room)
	mux.HandleFunc("GET /favicon.ico", http.NotFound)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if p := s.kind.Profile; p != "" && r.URL.Path == p && s.opts.Scenario.Account == "" {
			http.Redirect(w, r, s.kind.SignIn, http.StatusFound)
			return
		}
		r.SetPathValue("file", "index.html")
		s.file(w, r, s.kind.Files)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A foreign page cannot make its own name point here: only loopback names are answered.
		if !ownHost(r.Host) {
			http.Error(w, "This stand-in answers on loopback names only.", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func ownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, from fs.FS) {
	name := r.PathValue("file")
	body, err := fs.ReadFile(from, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // a reader who is gone needs nothing
}

// frame is what stands in a frame of the page: a challenge, or a badge of one.
func (s *Server) frame(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", kinds[".html"])
	fmt.Fprintf(w, `<!doctype html><title>frame</title><body style="font:14px sans-serif;background:#fafafa"><div role="presentation">%s</div>`,
		map[bool]string{true: "Select all images with traffic lights", false: ""}[strings.HasSuffix(r.PathValue("name"), "/bframe")])
}

// page is the connection of one visitor's page.
type page struct {
	id   int
	conn *websocket.Conn
	// latest is the newest view that was not written yet; orders are commands. A slow page skips views, never orders.
	latest chan []byte
	orders chan []byte
	last   []byte // the loop's own
}

// show hands a view over, if it is another than the last. Only the loop calls it.
func (p *page) show(raw []byte) {
	if bytes.Equal(raw, p.last) {
		return
	}
	p.last = raw
	select {
	case <-p.latest:
	default:
	}
	p.latest <- raw
}

func (p *page) send(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return
	}
	select {
	case p.orders <- raw:
	default: // eight commands that nobody took: the page is dead
	}
}

func (p *page) write(ctx context.Context) {
	for {
		var raw []byte
		select {
		case raw = <-p.orders:
		case v := <-p.latest:
			raw = append(append([]byte(`{"type":"view","view":`), v...), '}')
		case <-ctx.Done():
			return
		}
		if p.conn.Write(ctx, websocket.MessageText, raw) != nil {
			return
		}
	}
}

// socket is the connection between a page and the play.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	address, err := s.address(r.URL.Query().Get("at"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if address.Lang == "" {
		address.Lang = s.pick(r.Header.Get("Accept-Language"))
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // answered already
	}
	defer conn.CloseNow()
	conn.SetReadLimit(64 << 10)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.mu.Lock()
	s.next++
	p := &page{id: s.next, conn: conn, latest: make(chan []byte, 1), orders: make(chan []byte, 8)}
	s.pages[p.id] = p
	s.mu.Unlock()
	hello, err := json.Marshal(map[string]any{"type": "hello", "visitor": p.id, "room": roomID, "mutation": s.opts.Mutation})
	if err != nil {
		return
	}
	if conn.Write(ctx, websocket.MessageText, hello) != nil {
		return
	}
	s.post(opened{p.id, address})
	written := make(chan struct{})
	go func() { defer close(written); p.write(ctx) }()
	defer func() { cancel(); <-written }()
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			break
		}
		var a Act
		if json.Unmarshal(raw, &a) == nil {
			s.post(acted{p.id, a})
		}
	}
	s.mu.Lock()
	delete(s.pages, p.id)
	s.mu.Unlock()
	s.post(closed{p.id})
}

// address reads what a page says it was opened by.
func (s *Server) address(at string) (Address, error) {
	u, err := url.Parse(at)
	if err != nil {
		return Address{}, errors.New("at: not an address")
	}
	a := Address{Path: u.Path, Passcode: u.Query().Get("pwd")}
	if s.kind.Honours != nil {
		a.Lang = s.pick(s.kind.Honours(u))
		if s.kind.Honours(u) == "" {
			a.Lang = ""
		}
	}
	return a, nil
}

// pick takes the first language that the page speaks out of a header's list; English otherwise.
func (s *Server) pick(header string) string {
	known, err := s.kind.Languages()
	if err != nil {
		return "en"
	}
	for _, part := range strings.Split(header, ",") {
		tag, _, _ := strings.Cut(part, ";")
		tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		for _, k := range known {
			if k == tag {
				return k
			}
		}
	}
	return "en"
}

func (s *Server) tellState(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.State())
}

// takeActions carries out one action after another, each a JSON object.
func (s *Server) takeActions(w http.ResponseWriter, r *http.Request) {
	if o := r.Header.Get("Origin"); o != "" && o != s.Origin() {
		http.Error(w, "Pages of other origins have nothing to say here.", http.StatusForbidden)
		return
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxScenario))
	d.DisallowUnknownFields()
	for n := 1; ; n++ {
		var a Action
		err := d.Decode(&a)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.Do(r.Context(), a)
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("action %d: %v", n, err), http.StatusUnprocessableEntity)
			return
		}
	}
	s.tellState(w, r)
}

// tellSound gives what was heard of a visitor as a WAV file.
func (s *Server) tellSound(w http.ResponseWriter, r *http.Request) {
	id := 0
	if v := r.URL.Query().Get("visitor"); v != "" {
		var err error
		if id, err = strconv.Atoi(v); err != nil {
			http.Error(w, "visitor: not a number", http.StatusBadRequest)
			return
		}
	}
	pcm := s.Sound(id)
	head := []byte("RIFF")
	head = binary.LittleEndian.AppendUint32(head, uint32(36+2*len(pcm)))
	head = append(head, "WAVEfmt "...)
	head = binary.LittleEndian.AppendUint32(head, 16)
	head = binary.LittleEndian.AppendUint16(head, 1)
	head = binary.LittleEndian.AppendUint16(head, 1)
	head = binary.LittleEndian.AppendUint32(head, guest.Rate)
	head = binary.LittleEndian.AppendUint32(head, 2*guest.Rate)
	head = binary.LittleEndian.AppendUint16(head, 2)
	head = binary.LittleEndian.AppendUint16(head, 16)
	head = append(head, "data"...)
	head = binary.LittleEndian.AppendUint32(head, uint32(2*len(pcm)))
	for _, x := range pcm {
		head = binary.LittleEndian.AppendUint16(head, uint16(x))
	}
	w.Header().Set("Content-Type", "audio/wav")
	http.ServeContent(w, r, "heard.wav", time.Time{}, bytes.NewReader(head))
}
