package wer

import (
	"strings"
	"testing"
)

func TestNormalise(t *testing.T) {
	for _, c := range [][2]string{
		{"Hello, World!", "hello world"},
		{"I'm sorry; that's wrong.", "i am sorry that is wrong"},
		{"You’ve can't CANNOT won't", "you have can not can not will not"},
		{"Press one now", "press 1 now"},
		{"press 1, now", "press 1 now"},
		{"twenty-one five hundred thirty", "21 500 30"},
		{"two hundred", "200"},
		{"4 2 4 2", "4 2 4 2"},
		{"four two four two", "4 2 4 2"},
		{"the parties' 'quoted' rock'n'roll", "the parties quoted rocknroll"},
		{"Mr. Dashwood & sons", "mister dashwood and sons"},
		{"Größe, 日本", "größe 日本"},
		{"", ""},
		{" ... ", ""},
	} {
		if got := strings.Join(Normalise(c[0]), " "); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		said, written string
		errors, words int
	}{
		{"a b c", "a b c", 0, 3},
		{"a b c", "a x c", 1, 3},
		{"a b c", "a c", 1, 3},
		{"a b c", "a b b c", 1, 3},
		{"a b c", "", 3, 3},
		{"", "a b", 2, 0},
		{"", "", 0, 0},
		{"please press one", "Please, press 1.", 0, 3},
		{"kitten sitting on", "sitting kitten on", 2, 3},
	} {
		if e, w := Count(c.said, c.written); e != c.errors || w != c.words {
			t.Errorf("%q / %q: %d of %d, want %d of %d", c.said, c.written, e, w, c.errors, c.words)
		}
	}
}
