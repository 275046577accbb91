package score

import (
	"math"
	"slices"
)

// assign solves the assignment problem for a square matrix of costs (Hungarian method, potentials): the result
// gives each row its column, all different, with the least sum.
func assign(cost [][]int) []int {
	n := len(cost)
	u, v := make([]int, n+1), make([]int, n+1)
	rowOf := make([]int, n+1) // 1-based row of each column, 0 free
	from := make([]int, n+1)
	for i := 1; i <= n; i++ {
		rowOf[0] = i
		j := 0
		least := make([]int, n+1)
		for k := range least {
			least[k] = math.MaxInt
		}
		used := make([]bool, n+1)
		for rowOf[j] != 0 {
			used[j] = true
			r, delta, next := rowOf[j], math.MaxInt, 0
			for k := 1; k <= n; k++ {
				if used[k] {
					continue
				}
				if c := cost[r-1][k-1] - u[r] - v[k]; c < least[k] {
					least[k], from[k] = c, j
				}
				if least[k] < delta {
					delta, next = least[k], k
				}
			}
			for k := 0; k <= n; k++ {
				if used[k] {
					u[rowOf[k]] += delta
					v[k] -= delta
				} else if least[k] != math.MaxInt {
					least[k] -= delta
				}
			}
			j = next
		}
		for j != 0 {
			rowOf[j] = rowOf[from[j]]
			j = from[j]
		}
	}
	out := make([]int, n)
	for k := 1; k <= n; k++ {
		out[rowOf[k]-1] = k - 1
	}
	return out
}

func keys(m map[string][]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
