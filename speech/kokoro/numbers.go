package kokoro

import (
	"strconv"
	"strings"
)

var (
	ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens = strings.Fields("_ _ twenty thirty forty fifty sixty seventy eighty ninety")

	scales = []struct {
		size uint64
		name string
	}{{1e15, "quadrillion"}, {1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1e3, "thousand"}}

	irregular = map[string]string{
		"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth",
	}
)

// cardinal says a number: "one hundred twenty three".
func cardinal(n uint64) string {
	var parts []string
	for _, s := range scales {
		if n >= s.size {
			parts = append(parts, cardinal(n/s.size), s.name)
			n %= s.size
		}
	}
	if n >= 100 {
		parts = append(parts, ones[n/100], "hundred")
		n %= 100
	}
	switch {
	case n >= 20:
		parts = append(parts, tens[n/10])
		if n%10 > 0 {
			parts = append(parts, ones[n%10])
		}
	case n > 0 || len(parts) == 0:
		parts = append(parts, ones[n])
	}
	return strings.Join(parts, " ")
}

// ordinal says a number's place: "twenty third".
func ordinal(n uint64) string {
	text := cardinal(n)
	at := strings.LastIndexByte(text, ' ') + 1
	last := text[at:]
	switch {
	case irregular[last] != "":
		last = irregular[last]
	case strings.HasSuffix(last, "y"):
		last = strings.TrimSuffix(last, "y") + "ieth"
	default:
		last += "th"
	}
	return text[:at] + last
}

// year says a number of four digits as years are said: "nineteen eighty four".
func year(n uint64) string {
	high, low := n/100, n%100
	switch {
	case n%1000 < 10:
		return cardinal(n) // two thousand five
	case low == 0:
		return cardinal(high) + " hundred"
	case low < 10:
		return cardinal(high) + " oh " + ones[low]
	}
	return cardinal(high) + " " + cardinal(low)
}

// digits says each digit by itself.
func digits(text string) string {
	var parts []string
	for _, c := range text {
		if c >= '0' && c <= '9' {
			parts = append(parts, ones[c-'0'])
		}
	}
	return strings.Join(parts, " ")
}

// number says digits as they are written: with thousands, a decimal point, leading zeros. A long row of digits is not
// a quantity but a name, and is said digit by digit.
func number(text string) string {
	grouped := strings.Contains(text, ",")
	whole, fraction, decimal := strings.Cut(strings.ReplaceAll(text, ",", ""), ".")
	var said string
	switch n, err := strconv.ParseUint(whole, 10, 64); {
	case err != nil || len(whole) > 1 && whole[0] == '0' || !grouped && len(whole) > 6:
		said = digits(whole)
	case !decimal && !grouped && len(whole) == 4 && n >= 1100 && n < 2100:
		said = year(n)
	default:
		said = cardinal(n)
	}
	if decimal {
		said += " point " + digits(fraction)
	}
	return said
}
