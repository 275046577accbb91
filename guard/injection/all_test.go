//go:build accept

package injection

func chosen(int, int, int, bool) bool { return true }
