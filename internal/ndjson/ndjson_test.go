package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func all(t testing.TB, r *bufio.Reader, max int) []string {
	t.Helper()
	var out []string
	for range 10000 {
		rec, err := Read(r, max)
		switch {
		case errors.Is(err, ErrTooLarge):
			out = append(out, "TOO LARGE")
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			return append(out, err.Error())
		default:
			out = append(out, string(rec))
		}
	}
	t.Fatal("it does not end")
	return nil
}

func TestRead(t *testing.T) {
	ten := strings.Repeat("x", 10)
	for in, want := range map[string]string{
		"":                          "",
		"a":                         "a",
		"a\nb":                      "a|b",
		"a\r\nb\r\n":                "a|b",
		"a\rb\n":                    "a\rb",
		"\n\na\n":                   "||a",
		"a\u2028b\n":                "a\u2028b",
		ten + "\n" + ten + "y\nz":   ten + "|TOO LARGE|z",
		ten + "\r\nz":               ten + "|z",
		ten + "yz":                  "TOO LARGE",
		strings.Repeat("y", 1000):   "TOO LARGE",
		"a\n" + ten + ten + "\nb\n": "a|TOO LARGE|b",
	} {
		for _, size := range []int{16, 4096} {
			got := strings.Join(all(t, bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(in)), size), 10), "|")
			if got != want {
				t.Errorf("%q: %q, want %q", in, got, want)
			}
		}
	}
	boom := errors.New("boom")
	if got := all(t, bufio.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom))), 10); strings.Join(got, "|") != "a|boom" {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a\r\nb\nccccccccccccccccccccc\n\nd"), 8)
	f.Fuzz(func(t *testing.T, in []byte, max int) {
		max = 1 + (max&0xff+256)%256
		joined := 0
		for _, rec := range all(t, bufio.NewReaderSize(bytes.NewReader(in), 16), max) {
			if rec == "TOO LARGE" {
				continue
			}
			if len(rec) > max || strings.Contains(rec, "\n") {
				t.Fatalf("%q of %q", rec, in)
			}
			joined += len(rec)
		}
		if joined > len(in) {
			t.Fatal("more came out than went in")
		}
	})
}
