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
