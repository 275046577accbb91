package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/store"
	"parley/tenant"
)

// Limits of a call's time.
const (
	DefaultDeadline = 60 * time.Second
	MaxDeadline     = 120 * time.Second
)

// Options make a Service. The zero value of each field but Tools works.
type Options struct {
	// Tools is the table; see Table.
	Tools []Tool
	// Alive tells whether a caller's token is still good; nil: a token lives as long as the service. Callers
	// without a token are on this machine and were let in by it.
	Alive func(tenant.Principal) error
	// Idempotency keeps results under keys; nil refuses calls that bring a key.
	Idempotency Memory
	// Owner names this process in it; needed with Idempotency.
	Owner string
	// Limits of calls; zero fields are the defaults given there.
	Limits Limits
	// Deadline of a call whose tool names none; zero: DefaultDeadline. Deadlines replaces a tool's own.
	Deadline  time.Duration
	Deadlines map[string]time.Duration

	// Decide is asked before anything happens; nil allows everything.
	Decide func(context.Context, Request) Decision
	// Approve asks a person about a Confirm; nil: there is nobody.
	Approve func(context.Context, Request, Decision) Approval
	// Hands refuses arguments that carry what must not be handed on, such as a sealed secret outside the fields
	// that type. It sees the raw arguments of every call, before the policy; nil refuses nothing.
	Hands func(t *Tool, raw json.RawMessage) *Error
	// Audit writes a record; an error keeps a call from being made. Nil writes to Log at debug level.
	Audit func(context.Context, Record) error
	// Seal hides a tenant's secrets in a text; nil hides nothing.
	Seal func(tenant.ID, string) string
	// SealFor gives the seal of one call where that has its own, as a browser session has; nil, or a nil answer: Seal.
	SealFor func(Request) func(string) string
	// Release turns sealed secrets in an argument back into their values, in the one place of a tool that types; nil:
	// a text is typed as it is.
	Release func(r Request, argument, text string) (Released, *Error)
	// Within gives the addresses at which a call that was let may still work its page, which can go elsewhere meanwhile; nil,
	// or a nil answer: all.
	Within func(r Request) func(address string) bool
	// Remark gives a sentence of our own to stand behind the text of a result, outside its fence; pictured tells that there
	// are pictures beside it. Empty, or nil: none.
	Remark func(r Request, pictured bool) string
	// Fence marks what others wrote; nil is a plain one. Unfenced names tenants that take results without marks; nil:
	// nobody does. What is shown is cleaned all the same.
	Fence    Fence
	Unfenced func(tenant.ID) bool

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: silent
}

// Memory keeps what calls with an idempotency key gave; *store.Store has one.
type Memory interface {
	Claim(ctx context.Context, k store.Key, args, owner string, now time.Time, lease time.Duration) (store.Claim, error)
	Finish(ctx context.Context, k store.Key, owner, meeting string, result []byte) error
	Release(ctx context.Context, k store.Key, owner string) error
}

// Request is a call that passed validation, for the policy.
type Request struct {
	Tool   *Tool
	Caller Caller
	// Args is the tool's own argument struct.
	Args any
}

// Decision is what the policy says.
type Decision struct {
	Effect Effect
	// Rules names the decisive rules; Waived those that fired and were let pass.
	Rules, Waived []string
	// Title is for the person who is asked, Reason is a sentence part for the caller ("…: {reason}.").
	Title, Reason string
	// NobodyToAsk tells a Deny that is one only because nobody can be asked.
	NobodyToAsk bool
}

// Approval is what became of a Confirm. The zero value is that nobody can be asked.
type Approval struct {
	// Yes: a person said yes to exactly this call. No: one said no, or did not answer in time.
	Yes, No bool
	// Ask has the caller's own client put the question, and make the call again with the answer.
	Ask *Ask
}

// Ask is a question that the caller's client puts before its person. Nothing a page or a meeting wrote is in it.
type Ask struct {
	ID    string
	Text  string
	Until time.Time
	// Always tells that "always for this action on this site" is among the choices.
	Always bool
}

// Effect is allow, confirm or deny. The zero value is Allow.
type Effect int

// The effects.
const (
	Allow Effect = iota
	Confirm
	Deny
)

func (e Effect) String() string { return [...]string{"allow", "confirm", "deny"}[e] }

