//go:build accept

package standin

import (
	"testing"

	"parley/platforms/platformtest"
	"parley/platforms/zoom"
)

// Every scenario, on the page as it is.
func TestEveryScenario(t *testing.T) { platformtest.Scenarios(t, zoom.Platform(), Kind()) }

// Fifty mutated pages with seeds that nobody knew before.
func TestMutations(t *testing.T) { platformtest.FreshMutations(t, zoom.Platform(), Kind()) }
