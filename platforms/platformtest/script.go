package platformtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/platforms/sign"
)

// Script plays looks at a module's own table and says what is decided after each: "2000 leave people chat -> in". A sign is
// seen in English unless it says otherwise ("people/de"); "!blank", "!crashed", "!failed" are looks that tell nothing.
// Between two lines the page goes on to show what it showed.
func Script(t *testing.T, table *sign.Table, script string) {
	t.Helper()
	e := sign.New(table, 0)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at, shown := 0, sign.Look{}
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		before, want, ok := strings.Cut(line, "->")
		fields := strings.Fields(before)
		if !ok || len(fields) < 2 {
			t.Fatalf("a line is \"ms signs -> place [reason]\", got %q", line)
		}
		var ms int
		if _, err := fmt.Sscanf(fields[0], "%d", &ms); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for at += 300; i > 0 && at < ms; at += 300 {
			e.See(began.Add(time.Duration(at)*time.Millisecond), shown)
		}
		at, shown = ms, look(t, table, fields[1:])
		d, _ := e.See(began.Add(time.Duration(ms)*time.Millisecond), shown)
		got := string(d.Place)
		if d.Reason != "" {
			got += " " + string(d.Reason)
		}
		if d.HeldBy != "" {
			got += " held:" + d.HeldBy
		}
		if d.Breakout {
			got += " breakout"
		}
		if got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s\n\tis %s", strings.TrimSpace(line), got)
		}
	}
}

func look(t *testing.T, table *sign.Table, fields []string) (l sign.Look) {
	t.Helper()
	for _, f := range fields {
		if h, ok := strings.CutPrefix(f, "!"); ok {
			l.Health = sign.Health(h)
			continue
		}
		name, lang, _ := strings.Cut(f, "/")
		found := false
		for _, s := range table.Signs {
			if s.Name != name {
				continue
			}
			found = true
			if lang == "" && (s.Texts["en"] != nil || s.Names["en"] != nil) {
				lang = "en"
			}
		}
		if !found {
			t.Fatalf("%s has no sign %q", table.Platform, name)
		}
		l.Hits = append(l.Hits, sign.Hit{Sign: name, Lang: lang, Text: "the words of " + name})
	}
	return l
}