// Record is a line of the audit. It holds no content.
type Record struct {
	At        time.Time
	Stage     Stage
	Tenant    tenant.ID
	Token     tenant.TokenID
	Transport string
	Tool      string
	Meeting   string
	Effect    string   // what the policy said: allow, confirm or deny; empty where it was not asked
	Rules     []string // the decisive ones, or those that were waived
	Approved  bool     // a person said yes
	Code      Code     // of a failure
	Took      time.Duration
	Replayed  bool // answered from under an idempotency key
}

// Stage is where in a call a record was written.
type Stage string

// The stages. A call has one of Refused, or Authorized followed by Completed or Failed.
const (
	Refused    Stage = "refused"
	Authorized Stage = "authorized"
	Completed  Stage = "completed"
	Failed     Stage = "failed"
)

// Call is one use of a tool.
type Call struct {
	Tool string
	Args json.RawMessage
	// Caller has been told from its token by the transport.
	Caller Caller
	// Progress gets what a handler says while it works; nil: nobody listens. It must not block.
	Progress func(Progress)
}

// Progress is how far a call is.
type Progress struct {
	Done, Total float64 // Total 0: unknown
	Text        string
}

// Answer is what a call gives: a structured result and the same as text, or an error.
type Answer struct {
	Structured json.RawMessage
	Text       string
	// Images are pictures that belong to the result. They are not kept under idempotency keys.
	Images   []Image
	Err      *Error
	Replayed bool
	// Ask is set, beside Err, when the client has to put a question first and then make the call again.
	Ask *Ask
}

// Image is a picture in a result.
type Image struct {
	MIME string // "image/png"
	Data []byte
}

// Pictured is a result with pictures, which stand beside its fields.
type Pictured interface{ Images() []Image }

// Service answers calls. It is safe for concurrent use.
type Service struct {
	o       Options
	byName  map[string]*Tool
	limiter *limiter
	stats   *Stats

	mu      sync.Mutex
	closing bool
	cancel  context.CancelCauseFunc
	ctx     context.Context
	running sync.WaitGroup
}

// NewService makes a service of a table.
func NewService(o Options) (*Service, error) {
	o.Deadline = cmp.Or(o.Deadline, DefaultDeadline)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Fence == nil {
		o.Fence = plainFence{}
	}
	if o.Seal == nil {
		o.Seal = func(_ tenant.ID, s string) string { return s }
	}
	if o.Audit == nil {
		log := o.Log
		o.Audit = func(ctx context.Context, r Record) error {
			log.DebugContext(ctx, "call", "stage", r.Stage, "tenant", r.Tenant, "token", r.Token, "tool", r.Tool, "meeting", r.Meeting, "code", r.Code, "took", r.Took)
			return nil
		}
	}
	if o.Idempotency != nil && o.Owner == "" {
		return nil, errors.New("tool: with Idempotency, Owner has to name this process")
	}
	if o.Deadline > MaxDeadline {
		return nil, fmt.Errorf("tool: a deadline of %s is over the limit of %s", o.Deadline, MaxDeadline)
	}
	s := &Service{o: o, byName: map[string]*Tool{}, limiter: newLimiter(o.Limits), stats: newStats()}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	for i := range o.Tools {
		t := &o.Tools[i]
		if s.byName[t.Name] != nil {
			return nil, fmt.Errorf("tool: %s stands twice in the table", t.Name)
		}
		s.byName[t.Name] = t
	}
	for name, d := range o.Deadlines {
		if s.byName[name] == nil {
			return nil, fmt.Errorf("tool: a deadline names %q, which is no tool", name)
		}
		if d <= 0 || d > MaxDeadline {
			return nil, fmt.Errorf("tool: the deadline of %s is %s, want up to %s", name, d, MaxDeadline)
		}
	}
	return s, nil
}

