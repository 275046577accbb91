package endpoint

import (
	"context"
	"encoding/json"
	"slices"

	"parley/control/action"
	"parley/control/grant"
	"parley/control/publish"
	"parley/control/serve"
	"parley/control/span"
	"parley/control/wire"
	"parley/guard/audit"
	"parley/tenant"
	"parley/tool"
)

const transport = "control"

// handle does one genuine action: grant, table, policy and audit, then the choke point.
func (e *Endpoint) handle(ctx context.Context, p wire.Principal, r wire.Request) serve.Answer {
	trace := span.From(ctx)
	end := trace.Start(span.Authorise)
	c, act, code := e.authorise(ctx, p, r)
	end(code != "")
	if c == nil {
		return failed(code)
	}
	ctx = action.With(ctx, c)
	if code != "" {
		e.refused(ctx, c, act, code)
		return failed(code)
	}
	by := tool.Caller{Principal: tenant.Principal{Tenant: e.o.Tenant}, Transport: transport, Client: p.ID}
	if _, own := grant.Lookup(r.Action); !own {
		return e.foreign(ctx, c, by, r)
	}
	answer := e.tools.Invoke(ctx, tool.Call{Tool: r.Action, Args: r.Args, Caller: by})
	if answer.Err != nil {
		return failed(CodeOf(answer.Err.Code))
	}
	end = trace.Start(span.Projection)
	result, err := action.Project(r.Action, c, answer.Structured)
	end(err != nil)
	if err != nil {
		return failed(wire.CodeFailed)
	}
	if len(result) > wire.MaxBody-1024 && r.Action != "screenshot" {
		return failed(wire.CodeTooLarge)
	}
	return serve.Answer{Reply: wire.Reply{Result: result}, Release: c.Release}
}

func failed(c wire.Code) serve.Answer { return serve.Answer{Reply: wire.Reply{Code: c}} }

// authorise finds what the caller may do, and says with which code it is refused. Without a call there is nobody to
// record anything about.
func (e *Endpoint) authorise(ctx context.Context, p wire.Principal, r wire.Request) (*action.Call, grant.Action, wire.Code) {
	e.mu.RLock()
	policy, live := e.policy, e.live(e.o.Now(), p)
	g, _ := e.book.Live(p, e.o.Now())
	e.mu.RUnlock()
	act, ok := grant.Lookup(r.Action)
	if !ok && e.known(r.Action) {
		act, ok = grant.Action{Name: r.Action, Scope: grant.Scope(r.Action), Internal: "tool:invoke", OptIn: true}, true
	}
	if !live {
		return nil, act, wire.CodeDenied
	}
	c := &action.Call{Principal: p, Policy: policy, Trace: span.From(ctx), Restrict: policy.Mode == publish.Individual}
	var held *grant.Grant
	if policy.Mode == publish.Individual {
		held = &g
	}
	c.Authority = policy.Authority(held)
	c.Current = func() bool {
		e.mu.RLock()
		defer e.mu.RUnlock()
		return e.policy == policy && e.live(e.o.Now(), p)
	}
	if !ok {
		return c, grant.Action{Name: "unknown"}, wire.CodeInvalid
	}
	if !c.Authority.Permits(act) {
		return c, act, wire.CodeDenied
	}
	if act.Internal != "tool:invoke" {
		if act.Check(r.Args) != nil {
			return c, act, wire.CodeInvalid
		}
		var named struct {
			Session string `json:"sessionId"`
		}
		if json.Unmarshal(r.Args, &named) == nil {
			c.Session = named.Session
		}
	}
	c.Tell = func(phase string) { e.phase(c, act, phase) }
	d := grant.Decision{Allowed: true, Role: grant.RoleAgent, Scopes: []grant.Internal{act.Internal}}
	if e.o.Authorize != nil {
		d = e.o.Authorize(ctx, Asked{act, slices.Clone(r.Args), c.Session, p, policy})
	}
	if !d.Honour(act) || !c.Current() {
		return c, act, wire.CodeDenied
	}
	return c, act, ""
}

