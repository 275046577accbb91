package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"

	"parley/internal/queue"
)

// Run evaluates a function expression in our world with two arguments: arg, and the kit (kit.js). See platforms.Page.
func (p *Page) Run(ctx context.Context, script string, arg, result any) error {
	return p.evaluate(ctx, script, arg, result, false)
}

// Observe installs a script. It is called with the kit, at the start of every document: kit.ready waits for one to look at.
func (p *Page) Observe(ctx context.Context, script string) error {
	source := "(() => { if (window !== window.top) return; const kit = globalThis[" + quote(p.marker) + "]; if (kit) (" + script + ")(kit); })()"
	return p.call(ctx, func(c proto.Client) error {
		_, err := proto.PageAddScriptToEvaluateOnNewDocument{Source: source, WorldName: world, RunImmediately: true}.Call(c)
		return err
	})
}

// Listen makes name(JSON text) of our world deliver here. One listener a name.
func (p *Page) Listen(ctx context.Context, name string) (<-chan json.RawMessage, error) {
	q := queue.New[json.RawMessage](256)
	p.mu.Lock()
	_, taken := p.listeners[name]
	if !taken && !p.gone {
		p.listeners[name] = q
	}
	gone := p.gone
	p.mu.Unlock()
	switch {
	case gone:
		return nil, ErrClosed
	case taken:
		return nil, fmt.Errorf("somebody listens to %s already", name)
	}
	err := p.call(ctx, proto.RuntimeAddBinding{Name: name, ExecutionContextName: world}.Call)
	if err != nil {
		p.mu.Lock()
		delete(p.listeners, name)
		p.mu.Unlock()
		return nil, err
	}
	return q.C(), nil
}

// errLost means that the context that answered was not ours: its number had gone to another document's.
var errLost = errors.New("not our world")

// evaluate calls a script in our world of the current document. A document that goes away before the script began costs
// another try; one that goes away while it ran is ErrNavigated, unless again says that running it twice does no harm.
func (p *Page) evaluate(ctx context.Context, script string, arg, result any, again bool) error {
	for {
		err := p.evaluateOnce(ctx, script, arg, result)
		var said *cdp.Error
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errLost):
		case errors.As(err, &said) && neverBegan(said):
		case errors.As(err, &said) && wentAway(said):
			if !again {
				return ErrNavigated
			}
		default:
			return err
		}
		p.mu.Lock()
		p.contextID = 0
		changed, life := p.changed, p.life
		p.mu.Unlock()
		select { // the events that say what became of the document are on their way
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		case <-life.Done():
			return context.Cause(life)
		case <-ctx.Done():
			return fmt.Errorf("wait for the document: %w", context.Cause(ctx))
		}
	}
}

func neverBegan(e *cdp.Error) bool {
	for _, s := range []string{"Cannot find context", "No frame", "Frame with the given", "Cannot find default execution context"} {
		if strings.Contains(e.Message, s) {
			return true
		}
	}
	return false
}

func wentAway(e *cdp.Error) bool {
	return strings.Contains(e.Message, "context was destroyed") || strings.Contains(e.Message, "navigated or closed") || strings.Contains(e.Message, "Promise was collected")
}

func (p *Page) evaluateOnce(ctx context.Context, script string, arg, result any) error {
	raw, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("script argument: %w", err)
	}
	var answer struct {
		Result struct {
			Value struct {
				Lost  bool            `json:"lost"`
				Value json.RawMessage `json:"value"`
			} `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text       string `json:"text"`
			LineNumber int    `json:"lineNumber"`
			Exception  struct {
				ClassName   string `json:"className"`
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err = p.call(ctx, func(c proto.Client) error {
		id, err := p.context(c)
		if err != nil {
			return err
		}
		return ask(c, "Runtime.callFunctionOn", map[string]any{
			"functionDeclaration": "async function(arg) { const kit = globalThis[" + quote(p.marker) + "]; if (!kit) return { lost: true };\nreturn { value: await (" + script + ")(arg, kit) }; }",
			"executionContextId":  id,
			"arguments":           []any{map[string]any{"value": json.RawMessage(raw)}},
			"awaitPromise":        true,
			"returnByValue":       true,
			"silent":              true,
		}, &answer)
	})
	if err != nil {
		return err
	}
	if x := answer.ExceptionDetails; x != nil {
		return &ScriptError{Class: x.Exception.ClassName, Line: x.LineNumber, Text: x.Exception.Description}
	}
	if answer.Result.Value.Lost {
		return errLost
	}
	if result == nil {
		return nil
	}
	if len(answer.Result.Value.Value) == 0 { // undefined
		return json.Unmarshal([]byte("null"), result)
	}
	if err := json.Unmarshal(answer.Result.Value.Value, result); err != nil {
		return fmt.Errorf("script result: %w", err)
	}
	return nil
}

// context is our world in the current document.
func (p *Page) context(c proto.Client) (int, error) {
	p.mu.Lock()
	id, frame, document := p.contextID, p.mainFrame, p.document
	p.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	made, err := proto.PageCreateIsolatedWorld{FrameID: frame, WorldName: world}.Call(c)
	if err != nil {
		return 0, err
	}
	id = int(made.ExecutionContextID)
	p.mu.Lock()
	if p.document == document {
		p.contextID = id
	}
	p.mu.Unlock()
	return id, nil
}

// ask calls a method whose parameters the protocol package cannot say without a value type of its own.
func ask(c proto.Client, method string, params, result any) error {
	bound, ok := c.(interface {
		proto.Sessionable
		proto.Contextable
	})
	if !ok {
		return errors.New("a client without a session")
	}
	raw, err := c.Call(bound.GetContext(), string(bound.GetSessionID()), method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}