// Tools lists what a tenant may call, by name.
func (s *Service) Tools(t tenant.Tenant) []*Tool {
	var out []*Tool
	for _, tl := range s.byName {
		if allowed(tl, t) == nil {
			out = append(out, tl)
		}
	}
	slices.SortFunc(out, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Known tells whether a name is a tool's.
func (s *Service) Known(name string) bool { return s.byName[name] != nil }

// Stats are counts for metrics.
func (s *Service) Stats() *Stats { return s.stats }

// allowed is the policy of the token.
func allowed(t *Tool, who tenant.Tenant) *Error {
	switch {
	case who.Policy == tenant.Ephemeral && !t.Ephemeral:
		return Fail(CodeNotAllowed, "tool", t.Name)
	case who.Policy != tenant.Ephemeral && t.Needs != "" && !who.Can(t.Needs):
		return Fail(CodeGrantMissing, "grant", t.Needs)
	}
	return nil
}

// Invoke makes a call, in this order: authenticate, grant, rate limit, validate, decide, audit, handler, seal,
// fence, audit, answer. A call that is refused before the handler has no effect. It returns at the call's
// deadline even when the handler does not; the handler is then cancelled, and what it still gives lands
// under the idempotency key.
func (s *Service) Invoke(ctx context.Context, c Call) Answer {
	began := s.o.Now()
	t, args, meeting, refusal := s.admit(ctx, c)
	rec := Record{At: began, Tenant: c.Caller.Tenant.ID, Token: c.Caller.Token, Transport: c.Caller.Transport, Tool: c.Tool, Meeting: meeting}
	if t == nil {
		rec.Tool = "" // a name of the caller's own making
	}
	defer func() { s.stats.count(rec.Tool, rec.Code, rec.Took) }()
	refuse := func(e *Error) Answer {
		rec.Stage, rec.Code = Refused, e.Code
		s.audit(ctx, rec)
		return s.failed(c.Caller, e)
	}
	if refusal != nil {
		return refuse(refusal)
	}
	ask, refusal := s.judge(ctx, Request{Tool: t, Caller: c.Caller, Args: args}, c.Args, &rec)
	if refusal != nil {
		a := refuse(refusal)
		a.Ask = ask
		return a
	}
	end, refusal := s.begin(t, c.Caller)
	if refusal != nil {
		return refuse(refusal)
	}
	key, claim, refusal := s.claim(ctx, c, args)
	if refusal != nil {
		end()
		return refuse(refusal)
	}
	if claim.Done {
		end()
		rec.Stage, rec.Replayed = Completed, true
		s.audit(ctx, rec)
		return s.replay(t, c.Caller, claim.Result)
	}
	rec.Stage = Authorized
	if err := s.o.Audit(ctx, rec); err != nil && !t.Safety {
		s.release(key)
		end()
		return refuse(Fail(CodeAuditFailed).Because(err))
	}
	answer := s.handle(ctx, t, c, args, key, meeting, end)
	rec.Stage, rec.Took = Completed, s.o.Now().Sub(began)
	if answer.Err != nil {
		rec.Stage, rec.Code = Failed, answer.Err.Code
	}
	s.audit(ctx, rec)
	return answer
}

// judge asks the policy, and a person where the policy wants one. A tool that protects people waits for neither,
// unless this very call does the opposite (unmuting).
func (s *Service) judge(ctx context.Context, req Request, raw json.RawMessage, rec *Record) (*Ask, *Error) {
	t := req.Tool
	if x, ok := req.Args.(interface{ exposes() bool }); t.Safety && !t.Judged && !(ok && x.exposes()) {
		return nil, nil
	}
	if s.o.Hands != nil {
		if e := s.o.Hands(t, raw); e != nil {
			return nil, e
		}
	}
	if s.o.Decide == nil {
		return nil, nil
	}
	d := s.o.Decide(ctx, req)
	rec.Effect, rec.Rules = d.Effect.String(), d.Rules
	if d.Effect == Allow && len(d.Waived) > 0 {
		rec.Rules = d.Waived
		s.o.Log.InfoContext(ctx, "rules were waived", "tool", t.Name, "tenant", req.Caller.Tenant.ID, "waived", d.Waived)
	}
	switch {
	case d.Effect == Allow:
		return nil, nil
	case d.Effect == Deny && d.NobodyToAsk:
		return nil, Fail(CodeNobodyToAsk, "reason", d.Reason)
	case d.Effect == Deny:
		return nil, Fail(CodeDenied, "reason", d.Reason)
	}
	var a Approval
	if s.o.Approve != nil {
		a = s.o.Approve(ctx, req, d)
	}
	switch {
	case a.Yes:
		rec.Approved = true
		return nil, nil
	case a.Ask != nil:
		return a.Ask, Fail(CodeApprovalNeeded, "what", d.Title)
	case a.No:
		return nil, Fail(CodeDeclined, "what", d.Title)
	}
	return nil, Fail(CodeNobodyToAsk, "reason", d.Reason)
}

// admit is everything that needs nothing but the call itself.
func (s *Service) admit(_ context.Context, c Call) (*Tool, any, string, *Error) {
	if c.Caller.Tenant.ID == "" {
		return nil, nil, "", Fail(CodeUnauthenticated)
	}
	if s.o.Alive != nil && c.Caller.Token != "" {
		if err := s.o.Alive(c.Caller.Principal); err != nil {
			return nil, nil, "", Fail(CodeUnauthenticated).Because(err)
		}
	}
	t := s.byName[c.Tool]
	if t == nil {
		return nil, nil, "", Fail(CodeUnknownTool, "tool", shorten(c.Tool, 64))
	}
	if e := allowed(t, c.Caller.Tenant); e != nil {
		return t, nil, "", e
	}
	if !t.Safety {
		if wait := s.limiter.take(bucketKey{c.Caller.Tenant.ID, c.Caller.Token}, s.o.Now()); wait > 0 {
			return t, nil, "", Fail(CodeRateLimited, "wait", wait.Round(100*time.Millisecond)).After(wait)
		}
	}
	args, err := t.decode(c.Caller, c.Args)
	if err != nil {
		return t, nil, "", asError(err)
	}
	meeting := ""
	if m, ok := args.(interface{ meetingID() string }); ok && plainID(m.meetingID()) {
		meeting = m.meetingID()
	}
	return t, args, meeting, nil
}

// plainID tells an id from a text somebody put in its place, which has no business in an audit record.
func plainID(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// begin counts a call in; end counts it out.
func (s *Service) begin(t *Tool, c Caller) (end func(), refusal *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, Fail(CodeShuttingDown)
	}
	if n, ok := s.limiter.enter(c.Tenant.ID, t.Safety); !ok {
		return nil, Fail(CodeTooManyCalls, "running", n).After(time.Second)
	}
	s.running.Add(1)
	return sync.OnceFunc(func() {
		s.limiter.leave(c.Tenant.ID)
		s.running.Done()
	}), nil
}

type outcome struct {
	result json.RawMessage // washed
	images []Image
	err    *Error
}

// handle runs the handler in a goroutine that outlives the call where it must, and answers at the deadline.
func (s *Service) handle(ctx context.Context, t *Tool, c Call, args any, key *store.Key, meeting string, end func()) Answer {
	limit := s.deadline(t, args)
	// The handler ends with the caller's context, the deadline, or the service, whichever is first.
	hctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, &deadlineError{limit})
	stopCaller := context.AfterFunc(ctx, cancel)
	stopService := context.AfterFunc(s.ctx, cancel)
	if c.Progress != nil {
		hctx = context.WithValue(hctx, progressKey{}, c.Progress)
	}
	done := make(chan outcome, 1)
	go func() {
		defer end()
		defer cancel()
		defer stopCaller()
		defer stopService()
		o := s.run(hctx, t, c.Caller, args)
		s.settle(key, t, meeting, o)
		done <- o
	}()
	var o outcome
	select {
	case o = <-done:
	case <-hctx.Done():
		// What is ready at the same moment counts.
		select {
		case o = <-done:
		case <-time.After(grace):
			o.err = s.cutOff(hctx)
		}
	}
	if o.err != nil {
		return s.failed(c.Caller, o.err)
	}
	a := s.done(t, c.Caller, o.result)
	a.Images = o.images
	if s.o.Remark != nil {
		if said := s.o.Remark(Request{Tool: t, Caller: c.Caller, Args: args}, len(o.images) > 0); said != "" {
			a.Text += "\n" + said
		}
	}
	return a
}

// cutOff says why a call ended before its handler did.
func (s *Service) cutOff(ctx context.Context) *Error {
	var late *deadlineError
	switch {
	case errors.As(context.Cause(ctx), &late):
		return Fail(CodeDeadline, "seconds", late.limit.Seconds())
	case s.ctx.Err() != nil:
		return Fail(CodeShuttingDown)
	}
	return Fail(CodeCancelled)
}

// deadlineError is the cause of a context that ended with the call's deadline.
type deadlineError struct{ limit time.Duration }

func (e *deadlineError) Error() string { return fmt.Sprintf("the call's deadline of %s", e.limit) }

// grace is how long a cancelled handler has to say how it ended.
const grace = 200 * time.Millisecond

// run calls the handler and makes its result fit to leave. A panic ends the call, not the service.
func (s *Service) run(ctx context.Context, t *Tool, c Caller, args any) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Log.Error("a tool panicked", "tool", t.Name, "stack", string(debug.Stack()))
			o = outcome{err: Fail(CodeInternal).Because(fmt.Errorf("panic in %s", t.Name))}
		}
	}()
	if s.o.Within != nil {
		if ok := s.o.Within(Request{Tool: t, Caller: c, Args: args}); ok != nil {
			ctx = context.WithValue(ctx, withinKey{}, ok)
		}
	}
	if s.o.Release != nil {
		ctx = context.WithValue(ctx, releaseKey{}, func(argument, text string) (Released, *Error) {
			return s.o.Release(Request{Tool: t, Caller: c, Args: args}, argument, text)
		})
	}
	result, err := t.run(ctx, c, args)
	if err != nil {
		e := asError(err)
		if e.Code == CodeInternal && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			e = s.cutOff(ctx).Because(err)
		}
		if e.Code == CodeInternal || e.Code == CodeStore {
			s.o.Log.Error("a tool failed", "tool", t.Name, "tenant", c.Tenant.ID, "err", e.Err)
		}
		return outcome{err: e}
	}
	seal := func(text string) string { return s.o.Seal(c.Tenant.ID, text) }
	if s.o.SealFor != nil {
		if own := s.o.SealFor(Request{Tool: t, Caller: c, Args: args}); own != nil {
			seal = own
		}
	}
	w := &washer{seal: seal, clean: s.o.Fence.Clean}
	washed, err := w.wash(t.Output, result)
	if err != nil {
		s.o.Log.Error("a result could not be written", "tool", t.Name, "err", err)
		return outcome{err: Fail(CodeInternal).Because(err)}
	}
	o = outcome{result: washed}
	if p, ok := result.(Pictured); ok {
		o.images = p.Images()
	}
	return o
}

