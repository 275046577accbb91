package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tenant"
	"parley/tool"
)

// tenantServer is what a tenant's clients see: its tools, its transcripts. All its connections share it.
type tenantServer struct {
	s      *Server
	tenant tenant.Tenant
	once   sync.Once
	sdk    *sdk.Server

	mu      sync.Mutex
	listed  []string             // meetings whose transcripts are listed, the oldest first
	lastUse map[string]time.Time // of HTTP sessions
	holders map[string]bool      // HTTP sessions whose end is waited for, since they may hold browser sessions
}

// tenant gives a tenant's server, making it for its first client. There are as many as tenants.
func (s *Server) tenant(t tenant.Tenant) *tenantServer {
	s.mu.Lock()
	ts := s.tenants[t.ID]
	if ts == nil {
		ts = &tenantServer{s: s, tenant: t, lastUse: map[string]time.Time{}}
		s.tenants[t.ID] = ts
	}
	s.mu.Unlock()
	ts.once.Do(ts.make)
	return ts
}

// peek gives a tenant's server where it had a client; it may still be in the making.
func (s *Server) peek(id tenant.ID) *tenantServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenants[id]
}

func (ts *tenantServer) make() {
	s := ts.s
	caps := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}}
	tools := s.o.Tools.Tools(ts.tenant)
	opts := &sdk.ServerOptions{
		Instructions: instructionsFor(tools),
		Capabilities: caps, // logging is left out: it is deprecated, and we have nothing to log to a client
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	}
	if ts.transcripts() {
		caps.Resources = &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true}
		opts.SubscribeHandler = ts.subscribe
		opts.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
	}
	ts.sdk = sdk.NewServer(&sdk.Implementation{Name: "parley", Title: "Parley", Version: s.o.Version}, opts)
	for _, t := range tools {
		ts.sdk.AddTool(describe(t), handled)
	}
	if ts.transcripts() {
		ts.addTranscripts()
	}
	ts.sdk.AddReceivingMiddleware(ts.middleware)
	if s.o.Extend != nil {
		s.o.Extend(ts.sdk)
	}
}

// neverCalled stands where the library wants a handler: the middleware takes every call before.
func neverCalled(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return nil, errors.New("a call went past its one way in")
}

func describe(t *tool.Tool) *sdk.Tool {
	a := &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent || t.ReadOnly}
	// Hints that say what is taken for granted without them are left out: hosts put the whole list before their model.
	if !t.ReadOnly && !t.Destructive {
		a.DestructiveHint = &t.Destructive
	}
	if !t.OpenWorld {
		a.OpenWorldHint = &t.OpenWorld
	}
	return &sdk.Tool{
		Name: t.Name, Title: t.Title, Description: t.Doc,
		InputSchema: t.Input.Input(), OutputSchema: t.Output.Output(),
		Annotations: a,
	}
}

type callerKey struct{}

// callerOf tells who makes a request: the connection's owner, or the token that came with this one.
func callerOf(ctx context.Context, req sdk.Request) (tool.Caller, *conn) {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		if by, ok := extra.TokenInfo.Extra[callerExtra].(tool.Caller); ok {
			return by, nil
		}
	}
	if c, ok := ctx.Value(callerKey{}).(*conn); ok {
		return c.caller, c
	}
	return tool.Caller{}, nil
}

// middleware sees every request of the tenant's clients before the library does.
func (ts *tenantServer) middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		by, c := callerOf(ctx, req)
		if by.Tenant.ID != ts.tenant.ID {
			// Only a defect of ours brings a caller to another tenant's server.
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the caller is not known"}
		}
		switch r := req.(type) {
		case *sdk.CallToolRequest:
			if ts.s.o.Tools.Known(r.Params.Name) {
				return ts.call(ctx, next, by, r)
			}
		}
		result, err := next(ctx, method, req)
		if init, ok := result.(*sdk.InitializeResult); ok && err == nil && c != nil && c.mcpl != nil && c.mcpl.Offered() {
			init.Capabilities.Experimental = map[string]any{"mcpl": ts.s.o.MCPL.Manifest}
		}
		return result, err
	}
}

