package kokoro

import "testing"

func TestNumbers(t *testing.T) {
	for in, want := range map[uint64]string{
		0: "zero", 7: "seven", 13: "thirteen", 20: "twenty", 42: "forty two", 100: "one hundred", 101: "one hundred one",
		1000: "one thousand", 12345: "twelve thousand three hundred forty five", 1_000_001: "one million one",
	} {
		if got := cardinal(in); got != want {
			t.Errorf("%d: %q", in, got)
		}
	}
	for in, want := range map[uint64]string{
		1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth", 20: "twentieth",
		21: "twenty first", 30: "thirtieth", 100: "one hundredth", 113: "one hundred thirteenth",
	} {
		if got := ordinal(in); got != want {
			t.Errorf("%d: %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"1984": "nineteen eighty four", "1905": "nineteen oh five", "1900": "nineteen hundred", "2000": "two thousand",
		"2005": "two thousand five", "2026": "twenty twenty six", "2099": "twenty ninety nine", "1099": "one thousand ninety nine",
		"2100": "two thousand one hundred", "1,984": "one thousand nine hundred eighty four", "1500.5": "one thousand five hundred point five",
		"3.14": "three point one four", "0.05": "zero point zero five", "007": "zero zero seven", "999999": "nine hundred ninety nine thousand nine hundred ninety nine",
		"1234567": "one two three four five six seven", "1,234,567": "one million two hundred thirty four thousand five hundred sixty seven",
		"99999999999999999999999": "nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine nine",
	} {
		if got := number(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}