// foreign passes an action on to the service's own table, under the same names and schemas.
func (e *Endpoint) foreign(ctx context.Context, c *action.Call, by tool.Caller, r wire.Request) serve.Answer {
	if err := e.write(ctx, c, audit.Record{Stage: string(tool.Authorized), Tool: r.Action}, "authorized"); err != nil {
		return failed(wire.CodeDenied)
	}
	answer := e.o.Tools.Invoke(ctx, tool.Call{Tool: r.Action, Args: r.Args, Caller: by})
	rec, outcome, code := audit.Record{Stage: string(tool.Completed), Tool: r.Action}, "completed", wire.Code("")
	if answer.Err != nil {
		code = CodeOf(answer.Err.Code)
		rec.Stage, rec.Code, outcome = string(tool.Failed), string(answer.Err.Code), outcomeOf(code)
	}
	_ = e.write(ctx, c, rec, outcome) // it was done; that the record is missing was said
	if code != "" {
		return failed(code)
	}
	if len(answer.Structured) > wire.MaxBody-1024 {
		return failed(wire.CodeTooLarge)
	}
	return serve.Answer{Reply: wire.Reply{Result: answer.Structured}, Release: c.Release}
}

// CodeOf is the wire's word for a code of the tools. What it does not know failed: nobody invents a denial.
func CodeOf(c tool.Code) wire.Code {
	switch c {
	case tool.Code(wire.CodeInvalid), tool.Code(wire.CodeDenied), tool.Code(wire.CodeConflict), tool.Code(wire.CodeBusy), tool.Code(wire.CodeTooLarge),
		tool.Code(wire.CodeRateLimit), tool.Code(wire.CodeFailed), tool.Code(wire.CodeTimeout):
		return wire.Code(c)
	case tool.CodeBadArgument, tool.CodeTextTooLong, tool.CodeUnknownTool:
		return wire.CodeInvalid
	case tool.CodeDenied, tool.CodeNobodyToAsk, tool.CodeNotAllowed, tool.CodeGrantMissing, tool.CodeUnauthenticated, tool.CodeAuditFailed:
		return wire.CodeDenied
	case tool.CodeRateLimited, tool.CodeTooManyCalls:
		return wire.CodeRateLimit
	case tool.CodeDeadline, tool.CodeCancelled:
		return wire.CodeTimeout
	}
	return wire.CodeFailed
}

func outcomeOf(c wire.Code) string {
	switch c {
	case "":
		return "completed"
	case wire.CodeDenied, wire.CodeInvalid, wire.CodeConflict, wire.CodeBusy, wire.CodeRateLimit:
		return "denied"
	}
	return "failed"
}

// record is the audit of the choke point.
func (e *Endpoint) record(ctx context.Context, r tool.Record) error {
	c := action.From(ctx)
	if c == nil {
		return nil // Invoke is called by handle alone
	}
	rec := audit.Record{At: r.At, Stage: string(r.Stage), Tool: r.Tool, Code: string(r.Code), Took: r.Took, Effect: r.Effect, Rules: r.Rules, Approved: r.Approved}
	outcome := map[tool.Stage]string{tool.Authorized: "authorized", tool.Completed: "completed", tool.Refused: "denied", tool.Failed: "failed"}[r.Stage]
	if r.Stage == tool.Failed {
		outcome = outcomeOf(CodeOf(r.Code))
	}
	return e.write(ctx, c, rec, outcome)
}

func (e *Endpoint) refused(ctx context.Context, c *action.Call, act grant.Action, code wire.Code) {
	_ = e.write(ctx, c, audit.Record{Stage: string(tool.Refused), Tool: act.Name, Code: string(code)}, "denied") // it is refused in any case
}

// phase records what became of a prepared submission.
func (e *Endpoint) phase(c *action.Call, act grant.Action, phase string) {
	_ = e.write(context.Background(), c, audit.Record{Stage: string(tool.Completed), Tool: act.Name}, phase) // the submission does not wait for its record
}

// write writes a record with the agent's verified identity.
func (e *Endpoint) write(ctx context.Context, c *action.Call, r audit.Record, outcome string) error {
	end := c.Trace.Start(span.Audit)
	if r.At.IsZero() {
		r.At = e.o.Now()
	}
	r.Tenant, r.Transport = string(e.o.Tenant.ID), transport
	scope := ""
	if act, ok := grant.Lookup(r.Tool); ok {
		scope = string(act.Scope)
	} else if e.known(r.Tool) {
		scope = r.Tool
	}
	r.Agent = &audit.Agent{Action: r.Tool, Scope: scope, Outcome: outcome, Session: c.Session, Principal: c.Principal.ID, Generation: c.Principal.Generation, Trace: c.Trace.ID()}
	err := e.o.Audit(r)
	end(err != nil)
	if err != nil {
		e.fault(ReasonAudit, err)
	}
	return err
}
