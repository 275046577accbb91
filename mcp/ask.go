package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tool"
)

// canAsk tells whether a client said that it can put questions to its person. What that counts for is decided
// elsewhere, from the token.
func canAsk(ss *sdk.ServerSession) bool {
	p := ss.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // an empty capability means forms
}

// stateless tells whether a client lives in the era in which a server does not send requests: questions are then part
// of an answer, and the client calls again.
func stateless(ss *sdk.ServerSession) bool {
	p := ss.InitializeParams()
	return p != nil && p.ProtocolVersion >= statelessSince
}

// choiceName is the one field of the form that a person fills in.
const choiceName = "choice"

// form is a question in the protocol's shape.
func form(a *tool.Ask) *sdk.ElicitParams {
	choices := []string{"once", "deny"}
	titles := []string{"Yes, this once", "No"}
	if a.Always {
		choices = append(choices, "always")
		titles = append(titles, "Always for this action on this site")
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "required": []string{choiceName}, "properties": map[string]any{
		choiceName: map[string]any{"type": "string", "title": "May it?", "enum": choices, "enumNames": titles},
	}})
	if err != nil {
		panic(err) // only our own constants
	}
	return &sdk.ElicitParams{Mode: "form", Message: a.Text, RequestedSchema: json.RawMessage(schema)}
}

// choiceOf reads what the person said; everything but a filled-in form is a no.
func choiceOf(r *sdk.ElicitResult) string {
	if r == nil || r.Action != "accept" {
		return "deny"
	}
	c, _ := r.Content[choiceName].(string)
	return c
}

// answered hands on the answers that came with a call made again.
func (ts *tenantServer) answered(r *sdk.CallToolRequest) {
	if ts.s.o.Answer == nil {
		return
	}
	for id, response := range r.Params.InputResponses {
		if e, ok := response.(*sdk.ElicitResult); ok {
			ts.s.o.Answer(ts.tenant.ID, id, choiceOf(e))
		}
	}
}

// asking is a call whose answer is a question.
type asking struct{}

// ask puts a question to the client's person and makes the call again with what they said. A client of the later era
// gets the question as the answer, and makes the call again itself.
func (ts *tenantServer) ask(ctx context.Context, next sdk.MethodHandler, r *sdk.CallToolRequest, call tool.Call, a tool.Answer) (sdk.Result, error) {
	if ts.s.o.Answer == nil {
		return result(a), nil
	}
	if stateless(r.Session) {
		// The library marks the answer as one that wants input; it does so on the way through its own handler.
		q := &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{a.Ask.ID: form(a.Ask)}, RequestState: a.Ask.ID}
		return next(context.WithValue(ctx, asking{}, q), "tools/call", r)
	}
	waiting, cancel := context.WithDeadline(ctx, a.Ask.Until)
	defer cancel()
	e, err := r.Session.Elicit(waiting, form(a.Ask))
	choice := choiceOf(e)
	if err != nil {
		ts.s.log.Info("a question was not answered", "tenant", ts.tenant.ID, "err", err)
		choice = "deny"
	}
	ts.s.o.Answer(ts.tenant.ID, a.Ask.ID, choice)
	return result(ts.s.o.Tools.Invoke(ctx, call)), nil
}

// handled is what the library calls for every tool. Calls are taken before; only a question comes this far.
func handled(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if q, ok := ctx.Value(asking{}).(*sdk.CallToolResult); ok {
		return q, nil
	}
	return neverCalled(ctx, r)
}
