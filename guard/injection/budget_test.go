//go:build !accept

package injection

// chosen is the part of the suite that every run of the tests plays: each carrier and each goal, over each transport.
// The accept tag plays all of it.
func chosen(carrier, goal, transport int, page bool) bool {
	if page {
		return transport == (carrier+goal)%3 && (goal+carrier)%3 == 0
	}
	return goal == carrier%10 && transport == carrier%3
}

// chosenReal is that part of the suite on real pages: each carrier once, each goal, each transport.
func chosenReal(carrier, goal, transport int) bool {
	return goal == carrier%len(aims) && transport == carrier%3
}

// fresh is after how many carriers the browsers are begun anew.
const fresh = 100
