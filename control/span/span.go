// Package span measures the phases of a request for diagnosis: names out of a closed list, durations, nothing of what the request says.
package span

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Name is what a span measures.
type Name string

// Request is the parent of all spans of one action.
const Request Name = "agent.request"

// The phases of an action.
const (
	Challenge  Name = "challenge"
	Decrypt    Name = "decrypt"
	Authorise  Name = "authorise"
	Audit      Name = "audit"
	Dispatch   Name = "dispatch"
	Projection Name = "projection"
	Encryption Name = "encryption"
)

// The phases of a prepared credential's life, and of its request on the network.
const (
	CredentialIssue     Name = "credential.issue"
	CredentialClaim     Name = "credential.claim"
	CredentialHeaders   Name = "credential.headers"
	CredentialAuthorize Name = "credential.authorize"
	CredentialRedirect  Name = "credential.redirect"
	CredentialComplete  Name = "credential.complete"
	CredentialFailure   Name = "credential.failure"
)

// The phases of a picture's way out.
const (
	ShotCapture Name = "visual.capture"
	ShotBound   Name = "visual.bounds"
	ShotInspect Name = "visual.inspect"
	ShotRelease Name = "visual.release"
)

// Names is the closed list.
func Names() []Name {
	return []Name{Request, Challenge, Decrypt, Authorise, Audit, Dispatch, Projection, Encryption,
		CredentialIssue, CredentialClaim, CredentialHeaders, CredentialAuthorize, CredentialRedirect, CredentialComplete, CredentialFailure,
		ShotCapture, ShotBound, ShotInspect, ShotRelease}
}

// Span is one measured phase.
type Span struct {
	Trace  string // 32 hex digits, the same for all spans of an action
	Name   Name
	Parent Name // empty for Request
	Took   time.Duration
	Failed bool
}

// Recorder takes spans. The zero Recorder is switched off. Safe for concurrent use; Take must not block.
type Recorder struct {
	on   atomic.Bool
	take atomic.Pointer[func(Span)]
}

// Switch turns recording on or off for all who hold the recorder.
func (r *Recorder) Switch(on bool) { r.on.Store(on) }

// To names who takes the spans.
func (r *Recorder) To(take func(Span)) { r.take.Store(&take) }

func (r *Recorder) emit(s Span) {
	if r == nil || !r.on.Load() || !slices.Contains(Names(), s.Name) {
		return
	}
	if f := r.take.Load(); f != nil {
		(*f)(s)
	}
}

// Trace is one action's spans.
type Trace struct {
	id    string
	r     *Recorder
	begin time.Time
	once  sync.Once
}

// Begin starts the trace of one action.
func (r *Recorder) Begin() *Trace {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return &Trace{id: hex.EncodeToString(b[:]), r: r, begin: time.Now()}
}

// ID names the trace, for audit records.
func (t *Trace) ID() string {
	if t == nil {
		return ""
	}
	return t.id
}

// Did records a phase that was measured already.
func (t *Trace) Did(n Name, took time.Duration, failed bool) {
	if t != nil {
		t.r.emit(Span{t.id, n, Request, took, failed})
	}
}

// Start begins a phase; the returned function ends it.
func (t *Trace) Start(n Name) func(failed bool) {
	begin := time.Now()
	return func(failed bool) { t.Did(n, time.Since(begin), failed) }
}

// End records the parent, once.
func (t *Trace) End(failed bool) {
	if t != nil {
		t.once.Do(func() { t.r.emit(Span{t.id, Request, "", time.Since(t.begin), failed}) })
	}
}

type key struct{}

// With puts a trace into a context.
func With(ctx context.Context, t *Trace) context.Context { return context.WithValue(ctx, key{}, t) }

// From is the context's trace; nil, which records nothing, when there is none.
func From(ctx context.Context) *Trace {
	t, _ := ctx.Value(key{}).(*Trace)
	return t
}

// Start begins a phase of the context's trace.
func Start(ctx context.Context, n Name) func(failed bool) { return From(ctx).Start(n) }