func (s *Service) done(t *Tool, c Caller, washed json.RawMessage) Answer {
	text := newText(s.fenceOf(c.Tenant.ID))
	if err := t.render(washed, text); err != nil {
		s.o.Log.Error("a result could not be rendered", "tool", t.Name, "err", err)
		return s.failed(c, Fail(CodeInternal).Because(err))
	}
	return Answer{Structured: washed, Text: text.String()}
}

// failed renders an error: its code, our sentence, and fenced what a page said.
func (s *Service) failed(c Caller, e *Error) Answer {
	text := newText(s.fenceOf(c.Tenant.ID))
	text.Line("error %s: %s", e.Code, s.o.Seal(c.Tenant.ID, e.Error()))
	text.Quote(s.o.Seal(c.Tenant.ID, e.Quoted))
	return Answer{Err: e, Text: text.String()}
}

func (s *Service) fenceOf(t tenant.ID) Fence {
	if s.o.Unfenced != nil && s.o.Unfenced(t) {
		return unmarked{s.o.Fence}
	}
	return s.o.Fence
}

func (s *Service) audit(ctx context.Context, r Record) {
	if err := s.o.Audit(ctx, r); err != nil {
		s.o.Log.Error("an audit record was lost", "stage", r.Stage, "tool", r.Tool, "tenant", r.Tenant, "err", err)
	}
}

