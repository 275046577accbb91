package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"parley/tool"
)

// serveMetrics writes counts in the text form that Prometheus reads. They hold no names; still, only this
// machine and those with a token see them.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !loopback(r.RemoteAddr) || r.Header.Get("X-Forwarded-For") != "" {
		if _, refusal := s.authenticate(r, false); refusal != "" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="parley"`)
			problem(w, http.StatusUnauthorized, refusal)
			return
		}
	}
	var b bytes.Buffer
	s.writeMetrics(&b)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes()) // the client is gone, or it is not
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// figure is a line of /metrics.
type figure struct {
	name, kind, help string
	value            any
}

func (s *Server) writeMetrics(w io.Writer) {
	s.mu.Lock()
	open, sockets := len(s.conns), 0
	for _, n := range s.sockets {
		sockets += n
	}
	s.mu.Unlock()
	waiting, dropped := s.hub.counts()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	figures := []figure{
		{"parley_connections", "gauge", "Open stdio and WebSocket connections.", open},
		{"parley_websockets", "gauge", "Open WebSocket connections.", sockets},
		{"parley_connections_total", "counter", "Stdio and WebSocket connections ever opened.", s.stats.opened.Load()},
		{"parley_messages_received_total", "counter", "Messages read from clients.", s.stats.received.Load()},
		{"parley_messages_sent_total", "counter", "Messages written to stdio and WebSocket clients.", s.stats.sent.Load()},
		{"parley_messages_refused_total", "counter", "Records that were no good message.", s.stats.refused.Load()},
		{"parley_messages_dropped_total", "counter", "Unfinished speech dropped because a client did not keep up.", s.stats.dropped.Load()},
		{"parley_unauthorized_total", "counter", "Requests without a good token.", s.stats.unauthorized.Load()},
		{"parley_forbidden_total", "counter", "Requests of a wrong host or origin.", s.stats.forbidden.Load()},
		{"parley_events_total", "counter", "Events of meetings.", s.hub.seen.Load()},
		{"parley_events_pushed_total", "counter", "Events pushed to hosts.", s.hub.pushed.Load()},
		{"parley_events_taken_total", "counter", "Events that a host answered.", s.hub.taken.Load()},
		{"parley_events_lost_total", "counter", "Live events that no host answered.", s.hub.lost.Load()},
		{"parley_events_waiting", "gauge", "Events that wait for a host.", waiting},
		{"parley_events_dropped_total", "counter", "Events dropped because too many waited.", dropped},
		{"parley_goroutines", "gauge", "Goroutines.", runtime.NumGoroutine()},
		{"parley_heap_bytes", "gauge", "Live heap.", mem.HeapAlloc},
		{"parley_memory_bytes", "gauge", "Memory obtained from the system.", mem.Sys - mem.HeapReleased},
	}
	if s.o.Channels != nil {
		c := s.o.Channels.Counts()
		figures = append(figures,
			figure{"parley_channels", "gauge", "Meetings' channels on connections.", c.Channels},
			figure{"parley_channel_messages_total", "counter", "Messages put into hosts' queues.", c.Incoming},
			figure{"parley_channel_messages_lost_total", "counter", "Messages that a host did not take in time or at all.", c.Lost},
			figure{"parley_channel_published_total", "counter", "Publishes that were taken.", c.Published},
			figure{"parley_channel_refused_total", "counter", "Publishes that were refused.", c.Refused},
			figure{"parley_channel_chunks_total", "counter", "Pieces of texts handed to meetings.", c.Chunks},
			figure{"parley_channel_chunks_lost_total", "counter", "Pieces that were of no use or too many.", c.ChunksLost})
	}
	for _, m := range figures {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %v\n", m.name, m.help, m.name, m.kind, m.name, m.value)
	}
	calls := s.o.Tools.Stats().Snapshot()
	keys := slices.SortedFunc(maps.Keys(calls), func(a, b tool.StatKey) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(string(a.Code), string(b.Code)))
	})
	fmt.Fprint(w, "# HELP parley_tool_calls_total Tool calls by tool and outcome.\n# TYPE parley_tool_calls_total counter\n")
	for _, k := range keys {
		fmt.Fprintf(w, "parley_tool_calls_total{tool=%q,code=%q} %d\n", k.Tool, cmp.Or(string(k.Code), "ok"), calls[k].Calls)
	}
	fmt.Fprint(w, "# HELP parley_tool_seconds_total Time spent in tool calls.\n# TYPE parley_tool_seconds_total counter\n")
	for _, k := range keys {
		fmt.Fprintf(w, "parley_tool_seconds_total{tool=%q,code=%q} %g\n", k.Tool, cmp.Or(string(k.Code), "ok"), calls[k].Took.Seconds())
	}
	for _, more := range s.o.Metrics {
		more(w)
	}
}
