//go:build accept

package zoom

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/sign"
	"parley/platforms/zoom/standin"
)

// TestWithoutItsFixAScenarioFails draws five of the fixes; with the other module's five they are ten.
func TestWithoutItsFixAScenarioFails(t *testing.T) {
	platformtest.FixesMatter(t, Platform(), standin.Kind(), ui, fixes, 5, func(table *sign.Table) { ui = table })
}
