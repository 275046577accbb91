// Command failed reads what `go test` printed and names the tests that failed, for scripts/test to look at them again.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "failed:", err)
		os.Exit(1)
	}
}

// run writes a line for each package that failed: its path, and its failed tests with | between them.
func run(in io.Reader, out io.Writer) error {
	var tests []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			tests = append(tests, name)
		}
		// A package's last line: "FAIL<tab>path<tab>seconds", or what kept it from ending.
		words := strings.Split(line, "\t")
		switch {
		case words[0] == "FAIL" && len(words) == 3 && len(tests) > 0 && strings.HasSuffix(words[2], "s"):
			if _, err := fmt.Fprintln(out, words[1], strings.Join(tests, "|")); err != nil {
				return err
			}
			tests = nil
		case words[0] == "FAIL" && len(words) > 1:
			return fmt.Errorf("%s failed without a test that did", words[1])
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "), strings.HasPrefix(line, "WARNING: DATA RACE"):
			return fmt.Errorf("a package ended by itself: %s", line)
		case strings.HasPrefix(line, "ok  \t"):
			tests = nil
		}
	}
	return lines.Err()
}
