package tail

import "testing"

func TestTailKeepsTheEnd(t *testing.T) {
	for _, c := range []struct {
		max        int
		writes     []string
		want, last string
	}{
		{0, nil, "", ""},
		{8, []string{"12345678"}, "12345678", "12345678"},
		{8, []string{"123456789"}, "23456789", "23456789"},
		{8, []string{"1234", "5678", "\nab\n\n"}, "678\nab\n\n", "ab"},
	} {
		tail := Tail{Max: c.max}
		for _, w := range c.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("Write: %d %v", n, err)
			}
		}
		if tail.String() != c.want || tail.LastLine() != c.last {
			t.Errorf("%q: %q, last %q", c.writes, tail.String(), tail.LastLine())
		}
	}
}
