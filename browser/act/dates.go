package act

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// locale is how the page's language writes dates.
type locale struct {
	// MonthFirst tells that 3/4 is the fourth of March.
	MonthFirst bool `json:"monthFirst"`
	// Months are names of months, short and long, in the languages at hand, in lower case.
	Months map[string]int `json:"months"`
}

// dateValue turns a date or time as people write it into what an input of a kind takes: date 2006-01-02, time 15:04[:05],
// datetime-local 2006-01-02T15:04, month 2006-01, week 2006-W01.
func dateValue(kind, s string, l locale) (string, error) {
	s = strings.TrimSpace(s)
	bad := func(example string) error {
		return fmt.Errorf("%q is not a %s: write it like %s", s, kind, example)
	}
	switch kind {
	case "time":
		t, ok := parseTime(s)
		if !ok {
			return "", bad("14:30")
		}
		return t, nil
	case "week":
		if m := weekShape.FindStringSubmatch(strings.ToUpper(s)); m != nil {
			n, _ := strconv.Atoi(m[2])
			if n < 1 || n > 53 {
				return "", bad("2026-W52")
			}
			return fmt.Sprintf("%s-W%02d", m[1], n), nil
		}
		d, ok := parseDate(s, l)
		if !ok {
			return "", bad("2026-W52")
		}
		y, w := d.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", y, w), nil
	case "month":
		if y, m, ok := parseMonth(s, l); ok {
			return fmt.Sprintf("%04d-%02d", y, m), nil
		}
		d, ok := parseDate(s, l)
		if !ok {
			return "", bad("2026-12")
		}
		return d.Format("2006-01"), nil
	case "datetime-local":
		day, clock, ok := splitMoment(s)
		if !ok {
			return "", bad("2026-12-24T14:30")
		}
		d, ok := parseDate(day, l)
		t, fine := parseTime(clock)
		if !ok || !fine {
			return "", bad("2026-12-24T14:30")
		}
		return d.Format("2006-01-02") + "T" + t, nil
	}
	d, ok := parseDate(s, l)
	if !ok {
		return "", bad("2026-12-24")
	}
	return d.Format("2006-01-02"), nil
}

var (
	weekShape  = regexp.MustCompile(`^(\d{4})[- ]?W(\d{1,2})$`)
	clockShape = regexp.MustCompile(`^(\d{1,2})(?:[:.h](\d{2}))?(?:[:.](\d{2}))?\s*(am|pm|a\.m\.|p\.m\.)?(?:\s*(?:uhr|h|o'clock))?$`)
)

func parseTime(s string) (string, bool) {
	m := clockShape.FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if m == nil || (m[2] == "" && m[4] == "" && !strings.HasSuffix(strings.ToLower(s), "uhr") && !strings.HasSuffix(strings.ToLower(s), "h")) {
		return "", false
	}
	h, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi("0" + m[2])
	if half := strings.ReplaceAll(m[4], ".", ""); half != "" {
		if h < 1 || h > 12 {
			return "", false
		}
		h %= 12
		if half == "pm" {
			h += 12
		}
	}
	if h > 23 || minute > 59 {
		return "", false
	}
	out := fmt.Sprintf("%02d:%02d", h, minute)
	if m[3] != "" {
		if sec, _ := strconv.Atoi(m[3]); sec > 59 {
			return "", false
		}
		out += ":" + m[3]
	}
	return out, true
}

// splitMoment cuts a date with a time where the time begins.
func splitMoment(s string) (day, clock string, ok bool) {
	if day, clock, ok = strings.Cut(s, "T"); ok && len(day) == 10 {
		clock = strings.TrimSuffix(clock, "Z")
		return day, clock, true
	}
	fields := strings.Fields(strings.ReplaceAll(s, ",", " "))
	for i := 1; i < len(fields); i++ {
		if _, ok := parseTime(strings.Join(fields[i:], " ")); ok {
			return strings.Join(fields[:i], " "), strings.Join(fields[i:], " "), true
		}
	}
	return "", "", false
}

// parts cuts a date into numbers and words.
func parts(s string) (list []string) {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func parseDate(s string, l locale) (time.Time, bool) {
	var numbers []int
	month, lengths := 0, []int(nil)
	for _, p := range parts(s) {
		if n, err := strconv.Atoi(p); err == nil {
			numbers, lengths = append(numbers, n), append(lengths, len(p))
			continue
		}
		if m := l.Months[p]; m > 0 && month == 0 {
			month = m
			continue
		}
		if n, err := strconv.Atoi(strings.TrimRight(p, "stndrh")); err == nil && n < 32 { // 24th
			numbers, lengths = append(numbers, n), append(lengths, 2)
			continue
		}
		if p == "de" || p == "of" || p == "the" || len(p) > 2 && month > 0 { // the day of the week, small words
			continue
		}
		if len(numbers) == 0 && month == 0 {
			continue
		}
		return time.Time{}, false
	}
	if len(numbers) == 1 && lengths[0] == 8 && month == 0 { // 20261224
		n := numbers[0]
		return day(n/10000, n/100%100, n%100)
	}
	if month > 0 && len(numbers) == 2 {
		if lengths[0] == 4 {
			return day(numbers[0], month, numbers[1])
		}
		return day(year(numbers[1], lengths[1]), month, numbers[0])
	}
	if month > 0 || len(numbers) != 3 {
		return time.Time{}, false
	}
	a, b, c := numbers[0], numbers[1], numbers[2]
	if lengths[0] == 4 {
		return day(a, b, c)
	}
	y := year(c, lengths[2])
	// Dots stand between day and month everywhere; between strokes and dashes the language decides, unless only one reading is a date.
	first := l.MonthFirst && !strings.Contains(s, ".")
	if first {
		if t, ok := day(y, a, b); ok {
			return t, true
		}
		return day(y, b, a)
	}
	if t, ok := day(y, b, a); ok {
		return t, true
	}
	return day(y, a, b)
}

func parseMonth(s string, l locale) (y, m int, ok bool) {
	p := parts(s)
	if len(p) != 2 {
		return 0, 0, false
	}
	n0, err0 := strconv.Atoi(p[0])
	n1, err1 := strconv.Atoi(p[1])
	switch {
	case err0 == nil && err1 == nil && len(p[0]) == 4:
		y, m = n0, n1
	case err0 == nil && err1 == nil && len(p[1]) == 4:
		y, m = n1, n0
	case err0 == nil && len(p[0]) == 4:
		y, m = n0, l.Months[p[1]]
	case err1 == nil && len(p[1]) == 4:
		y, m = n1, l.Months[p[0]]
	}
	return y, m, y > 0 && m >= 1 && m <= 12
}

// year reads two digits as the century around now: up to 30 years ahead.
func year(n, digits int) int {
	if digits > 2 {
		return n
	}
	if n > 56 {
		return 1900 + n
	}
	return 2000 + n
}

func day(y, m, d int) (time.Time, bool) {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 {
		return time.Time{}, false
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return t, t.Day() == d
}
