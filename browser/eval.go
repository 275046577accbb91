package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
)

//go:embed kit.js
var kitJS string

// worldName is the name of our isolated world: one per document, with the page's DOM and none of its scripts.
const worldName = "parley"

// objectGroup holds what a call got hold of in a page; it is let go when the call ends.
const objectGroup = "call"

// Kit is a library of page functions of one of our packages. It is installed once in each document that asks for it.
type Kit struct {
	// Name tells kits apart.
	Name string
	// Source is an expression whose value is the kit: "(() => { …; return Object.freeze({ find }); })()". Inside it, seen
	// is what is always there (kit.js).
	Source string
}

// marker is the kit's global name in our world, which no page can guess.
func (p *Page) marker(k *Kit) string {
	if k == nil {
		return p.s.marker
	}
	return p.s.marker + "_" + k.Name
}

// Object is an element of the page that we hold, for as long as the call lasts.
type Object struct {
	Frame *Frame
	ID    proto.RuntimeRemoteObjectID
}

// Run calls a function expression "(arg, kit) => …" in our world of the frame; nil k is the package's own kit (kit.js).
// It may be async. What it returns goes through JSON into result; nil result drops it. A document that goes away before
// the function began costs another try where the frame still shows it; one that goes while it ran is ErrNavigated.
func (f *Frame) Run(ctx context.Context, k *Kit, fn string, arg, result any) error {
	return f.call(ctx, k, "(o, arg, kit) => ("+fn+")(arg, kit)", nil, arg, result, nil)
}

// Objects calls a function like Run's that returns elements, and gives them.
func (f *Frame) Objects(ctx context.Context, k *Kit, fn string, arg any) ([]Object, error) {
	var out []Object
	err := f.call(ctx, k, "(o, arg, kit) => ("+fn+")(arg, kit)", nil, arg, nil, &out)
	return out, err
}

// Call calls a function expression "(element, arg, kit) => …" with the element.
func (o Object) Call(ctx context.Context, k *Kit, fn string, arg, result any) error {
	return o.Frame.call(ctx, k, fn, &o, arg, result, nil)
}

// Backend is the browser's number for the element.
func (o Object) Backend(ctx context.Context) (proto.DOMBackendNodeID, error) {
	got, err := proto.DOMDescribeNode{ObjectID: o.ID}.Call(o.Frame.Client(ctx))
	if err != nil {
		return 0, err
	}
	return got.Node.BackendNodeID, nil
}

// errLost means that our kit is not where it should be: the world is another document's, or new.
var errLost = errors.New("not our world")

