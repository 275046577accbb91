//go:build accept

package meet

import (
	"testing"

	"parley/platforms/meet/standin"
	"parley/platforms/platformtest"
	"parley/platforms/sign"
)

// TestWithoutItsFixAScenarioFails draws five of the fixes; with the other module's five they are ten.
func TestWithoutItsFixAScenarioFails(t *testing.T) {
	platformtest.FixesMatter(t, Platform(), standin.Kind(), ui, fixes, 5, func(table *sign.Table) { ui = table })
}
