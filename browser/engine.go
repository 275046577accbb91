package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/browser/chromium"
)

// Engine is a way to drive a browser.
type Engine struct {
	Name string
	// Family is what profiles remember: one of another family cannot be opened with it.
	Family string
	// Quiet never switches on what a page could notice.
	Quiet bool
	// Start starts a browser. Where it is not installed the error says how to install it.
	Start func(ctx context.Context, o chromium.Options) (*chromium.Browser, error)
}

// Engines are those of the product: chromium, and quiet, the same browser driven so that a page cannot notice.
func Engines() []Engine {
	return []Engine{
		{Name: "chromium", Family: "chromium", Start: chromium.Start},
		{Name: "quiet", Family: "chromium", Quiet: true, Start: chromium.Start},
	}
}

// PickEngines gives the engines of a list of names ("chromium,quiet"); empty is all. The first is the default.
func PickEngines(all []Engine, names []string) ([]Engine, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []Engine
	for _, name := range names {
		i := slices.IndexFunc(all, func(e Engine) bool { return e.Name == name })
		if i < 0 {
			var known []string
			for _, e := range all {
				known = append(known, e.Name)
			}
			return nil, fmt.Errorf("there is no engine %q; there are %s", clip(name, 40), strings.Join(known, ", "))
		}
		if !slices.ContainsFunc(out, func(e Engine) bool { return e.Name == name }) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// EngineError means that a session asks for an engine that is not enabled here.
type EngineError struct {
	Engine string
	Have   []string
}

func (e *EngineError) Error() string {
	return fmt.Sprintf("the engine %q is not enabled here; there are %s", clip(e.Engine, 40), strings.Join(e.Have, ", "))
}