func (f *Frame) call(ctx context.Context, k *Kit, fn string, on *Object, arg, result any, objects *[]Object) error {
	installed := false
	for try := 0; ; try++ {
		err := f.callOnce(ctx, k, fn, on, arg, result, objects)
		e := said(err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errLost):
			if installed {
				return ErrNavigated
			}
			installed = true
			if err := f.install(ctx, k); err != nil && said(err) == nil {
				return err
			}
			continue
		case e != nil && neverBegan(e):
			if on != nil || try >= 2 {
				return ErrNavigated
			}
		case e != nil && wentAway(e):
			return ErrNavigated
		case e != nil && strings.Contains(e.Message, "Could not find object"):
			return ErrStale
		default:
			return err
		}
		f.forgetWorld()
		select { // the events that say what became of the document are on their way
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func neverBegan(e *cdp.Error) bool {
	for _, s := range []string{"Cannot find context", "No frame", "Frame with the given", "Cannot find default execution context", "uniqueContextId not found"} {
		if strings.Contains(e.Message, s) {
			return true
		}
	}
	return false
}

func wentAway(e *cdp.Error) bool {
	return strings.Contains(e.Message, "context was destroyed") || strings.Contains(e.Message, "navigated or closed") || strings.Contains(e.Message, "Promise was collected")
}

type remote struct {
	ObjectID proto.RuntimeRemoteObjectID `json:"objectId"`
	Subtype  string                      `json:"subtype"`
	Value    struct {
		Lost  bool            `json:"lost"`
		Value json.RawMessage `json:"value"`
	} `json:"value"`
}

type evaluated struct {
	Result           remote     `json:"result"`
	ExceptionDetails *exception `json:"exceptionDetails"`
}

type exception struct {
	LineNumber int `json:"lineNumber"`
	Exception  struct {
		ClassName   string          `json:"className"`
		Description string          `json:"description"`
		Value       json.RawMessage `json:"value"`
	} `json:"exception"`
}

func (f *Frame) callOnce(ctx context.Context, k *Kit, fn string, on *Object, arg, result any, objects *[]Object) error {
	raw, err := json.Marshal(arg)
	if err != nil {
		return fmt.Errorf("script argument: %w", err)
	}
	byValue := objects == nil
	body := "return { value: await (" + fn + ")(o, arg, kit) };"
	lost := "return { lost: true };"
	if !byValue {
		body, lost = "return [...await ("+fn+")(o, arg, kit)];", "return '"+lostWord+"';"
	}
	params := map[string]any{
		"functionDeclaration": "async function(arg, o) { const seen = globalThis[" + quote(f.page.marker(nil)) + "], kit = globalThis[" + quote(f.page.marker(k)) + "]; if (!kit) " + lost + "\n" + body + " }",
		"arguments":           []any{map[string]any{"value": json.RawMessage(raw)}},
		"awaitPromise":        true,
		"returnByValue":       byValue,
		"silent":              true,
		"objectGroup":         objectGroup,
	}
	if on != nil {
		params["objectId"] = on.ID
		params["arguments"] = []any{map[string]any{"value": json.RawMessage(raw)}, map[string]any{"objectId": on.ID}}
	} else {
		world, err := f.world(ctx)
		if err != nil {
			return err
		}
		params["executionContextId"] = world
	}
	if !byValue {
		return f.objects(ctx, params, objects)
	}
	var answer evaluated
	if err := ask(f.Client(ctx), "Runtime.callFunctionOn", params, &answer); err != nil {
		return err
	}
	if x := answer.ExceptionDetails; x != nil {
		return x.error()
	}
	if answer.Result.Value.Lost {
		return errLost
	}
	if result == nil {
		return nil
	}
	value := answer.Result.Value.Value
	if len(value) == 0 { // undefined
		value = []byte("null")
	}
	if err := json.Unmarshal(value, result); err != nil {
		return fmt.Errorf("script result: %w", err)
	}
	return nil
}

// lostWord is what a call for elements answers where the kit is missing: not a list.
const lostWord = "lost"

func (x *exception) error() error {
	return &ScriptError{Class: x.Exception.ClassName, Line: x.LineNumber, Text: x.Exception.Description}
}

// maxObjects bounds how many elements one call may give.
const maxObjects = 2000

func (f *Frame) objects(ctx context.Context, params map[string]any, out *[]Object) error {
	var answer struct {
		Result struct {
			ObjectID proto.RuntimeRemoteObjectID `json:"objectId"`
			Type     string                      `json:"type"`
		} `json:"result"`
		ExceptionDetails *exception `json:"exceptionDetails"`
	}
	if err := ask(f.Client(ctx), "Runtime.callFunctionOn", params, &answer); err != nil {
		return err
	}
	if x := answer.ExceptionDetails; x != nil {
		return x.error()
	}
	if answer.Result.Type == "string" {
		return errLost
	}
	got, err := proto.RuntimeGetProperties{ObjectID: answer.Result.ObjectID, OwnProperties: true}.Call(f.Client(ctx))
	if err != nil {
		return err
	}
	*out = (*out)[:0]
	for _, property := range got.Result {
		if property.Value == nil || property.Value.Subtype != proto.RuntimeRemoteObjectSubtypeNode || len(*out) >= maxObjects {
			continue
		}
		*out = append(*out, Object{Frame: f, ID: property.Value.ObjectID})
	}
	return nil
}

// install puts a kit into the frame's world. The package's own kit is in every document from its start; where a document
// came about in a way that skipped it, this makes up for it.
func (f *Frame) install(ctx context.Context, k *Kit) error {
	f.forgetWorld()
	world, err := f.world(ctx)
	if err != nil {
		return err
	}
	source := "(" + kitJS + ")(" + quote(f.page.marker(nil)) + ");"
	if k != nil {
		name := quote(f.page.marker(k))
		source += "if (!Object.hasOwn(globalThis, " + name + ")) Object.defineProperty(globalThis, " + name + ", { value: ((seen) => (" + k.Source + "))(globalThis[" + quote(f.page.marker(nil)) + "]) });"
	}
	got, err := proto.RuntimeEvaluate{Expression: source, ContextID: world, Silent: true}.Call(f.Client(ctx))
	if err != nil {
		return err
	}
	if got.ExceptionDetails != nil {
		text := ""
		if got.ExceptionDetails.Exception != nil {
			text = got.ExceptionDetails.Exception.Description
		}
		return &ScriptError{Class: "install", Line: got.ExceptionDetails.LineNumber, Text: text}
	}
	return nil
}

type worldKey struct {
	frame  proto.PageFrameID
	loader proto.NetworkLoaderID
}

// world is our world in the frame's document.
func (f *Frame) world(ctx context.Context) (proto.RuntimeExecutionContextID, error) {
	if f.Err != nil {
		return 0, f.Err
	}
	p, key := f.page, worldKey{f.ID, f.Loader}
	p.mu.Lock()
	id := p.worlds[key]
	p.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	made, err := proto.PageCreateIsolatedWorld{FrameID: f.ID, WorldName: worldName}.Call(f.Client(ctx))
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	if len(p.worlds) > 1000 {
		clear(p.worlds)
	}
	p.worlds[key] = made.ExecutionContextID
	p.mu.Unlock()
	return made.ExecutionContextID, nil
}

func (f *Frame) forgetWorld() {
	f.page.mu.Lock()
	delete(f.page.worlds, worldKey{f.ID, f.Loader})
	f.page.mu.Unlock()
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

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return string(raw)
}
