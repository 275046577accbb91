//go:build accept

package standin

import (
	"testing"

	"parley/platforms/meet"
	"parley/platforms/platformtest"
)

// Every scenario, on the page as it is.
func TestEveryScenario(t *testing.T) { platformtest.Scenarios(t, meet.Platform(), Kind()) }

// Fifty mutated pages with seeds that nobody knew before.
func TestMutations(t *testing.T) { platformtest.FreshMutations(t, meet.Platform(), Kind()) }