func (s *Service) deadline(t *Tool, args any) time.Duration {
	d := cmp.Or(s.o.Deadlines[t.Name], t.Deadline, s.o.Deadline)
	// A call that asked to wait gets its wait and time to answer.
	if w, ok := args.(interface{ wait() time.Duration }); ok {
		d = max(d, min(w.wait()+10*time.Second, MaxDeadline))
	}
	return d
}

// Close refuses new calls, cancels those that run, and waits for them until ctx ends.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() { s.running.Wait(); close(idle) }()
	s.cancel(errors.New("the service is closing"))
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("tool calls still run: %w", context.Cause(ctx))
	}
}

type withinKey struct{}

// Within says at which addresses a handler may work its page; nil: at all.
func Within(ctx context.Context) func(address string) bool {
	ok, _ := ctx.Value(withinKey{}).(func(string) bool)
	return ok
}

type releaseKey struct{}

// Released is a text with its sealed secrets as values.
type Released struct {
	Text string
	// Fits says whether a document of this origin may get it; nil: there is no secret in it, and each may. The page can go
	// elsewhere while the field is waited for, and the field can be a frame's.
	Fits func(origin string) bool
}

// Release gives a text with its sealed secrets as values, for a handler that is about to type it. Nobody may keep it.
func Release(ctx context.Context, argument, text string) (Released, error) {
	f, ok := ctx.Value(releaseKey{}).(func(string, string) (Released, *Error))
	if !ok {
		return Released{Text: text}, nil
	}
	out, e := f(argument, text)
	if e != nil {
		return Released{}, e
	}
	return out, nil
}

type progressKey struct{}

// Report tells the caller how far a call is, if anybody listens.
func Report(ctx context.Context, p Progress) {
	if f, ok := ctx.Value(progressKey{}).(func(Progress)); ok {
		f(p)
	}
}
