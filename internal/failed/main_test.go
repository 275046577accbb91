package main

import (
	"strings"
	"testing"
)

func TestWhatFailed(t *testing.T) {
	for _, c := range []struct{ name, in, want, err string }{
		{"nothing", "ok  \tparley/a\t1.0s\n?   \tparley/b\t[no test files]\n", "", ""},
		{"two tests of one package", "--- FAIL: TestA (1.00s)\n    --- FAIL: TestA/sub (0.50s)\n        a_test.go:1: no\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tparley/a\t3.1s\nok  \tparley/b\t1.0s\nFAIL\n", "parley/a TestA|TestB\n", ""},
		{"two packages", "--- FAIL: TestA (1.00s)\nFAIL\nFAIL\tparley/a\t3.1s\n--- FAIL: FuzzB (1.00s)\nFAIL\nFAIL\tparley/b\t3.1s\nFAIL\n", "parley/a TestA\nparley/b FuzzB\n", ""},
		{"one that is not built", "FAIL\tparley/a [build failed]\nFAIL\n", "", "parley/a [build failed]"},
		{"one that ran out of time", "panic: test timed out after 10m0s\n\nFAIL\tparley/a\t600.0s\nFAIL\n", "", "timed out"},
		{"a failed test and a panic", "--- FAIL: TestA (1.00s)\npanic: no [recovered]\nFAIL\tparley/a\t3.1s\n", "", "panic"},
		{"a failure that no test names", "FAIL\nFAIL\tparley/a\t3.1s\n", "", "parley/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := run(strings.NewReader(c.in), &out)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if c.err == "" && out.String() != c.want {
				t.Errorf("%q, want %q", out.String(), c.want)
			}
		})
	}
}
