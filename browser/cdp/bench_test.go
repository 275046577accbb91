package cdp

import (
	"strings"
	"testing"
	"time"

	"parley/platforms"
)

// TestWhatInputCosts prints the price of each kind of input on this machine. It asserts nothing about speed.
func TestWhatInputCosts(t *testing.T) {
	p, ctx := open(t, Options{}, `<button>Press</button><textarea aria-label=Text></textarea>`+strings.Repeat("<div><span>row</span> <a href=#>link</a></div>", 500))
	measure := func(name string, n int, f func() error) {
		t.Helper()
		began := time.Now()
		for range n {
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		t.Logf("%-28s %v", name, time.Since(began)/time.Duration(n))
	}
	button := platforms.Target{Role: "button", Names: []string{"Press"}}
	measure("run 1", 50, func() error { return p.Run(ctx, "() => 1", nil, nil) })
	measure("find by role and name", 50, func() error { _, err := p.Find(ctx, button); return err })
	measure("find by text, 1500 nodes", 20, func() error { _, err := p.Find(ctx, platforms.Target{Texts: []string{"nowhere"}}); return err })
	measure("click", 20, func() error { return p.Click(ctx, button) })
	text := strings.Repeat("Hello there, ", 8)
	measure("type 104 characters", 5, func() error { return p.Type(ctx, platforms.Target{Role: "textbox"}, text) })
	measure("picture", 5, func() error { _, err := p.Picture(ctx); return err })
}
