package act

import "testing"

func TestDatesAsPeopleWriteThem(t *testing.T) {
	months := map[string]int{"december": 12, "dec": 12, "dezember": 12, "diciembre": 12, "march": 3, "märz": 3}
	us, de := locale{MonthFirst: true, Months: months}, locale{Months: months}
	for _, c := range []struct {
		kind, in string
		l        locale
		want     string // empty: refused
	}{
		{"date", "2026-12-24", us, "2026-12-24"},
		{"date", "2026/12/24", de, "2026-12-24"},
		{"date", "20261224", de, "2026-12-24"},
		{"date", "24.12.2026", us, "2026-12-24"},
		{"date", "24. 12. 26", de, "2026-12-24"},
		{"date", "12/24/2026", us, "2026-12-24"},
		{"date", "12/24/2026", de, "2026-12-24"},
		{"date", "24/12/2026", us, "2026-12-24"},
		{"date", "3/4/2026", us, "2026-03-04"},
		{"date", "3/4/2026", de, "2026-04-03"},
		{"date", "3.4.2026", us, "2026-04-03"},
		{"date", "December 24, 2026", us, "2026-12-24"},
		{"date", "24th of December 2026", us, "2026-12-24"},
		{"date", "Thu, Dec 24 2026", us, "2026-12-24"},
		{"date", "24. Dezember 2026", de, "2026-12-24"},
		{"date", "24 de diciembre de 2026", de, "2026-12-24"},
		{"date", "1. März 1999", de, "1999-03-01"},
		{"date", "29.2.2024", de, "2024-02-29"},
		{"date", "29.2.2026", de, ""},
		{"date", "31/31/2026", us, ""},
		{"date", "tomorrow", us, ""},
		{"date", "24.12.", de, ""},
		{"date", "", de, ""},
		{"time", "14:30", us, "14:30"},
		{"time", "9:05", us, "09:05"},
		{"time", "2:30 PM", us, "14:30"},
		{"time", "12 am", us, "00:00"},
		{"time", "12:15 p.m.", us, "12:15"},
		{"time", "14.30 Uhr", de, "14:30"},
		{"time", "14h30", de, "14:30"},
		{"time", "14:30:05", de, "14:30:05"},
		{"time", "24:00", us, ""},
		{"time", "13 pm", us, ""},
		{"time", "14", us, ""},
		{"datetime-local", "2026-12-24T14:30", us, "2026-12-24T14:30"},
		{"datetime-local", "24.12.2026 14:30", de, "2026-12-24T14:30"},
		{"datetime-local", "12/24/2026, 2:30 pm", us, "2026-12-24T14:30"},
		{"datetime-local", "24.12.2026", de, ""},
		{"month", "2026-12", us, "2026-12"},
		{"month", "12/2026", us, "2026-12"},
		{"month", "December 2026", us, "2026-12"},
		{"month", "24.12.2026", de, "2026-12"},
		{"month", "13/2026", us, ""},
		{"week", "2026-W52", us, "2026-W52"},
		{"week", "2026-w5", us, "2026-W05"},
		{"week", "24.12.2026", de, "2026-W52"},
		{"week", "2026-W54", us, ""},
	} {
		got, err := dateValue(c.kind, c.in, c.l)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %q: %q %v, want %q", c.kind, c.in, got, err, c.want)
		}
	}
}

func FuzzDates(f *testing.F) {
	for _, s := range []string{"24.12.2026", "Dec 24th", "14h30 Uhr", "2026-W5", "00000000", "9.9.9.9"} {
		f.Add("date", s)
	}
	f.Fuzz(func(t *testing.T, kind, s string) {
		for _, first := range []bool{true, false} {
			if got, err := dateValue(kind, s, locale{MonthFirst: first, Months: map[string]int{"dec": 12}}); (err == nil) == (got == "") {
				t.Fatalf("%q %v", got, err)
			}
		}
	})
}