// call makes a tool call.
func (ts *tenantServer) call(ctx context.Context, next sdk.MethodHandler, by tool.Caller, r *sdk.CallToolRequest) (sdk.Result, error) {
	by.Attended = ts.s.o.Answer != nil && canAsk(r.Session)
	ts.answered(r)
	if by.Owner == "" {
		by.Owner = ts.owner(by, r.Session)
	}
	if p := r.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		by.Client = p.ClientInfo.Name
	}
	call := tool.Call{Tool: r.Params.Name, Args: r.Params.Arguments, Caller: by}
	if token := r.Params.GetProgressToken(); token != nil {
		p := newProgress(context.WithoutCancel(ctx), r.Session, token)
		defer p.end()
		call.Progress = p.report
	}
	a := ts.s.o.Tools.Invoke(ctx, call)
	if a.Ask != nil {
		return ts.ask(ctx, next, r, call, a)
	}
	return result(a), nil
}

// errorMeta is where a result's error is found by programs. It is not in structuredContent, because clients
// check that against the output schema even for errors.
const errorMeta = "parley/error"

func result(a tool.Answer) *sdk.CallToolResult {
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}
	if a.Structured != nil {
		r.StructuredContent = a.Structured
	}
	for _, i := range a.Images {
		if strings.HasPrefix(i.MIME, "image/") {
			r.Content = append(r.Content, &sdk.ImageContent{MIMEType: i.MIME, Data: i.Data})
			continue
		}
		r.Content = append(r.Content, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "parley://result/file", MIMEType: i.MIME, Blob: i.Data}})
	}
	if a.Replayed {
		r.Meta = sdk.Meta{"parley/replayed": true}
	}
	if a.Err != nil {
		r.IsError = true
		e := map[string]any{"code": a.Err.Code, "message": a.Err.Text}
		if a.Err.Remedy != "" {
			e["remedy"] = a.Err.Remedy
		}
		if a.Err.RetryAfter > 0 {
			e["retry_after_s"] = a.Err.RetryAfter.Seconds()
		}
		if r.Meta == nil {
			r.Meta = sdk.Meta{}
		}
		r.Meta[errorMeta] = e
	}
	return r
}

// heartbeat is how often a call that takes long says so: many clients give up on silence after a minute.
const heartbeat = 15 * time.Second

// progress sends what a handler reports, in order, without ever holding the handler up.
type progress struct {
	reports chan tool.Progress
	done    <-chan struct{}
}

// newProgress keeps the request's values, by which the library finds the stream that the client reads.
func newProgress(ctx context.Context, ss *sdk.ServerSession, token any) *progress {
	reports := make(chan tool.Progress, 16)
	return &progress{reports: reports, done: startProgress(func(r tool.Progress) {
		_ = ss.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: r.Done, Total: r.Total, Message: r.Text}) // a client that is gone needs none
	}, reports)}
}

// startProgress sends reports until they end. The protocol wants a number that grows: a report without one
// counts the reports.
func startProgress(send func(tool.Progress), reports <-chan tool.Progress) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(heartbeat)
		defer beat.Stop()
		last := 0.0
		for {
			r, open := tool.Progress{Text: "still working"}, true
			select {
			case r, open = <-reports:
			case <-beat.C:
			}
			if !open {
				return
			}
			last = max(last+1, r.Done)
			r.Done = last
			send(r)
		}
	}()
	return ended
}

func (p *progress) report(r tool.Progress) {
	select {
	case p.reports <- r:
	default: // the client does not keep up; a later report says more
	}
}

// end waits, so that no progress comes after the answer.
func (p *progress) end() {
	close(p.reports)
	<-p.done
}

// transcripts tells whether the tenant's clients see transcripts as resources.
func (ts *tenantServer) transcripts() bool {
	if ts.tenant.Policy == tenant.Ephemeral {
		return false
	}
	return ts.s.o.Tools.Known(toolTranscript) && ts.s.o.Tools.Known(toolList)
}

// The tools behind resources: what is read passes their one way in.
const (
	toolTranscript = "meeting_transcript"
	toolList       = "meeting_list"
)

const (
	transcriptPrefix = "parley://meeting/"
	transcriptSuffix = "/transcript"
)

func transcriptURI(meeting string) string { return transcriptPrefix + meeting + transcriptSuffix }

