package whisper

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestConfigIsChecked(t *testing.T) {
	good, err := json.Marshal(small)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := ParseConfig(good); err != nil || !c.Multilingual() || c.Languages["de"] != 13 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, change := range [][2]string{
		{`"width":64`, `"width":65`}, {`"heads":1`, `"heads":0`}, {`"vocabulary":20`, `"vocabulary":16`}, {`"start":11`, `"start":-1`},
		{`"align_heads":1`, `"align_heads":2`}, {`"de":13`, `"de":99`}, {`"suppress_first":[0,10]`, `"suppress_first":[20]`}, {`{`, ``},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if _, err := ParseConfig([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", change[1])
		}
	}
	if _, err := ParseConfig([]byte(strings.Replace(string(good), Layout, "sherpa", 1))); !errors.Is(err, ErrLayout) {
		t.Errorf("another layout: %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	good, err := json.Marshal(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseConfig(b)
		if err == nil && (c.EndOfText >= c.Vocabulary || c.Width != 64*c.Heads) {
			t.Errorf("%+v", c)
		}
	})
}
