//go:build accept

package injection

func chosen(int, int, int, bool) bool { return true }

func chosenReal(int, int, int) bool { return true }

// fresh is after how many carriers the browsers are begun anew.
const fresh = 4
