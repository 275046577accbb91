// Command parley gives an agent a seat in the meeting.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "parley: no command yet")
	os.Exit(2)
}