// parseTranscriptURI takes a transcript's address apart; since is 0 where it has none.
func parseTranscriptURI(uri string) (meeting string, since int64, ok bool) {
	rest, ok := strings.CutPrefix(uri, transcriptPrefix)
	if !ok {
		return "", 0, false
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	meeting, ok = strings.CutSuffix(rest, transcriptSuffix)
	if !ok || meeting == "" || strings.ContainsAny(meeting, "/?#") {
		return "", 0, false
	}
	if hasQuery {
		text, found := strings.CutPrefix(query, "since=")
		if _, err := fmt.Sscanf(text, "%d", &since); !found || err != nil || since < 0 || fmt.Sprint(since) != text {
			return "", 0, false
		}
	}
	return meeting, since, true
}

func (ts *tenantServer) addTranscripts() {
	ts.sdk.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "transcript", Title: "Transcript of a meeting", URITemplate: transcriptPrefix + "{meeting_id}" + transcriptSuffix + "{?since}",
		Description: "What was said, as JSON and as text. since is the next of the last reading. Subscribe to the address without since to hear of new speech.",
		MIMEType:    "application/json",
	}, ts.readTranscript)
	a := ts.s.o.Tools.Invoke(context.Background(), tool.Call{Tool: toolList, Args: json.RawMessage(`{"limit":50}`), Caller: ts.inside()})
	var l struct {
		Meetings []struct {
			Meeting string `json:"meeting_id"`
		} `json:"meetings"`
	}
	if a.Err != nil || json.Unmarshal(a.Structured, &l) != nil {
		return // the template serves them all the same
	}
	for _, m := range slices.Backward(l.Meetings) { // the newest come first
		ts.addTranscript(m.Meeting)
	}
}

// inside is the tenant itself, for looking at its own meetings.
func (ts *tenantServer) inside() tool.Caller {
	return tool.Caller{Principal: tenant.Principal{Tenant: ts.tenant}, Transport: "inside"}
}

// maxListed is how many transcripts are listed; the template reaches all.
const maxListed = 50

// addTranscript lists a meeting's transcript; clients hear that the list changed.
func (ts *tenantServer) addTranscript(meeting string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if slices.Contains(ts.listed, meeting) {
		return
	}
	ts.listed = append(ts.listed, meeting)
	if len(ts.listed) > maxListed {
		ts.sdk.RemoveResources(transcriptURI(ts.listed[0]))
		ts.listed = ts.listed[1:]
	}
	ts.sdk.AddResource(&sdk.Resource{
		URI: transcriptURI(meeting), Name: "transcript of " + meeting, Title: "Transcript of " + meeting, MIMEType: "application/json",
		Description: "What was said at the meeting " + meeting + ".",
	}, ts.readTranscript)
}

func (ts *tenantServer) readTranscript(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	meeting, since, ok := parseTranscriptURI(r.Params.URI)
	if !ok {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	by, _ := callerOf(ctx, r)
	args, err := json.Marshal(map[string]any{"meeting_id": meeting, "since": since})
	if err != nil {
		return nil, err
	}
	a := ts.s.o.Tools.Invoke(ctx, tool.Call{Tool: toolTranscript, Args: args, Caller: by})
	switch {
	case a.Err != nil && a.Err.Code == tool.CodeMeetingNotFound:
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	case a.Err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: a.Text}
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
		{URI: r.Params.URI, MIMEType: "application/json", Text: string(a.Structured)},
		{URI: r.Params.URI, MIMEType: "text/plain", Text: a.Text},
	}}, nil
}

// subscribe refuses what is not the caller's own: the library would note any address.
func (ts *tenantServer) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	if ts.s.o.Extend != nil && !strings.HasPrefix(r.Params.URI, "parley:") {
		return nil // what was added from outside is not ours to judge
	}
	meeting, since, ok := parseTranscriptURI(r.Params.URI)
	if !ok || since != 0 {
		return sdk.ResourceNotFoundError(r.Params.URI)
	}
	args, err := json.Marshal(map[string]any{"meeting_id": meeting, "limit": 1})
	if err != nil {
		return err
	}
	a := ts.s.o.Tools.Invoke(ctx, tool.Call{Tool: toolTranscript, Args: args, Caller: ts.inside()})
	if a.Err != nil {
		return sdk.ResourceNotFoundError(r.Params.URI)
	}
	return nil
}
