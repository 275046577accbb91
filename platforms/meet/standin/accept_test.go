//go:build accept

package standin

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"parley/platforms/meet"
	"parley/platforms/platformtest"
)

// Every scenario, on the page as it is.
func TestEveryScenario(t *testing.T) { platformtest.Scenarios(t, meet.Platform(), Kind()) }

// Fifty mutated pages with seeds that nobody knew before; PARLEY_TEST_SEED repeats a run, PARLEY_TEST_SEEDS says how many.
func TestMutations(t *testing.T) {
	first, n := rand.Uint64N(1<<32), 50
	if v, err := strconv.ParseUint(os.Getenv("PARLEY_TEST_SEED"), 10, 64); err == nil {
		first = v
	}
	if v, err := strconv.Atoi(os.Getenv("PARLEY_TEST_SEEDS")); err == nil {
		n = v
	}
	t.Logf("PARLEY_TEST_SEED=%d", first)
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, first+uint64(i))
	}
	platformtest.Mutations(t, meet.Platform(), Kind(), seeds, n*9/10)
}
