package action

import (
	"context"
	"errors"
	"unicode/utf8"

	"parley/control/inspect"
	"parley/control/page"
	"parley/control/tabs"
	"parley/control/wire"
	"parley/tool"
)

// Bounds of what is read from a page.
const (
	MaxRead     = 10_000 // characters
	MaxControls = 200
	MaxOptions  = 20  // of a selection
	MaxOption   = 128 // characters of an option's value
)

// NavigateArgs are those of navigate.
type NavigateArgs struct {
	Session string `json:"sessionId,omitempty" arg:"maxlen=36"`
	URL     string `json:"url" arg:"required,maxlen=8192"`
}

// ScrollArgs are those of scroll.
type ScrollArgs struct {
	Session string `json:"sessionId,omitempty" arg:"maxlen=36"`
	X       int64  `json:"x" arg:"required"`
	Y       int64  `json:"y" arg:"required"`
}

// SelectorArgs are those of click.
type SelectorArgs struct {
	Session  string `json:"sessionId,omitempty" arg:"maxlen=36"`
	Selector string `json:"selector" arg:"required,maxlen=1024"`
}

// TypeArgs are those of type.
type TypeArgs struct {
	Session  string `json:"sessionId,omitempty" arg:"maxlen=36"`
	Selector string `json:"selector" arg:"required,maxlen=1024"`
	Text     string `json:"text" arg:"required"`
}

// SelectArgs are those of select.
type SelectArgs struct {
	Session  string `json:"sessionId,omitempty" arg:"maxlen=36"`
	Selector string `json:"selector" arg:"required,maxlen=1024"`
	Value    string `json:"value" arg:"required"`
}

// CheckArgs are those of check.
type CheckArgs struct {
	Session  string `json:"sessionId,omitempty" arg:"maxlen=36"`
	Selector string `json:"selector" arg:"required,maxlen=1024"`
	Checked  bool   `json:"checked" arg:"required"`
}

// AskArgs are those of ai.
type AskArgs struct {
	Session string `json:"sessionId,omitempty" arg:"maxlen=36"`
	Prompt  string `json:"prompt" arg:"required"`
}

// Words is text of a page, or about one.
type Words struct {
	Text string `json:"text" arg:"untrusted"`
}

// Controls is what inspect gives.
type Controls struct {
	Controls []Control `json:"controls"`
	Complete bool      `json:"complete" doc:"False where there are more than are told."`
}

