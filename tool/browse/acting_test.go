package browse_test

import (
	"strings"
	"testing"

	"parley/browser/browsertest"
	"parley/tool"
)

func TestActingThroughTheTools(t *testing.T) {
	at := browsertest.Site(t, map[string]string{"/": `<title>Shop</title><p id=log></p><form onsubmit="log.textContent = new URLSearchParams(new FormData(this)); return false">
		<label>Name <input name=n></label><label>Day <input type=date name=d></label><label><input type=checkbox name=ok> Agree</label><select name=c aria-label=Colour><option>Red<option>Blue</select><button>Send</button></form>
		<button onclick="log.textContent = 'clicked'">Press me</button><button disabled>Never</button><div style="height:2000px"></div><b id=end>end</b>`})
	c := newClient(t, nil)
	s := c.open(at)
	with := func(args map[string]any) map[string]any {
		args["session"] = s
		return args
	}
	if a := c.must("click", with(map[string]any{"role": "button", "name": "press"})); !strings.HasPrefix(a.Text, "clicked") || strings.Contains(a.Text, "uncertain") {
		t.Error(a.Text)
	}
	a := c.must("fill_form", with(map[string]any{"submit": true, "fields": []map[string]string{{"field": "Name", "value": "Ada"}, {"field": "Day", "value": "10.12.1815"}, {"field": "Agree", "value": "true"}, {"field": "Colour", "value": "Blue"}}}))
	if !strings.Contains(a.Text, "4 of 4 fields filled") {
		t.Error(a.Text)
	}
	c.must("wait_for", with(map[string]any{"text": "n=Ada&d=1815-12-10&ok=on&c=Blue"}))
	if a := c.must("select", with(map[string]any{"role": "combobox", "name": "colour", "option": "Red"})); field[string](t, a, "value") != "Red" {
		t.Error(a.Text)
	}
	c.must("type", with(map[string]any{"text": "Name", "value": "Grace"}))
	c.must("press", with(map[string]any{"key": "Control+a Delete", "role": "textbox"}))
	c.must("hover", with(map[string]any{"text": "Press me"}))
	if a := c.must("scroll", with(map[string]any{"to": "bottom"})); !field[bool](t, a, "end") {
		t.Error(a.Text)
	}
	c.must("wait_for", with(map[string]any{}))
	for _, x := range []struct {
		name string
		args map[string]any
		code tool.Code
		says string
	}{
		{"click", map[string]any{}, tool.CodeBadArgument, "say which one is meant"},
		{"click", map[string]any{"selector": "a["}, tool.CodeBadArgument, "not closed"},
		{"click", map[string]any{"ref": "e99999"}, tool.CodeRefUnknown, ""},
		{"select", map[string]any{"selector": "select", "option": "Green"}, tool.CodeNoOption, "Red"},
		{"type", map[string]any{"selector": "[type=checkbox]", "value": "x"}, tool.CodeElementUnfit, "fill_form"},
		{"press", map[string]any{"key": "Nope"}, tool.CodeBadArgument, "unknown key"},
		{"wait_for", map[string]any{"text": "nowhere", "timeoutMs": 300}, tool.CodeElementNotFound, `nothing matches text "nowhere" within 0.3 s`},
		{"drag", map[string]any{"text": "end"}, tool.CodeBadArgument, "give to"},
	} {
		if a := c.call(x.name, with(x.args)); a.Err == nil || a.Err.Code != x.code || !strings.Contains(a.Text, x.says) {
			t.Errorf("%s %v: %s", x.name, x.args, a.Text)
		}
	}
}

// 15, 18, 20, 22, 25: answers of acts brought the whole page with them, 20,000 tokens for a wait of three seconds.
func TestAnswersOfActsDoNotBringThePage(t *testing.T) {
	var b strings.Builder
	for i := range 2400 {
		b.WriteString("<div><a href=#>row " + strings.Repeat("x", i%7) + "</a><button>Edit</button></div>")
	}
	c := newClient(t, nil)
	s := c.open(browsertest.Site(t, map[string]string{"/": "<input>" + b.String()}))
	for name, args := range map[string]map[string]any{
		"click": {"role": "button", "nth": 1000}, "wait_for": {"selector": "button"}, "type": {"selector": "input", "value": "x"},
		"scroll": {"to": "bottom"}, "press": {"key": "Tab"}, "hover": {"text": "row"},
	} {
		args["session"] = s
		if a := c.must(name, args); len(a.Text) > 500 || len(a.Structured) > 500 {
			t.Errorf("%s: %d and %d bytes: %s", name, len(a.Text), len(a.Structured), a.Text)
		}
	}
}
