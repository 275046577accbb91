package platformtest

import (
	"slices"
	"testing"

	"parley/browser/cdp"
	"parley/platforms"
	"parley/platforms/sign"
)

// Selectors has the browser that runs a table read every selector in it: one that does not parse finds nothing for ever.
func Selectors(t *testing.T, table *sign.Table) {
	t.Helper()
	page, err := cdp.Open(t.Context(), Browser(t), cdp.Options{Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	all := slices.Clone(table.Exclude)
	for _, s := range table.Signs {
		all = append(all, s.Selector, s.Outside)
	}
	for _, d := range table.Dialogs {
		all = append(all, d.Selector)
	}
	for _, w := range table.Targets {
		for _, way := range w.Ways() {
			all = append(all, way.Selector, way.Within)
		}
	}
	var bad []string
	const script = "(list) => list.filter((s) => { try { document.querySelector(s); return false; } catch { return true; } })"
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	if err := platforms.Read(t.Context(), page, script, all, &bad); err != nil {
		t.Fatal(err)
	}
	for _, s := range bad {
		t.Errorf("the browser does not read %s", s)
	}
	t.Logf("%d selectors", len(all))
}