// Control is something on a page that can be worked.
type Control struct {
	Selector string   `json:"selector" arg:"untrusted" doc:"Names it in other actions."`
	Tag      string   `json:"tag" arg:"untrusted"`
	Type     string   `json:"type,omitempty" arg:"untrusted"`
	Label    string   `json:"label,omitempty" arg:"untrusted"`
	Value    *string  `json:"value,omitempty" arg:"untrusted"`
	Checked  *bool    `json:"checked,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	Options  []Option `json:"options,omitempty"`
}

// Option is one of a selection.
type Option struct {
	Value    string `json:"value" arg:"untrusted"`
	Label    string `json:"label" arg:"untrusted"`
	Selected bool   `json:"selected,omitempty"`
}

func (d *Desk) pages() []tool.Tool {
	history := func(name, doc string, m tabs.Move) tool.Tool {
		return define(name, doc, false, func(ctx context.Context, c *Call, a Target) (Done, error) { return d.goTo(ctx, c, a.Session, m) })
	}
	return []tool.Tool{
		define("navigate", "Loads an address in a tab.", false, func(ctx context.Context, c *Call, a NavigateArgs) (Done, error) {
			if !c.permits(tabs.HostOf(a.URL)) {
				return Done{}, tabs.ErrDestination
			}
			return d.goTo(ctx, c, a.Session, tabs.Move{URL: a.URL})
		}),
		history("back", "Goes one entry back in the tab's history.", tabs.Move{Delta: -1}),
		history("forward", "Goes one entry forward in the tab's history.", tabs.Move{Delta: 1}),
		history("reload", "Loads the tab's page anew.", tabs.Move{Reload: true}),
		define("read", "Gives the text a person sees on the page.", true, func(ctx context.Context, c *Call, a Target) (Words, error) {
			text, capture, err := d.read(ctx, c, a.Session)
			if err != nil {
				return Words{}, err
			}
			holds(c, capture)
			return Words{text}, nil
		}),
		define("inspect", "Lists what can be worked on the page.", true, d.inspect),
		define("scroll", "Scrolls the page by x and y pixels.", false, func(ctx context.Context, c *Call, a ScrollArgs) (Done, error) {
			return d.work(ctx, c, a.Session, tabs.Scroll, "", map[string]any{"x": a.X, "y": a.Y})
		}),
		define("click", "Clicks an element.", false, func(ctx context.Context, c *Call, a SelectorArgs) (Done, error) {
			return d.work(ctx, c, a.Session, tabs.Click, a.Selector, map[string]any{"selector": a.Selector})
		}),
		define("type", "Puts text into a field, without sending a form.", false, func(ctx context.Context, c *Call, a TypeArgs) (Done, error) {
			if c.Policy.Refuses(inspect.Text(a.Text)) {
				return Done{}, fail(wire.CodeDenied, "the text holds what must not leave")
			}
			return d.work(ctx, c, a.Session, tabs.Type, a.Selector, map[string]any{"selector": a.Selector, "text": a.Text})
		}),
		define("select", "Chooses one option of a selection.", false, func(ctx context.Context, c *Call, a SelectArgs) (Done, error) {
			return d.work(ctx, c, a.Session, tabs.Select, a.Selector, map[string]any{"selector": a.Selector, "value": a.Value})
		}),
		define("check", "Sets or clears a check box.", false, func(ctx context.Context, c *Call, a CheckArgs) (Done, error) {
			return d.work(ctx, c, a.Session, tabs.Check, a.Selector, map[string]any{"selector": a.Selector, "checked": a.Checked})
		}),
		define("ai", "Asks the configured gateway about the page.", true, d.ask),
	}
}

func (d *Desk) goTo(ctx context.Context, c *Call, id string, m tabs.Move) (Done, error) {
	capture, err := d.take(ctx, c, id, tabs.Need{})
	if errors.Is(err, tabs.ErrNoTab) && id == "" && m.URL != "" {
		return d.first(ctx, c, m.URL)
	}
	if err != nil {
		return Done{}, err
	}
	if err := d.bind(ctx, c, capture.Tab().ID); err != nil {
		return Done{}, err
	}
	d.forget(capture.Tab().ID)
	fresh, err := capture.Go(ctx, m)
	if err != nil {
		return Done{}, err
	}
	if err := d.gone(ctx, capture.Tab().ID); err != nil {
		return Done{}, err
	}
	holds(c, fresh)
	return Done{Completed: true}, nil
}

// first loads an address where no tab is open: in a new one, which comes to the front.
func (d *Desk) first(ctx context.Context, c *Call, address string) (Done, error) {
	t, err := d.open(ctx, c, d.Browser, address, "")
	if err != nil {
		return Done{}, err
	}
	if _, err := d.Browser.Activate(ctx, t); err != nil {
		return Done{}, err
	}
	c.guard(c.Current)
	return Done{Completed: true}, nil
}

// read gives the inspected text of a page.
func (d *Desk) read(ctx context.Context, c *Call, id string) (string, *tabs.Capture, error) {
	capture, err := d.take(ctx, c, id, tabs.Need{Website: true})
	if err != nil {
		return "", nil, err
	}
	var got struct {
		Text     string `json:"text"`
		Complete bool   `json:"complete"`
		Moved    bool   `json:"moved"`
	}
	if err := capture.Run(ctx, tabs.Read, map[string]any{"max": MaxRead}, &got); err != nil {
		return "", nil, err
	}
	switch {
	case got.Moved:
		return "", nil, tabs.ErrDocument
	case !got.Complete || utf8.RuneCountInString(got.Text) > MaxRead:
		return "", nil, fail(wire.CodeDenied, "the page could not be looked through to its end")
	case !c.clean(got.Text):
		return "", nil, fail(wire.CodeDenied, "the page shows what must not leave")
	}
	return got.Text, capture, nil
}

func (d *Desk) inspect(ctx context.Context, c *Call, a Target) (Controls, error) {
	capture, err := d.take(ctx, c, a.Session, tabs.Need{Website: true})
	if err != nil {
		return Controls{}, err
	}
	var got struct {
		Controls []Control `json:"controls"`
		Complete bool      `json:"complete"`
		Moved    bool      `json:"moved"`
	}
	if err := capture.Run(ctx, tabs.Inspect, map[string]any{"max": MaxControls, "options": MaxOptions}, &got); err != nil {
		return Controls{}, err
	}
	if got.Moved {
		return Controls{}, tabs.ErrDocument
	}
	out := Controls{Controls: []Control{}, Complete: got.Complete}
	for _, k := range got.Controls {
		if len(out.Controls) == MaxControls {
			out.Complete = false
			break
		}
		texts := []string{k.Selector, k.Label}
		if k.Value != nil {
			texts = append(texts, *k.Value, k.Label+": "+*k.Value)
		}
		options := k.Options
		k.Options = nil
		for _, o := range options {
			if len(k.Options) == MaxOptions || utf8.RuneCountInString(o.Value) > MaxOption {
				continue
			}
			if c.clean(o.Value, o.Label) {
				k.Options = append(k.Options, o)
			}
		}
		if !c.clean(texts...) {
			out.Complete = false // what must not be told is left out, and that is said
			continue
		}
		out.Controls = append(out.Controls, k)
	}
	holds(c, capture)
	return out, nil
}

// refusals of the scripts, in our words.
var refusals = map[string]string{
	"selector": "the browser does not take the selector", "none": "nothing matches", "many": "more than one element matches", "hidden": "the element is not visible",
	"sensitive": "the element is a credential's, a file's or hidden", "disabled": "the element takes no input", "covered": "something lies over the element",
	"kind": "the element is of another kind", "option": "there is no such option to choose", "kept": "the page did not keep it", "form": "the form is not the approved one",
}

// work runs a script that acts, in the foreground. Where the act itself makes the page move on, it is done all the same.
func (d *Desk) work(ctx context.Context, c *Call, id string, s tabs.Script, selector string, arg any) (Done, error) {
	if selector != "" && !page.Selector(selector) {
		return Done{}, fail(wire.CodeInvalid, "the selector is outside the subset")
	}
	capture, err := d.take(ctx, c, id, tabs.Need{Foreground: true, Interactive: true, Website: true})
	if err != nil {
		return Done{}, err
	}
	if err := d.bind(ctx, c, capture.Tab().ID); err != nil {
		return Done{}, err
	}
	if err := d.act(ctx, capture, s, arg); err != nil {
		return Done{}, err
	}
	c.guard(c.Current)
	return Done{Completed: true}, nil
}

func (d *Desk) act(ctx context.Context, capture *tabs.Capture, s tabs.Script, arg any) error {
	if err := capture.Check(ctx); err != nil {
		return err
	}
	var got struct {
		Done  bool   `json:"done"`
		No    string `json:"no"`
		Moved bool   `json:"moved"`
	}
	if err := d.Browser.Run(ctx, capture.Tab().ID, capture.Tab().Document, s, arg, &got); err != nil {
		return err
	}
	switch {
	case got.Done:
		return nil
	case got.Moved:
		return tabs.ErrDocument
	case refusals[got.No] != "":
		return fail(wire.CodeDenied, refusals[got.No])
	}
	return fail(wire.CodeFailed, "the page did not say what became of it")
}

func (d *Desk) ask(ctx context.Context, c *Call, a AskArgs) (Words, error) {
	if d.AI == nil {
		return Words{}, fail(wire.CodeDenied, "no gateway is configured")
	}
	if !c.clean(a.Prompt) {
		return Words{}, fail(wire.CodeDenied, "the question holds what must not leave")
	}
	text, capture, err := d.read(ctx, c, a.Session)
	if err != nil {
		return Words{}, err
	}
	answer, err := d.AI.Ask(ctx, a.Prompt, text)
	if err != nil {
		return Words{}, fail(wire.CodeFailed, "the gateway gave no answer")
	}
	if utf8.RuneCountInString(answer) > MaxRead || !c.clean(answer) {
		return Words{}, fail(wire.CodeDenied, "the answer holds what must not leave")
	}
	if err := capture.Check(ctx); err != nil {
		return Words{}, err
	}
	holds(c, capture)
	return Words{answer}, nil
}
