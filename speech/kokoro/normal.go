package kokoro

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The data files: abbreviations and units, and how technical terms are said.
var (
	//go:embed abbreviations.txt
	abbreviationData string
	//go:embed words.txt
	wordData string
)

// abbreviations are written forms that are replaced wherever they stand between spaces or signs.
var abbreviations = table(abbreviationData)

// terms are words that are said otherwise than they are spelled. A term in capitals is meant in capitals only.
var terms = table(wordData)

// table reads lines of "written = said"; a # begins a comment.
func table(data string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(data, "\n") {
		if written, said, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "# ") {
			out[strings.TrimSpace(written)] = strings.TrimSpace(said)
		}
	}
	return out
}

// rule rewrites what matches.
type rule struct {
	re *regexp.Regexp
	do func(m []string) string
}

func on(pattern string, do func(m []string) string) rule {
	return rule{regexp.MustCompile(pattern), do}
}

func as(text string) func([]string) string { return func([]string) string { return text } }

func (r rule) apply(text string) string {
	return r.re.ReplaceAllStringFunc(text, func(found string) string { return r.do(r.re.FindStringSubmatch(found)) })
}

const num = `\d[\d,]*(?:\.\d+)?`

var months = strings.Fields("January February March April May June July August September October November December")

// rules make words of what is not written as words, in this order. What one has written, later ones leave alone: it
// has neither digits nor signs.
var rules = []rule{
	// Markdown, of which only the words are meant.
	on("```[a-z]*", as(" ")),
	on(`!?\[([^\]]*)\]\([^)]*\)`, func(m []string) string { return m[1] }),
	on(`(^|\n)\s*(?:#{1,6}|[-*+•]|>)\s+`, func(m []string) string { return m[1] }),
	on("[*`]+|__+|~~", as("")),

	// Addresses.
	on(`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+`, func(m []string) string { return address(m[0]) }),
	on(`\b(?:https?|wss?|ftp)://[^\s,;!)"]+`, func(m []string) string { return link(m[0]) }),
	on(`\bwww\.[^\s,;!)"]+`, func(m []string) string { return link(m[0]) }),

	// Dates and times.
	on(`\b(\d{4})-(\d\d)-(\d\d)\b`, date),
	on(`\b(\d{1,2}):(\d\d)(?::(\d\d))?(?:\s*([aApP])\.?[mM]\b\.?)?`, clock),
	on(`\b(\d{1,2})\s*([aApP])\.?[mM]\b\.?`, func(m []string) string { return number(m[1]) + " " + half(m[2]) }),

	// Money.
	on(`([$€£])\s?(`+num+`)(?:\s?(k|K|M|B|bn|million|billion|thousand)\b)?`, money),

	// Numbers with what stands around them.
	on(`(^|[\s(])-(\d)`, func(m []string) string { return m[1] + "minus " + m[2] }),
	on(`\b(`+num+`)\s?%`, func(m []string) string { return number(m[1]) + " percent" }),
	on(`(`+num+`)\s?°\s?([CF])\b`, func(m []string) string {
		return number(m[1]) + " degrees " + map[string]string{"C": "Celsius", "F": "Fahrenheit"}[m[2]]
	}),
	on(`\b(\d+)(?:st|nd|rd|th)\b`, func(m []string) string { return ordinal(parse(m[1])) }),
	on(`\b[vV](\d+(?:\.\d+)*)\b`, func(m []string) string { return "version " + points(m[1]) }),
	on(`\b\d+(?:\.\d+){2,}\b`, func(m []string) string { return points(m[0]) }),
	on(`\b(1/2|1/3|2/3|1/4|3/4)\b`, func(m []string) string {
		return map[string]string{"1/2": "one half", "1/3": "one third", "2/3": "two thirds", "1/4": "one quarter", "3/4": "three quarters"}[m[1]]
	}),
	on(`\b(`+num+`)\s?[–-]\s?(`+num+`)\s?(`+unitPattern+`)\b`, func(m []string) string {
		return number(m[1]) + " to " + number(m[2]) + " " + unit(m[3], false)
	}),
	on(`\b(`+num+`)\s?(`+unitPattern+`)\b`, func(m []string) string { return number(m[1]) + " " + unit(m[2], m[1] == "1") }),
	on(`\b(`+num+`)\s?[–-]\s?(`+num+`)\b`, func(m []string) string { return number(m[1]) + " to " + number(m[2]) }),
	on(`\b(\d+)x\b`, func(m []string) string { return number(m[1]) + " times" }),
	on(`\b[Nn]o\.\s?(\d)`, func(m []string) string { return "number " + m[1] }),
	on(`#(\d+)\b`, func(m []string) string { return "number " + number(m[1]) }),
	on(`~\s?(\d)`, func(m []string) string { return "about " + m[1] }),
	on(`\+(\d{6,})`, func(m []string) string { return "plus " + digits(m[1]) }),

	// Names of files and of things in programs.
	on(`\b([A-Za-z_][\w-]*)\.([A-Za-z][\w]*)\b`, func(m []string) string { return m[1] + " dot " + m[2] }),
	on(`_+`, as(" ")),
	on(`([a-z])([A-Z])`, func(m []string) string { return m[1] + " " + m[2] }),

	// Signs that are said.
	on(`\s*(?:->|=>|→)\s*`, as(" to ")),
	on(`\s*&\s*`, as(" and ")),
	on(`\s*(?:<=|≤)\s*`, as(" at most ")),
	on(`\s*(?:>=|≥)\s*`, as(" at least ")),
	on(`\s*==?\s*`, as(" equals ")),
	on(`\s+\+\s+`, as(" plus ")),
	on(`\s+<\s*|^<\s*`, as(" less than ")),
	on(`\s+>\s*`, as(" more than ")),
	on(`(\w)/(\w)`, func(m []string) string { return m[1] + " slash " + m[2] }),
	on(`@(\w)`, func(m []string) string { return "at " + m[1] }),

	// Whatever digits are left, with a letter beside them or not.
	on(`([A-Za-z])(\d)`, func(m []string) string { return m[1] + " " + m[2] }),
	on(num, func(m []string) string { return number(strings.TrimSuffix(m[0], ",")) + trailing(m[0]) }),
	on(`([a-z])([A-Z])`, func(m []string) string { return m[1] + " " + m[2] }),
}

// trailing keeps the comma that a number took along from the sentence.
func trailing(text string) string {
	if strings.HasSuffix(text, ",") {
		return ","
	}
	return ""
}

// Normalize makes words of a text: what comes out has letters, spaces and the signs of a sentence. Single capital
// letters are meant to be spelled.
func Normalize(text string) string {
	text = plain(text)
	text = expand(text)
	for _, r := range rules {
		text = r.apply(text)
	}
	text = halves.Replace(spell(text))
	return strings.Join(strings.Fields(text), " ")
}

// signs are characters that stand for others.
var signs = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "«", `"`, "»", `"`, "…", "...", "\u00a0", " ", "−", "-")

// plain removes what cannot be said: pictures, marks, control characters.
func plain(text string) string {
	text = signs.Replace(norm.NFC.String(text))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.So, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Mn, r), unicode.Is(unicode.Sk, r) && r != '`' && r != '^':
			if r == '°' {
				return r
			}
			return ' '
		}
		return r
	}, text)
}

// expand replaces abbreviations, which end with a full stop or have signs in them.
func expand(text string) string {
	words := strings.SplitAfter(text, " ")
	for i, w := range words {
		core := strings.TrimRight(w, " ")
		tail := w[len(core):]
		bare := strings.TrimLeft(core, `("'`)
		lead := core[:len(core)-len(bare)]
		end := strings.TrimRight(bare, `,;:!?)"`)
		if said, ok := abbreviations[end]; ok {
			words[i] = lead + said + bare[len(end):] + tail
		}
	}
	return strings.Join(words, "")
}

var word = regexp.MustCompile(`[\p{L}\p{M}']+(?:-[\p{L}\p{M}']+)*|[+#]+`)

// spell says terms as they are said, and spells what is written in capitals.
func spell(text string) string {
	shouting := shouts(text)
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if said, ok := terms[w]; ok {
			return said
		}
		if w == half("a") || w == half("p") {
			return w
		}
		if said, ok := terms[strings.ToLower(w)]; ok {
			return said
		}
		base, plural := w, ""
		if b, ok := strings.CutSuffix(w, "s"); ok && len(b) > 1 && strings.ToUpper(b) == b {
			base, plural = b, "s"
		}
		if b, ok := strings.CutSuffix(w, "'s"); ok && len(b) > 1 {
			base, plural = b, "'s"
		}
		if said, ok := terms[base]; ok && plural != "" {
			return said + plural
		}
		switch n := len(base); {
		case w == "A":
			return "a" // the article: a letter that is spelled comes from below
		case n < 2 || base != strings.ToUpper(base) || strings.ContainsAny(base, "'-") || shouting:
			if w = strings.TrimLeft(w, "+#"); len(w) > 1 && w == strings.ToUpper(w) {
				w = strings.ToLower(w)
			}
			return w
		case n <= 3 || n <= 5 && !strings.ContainsAny(base, "AEIOUY"):
			return strings.Join(strings.Split(base, ""), " ") + plural
		}
		return strings.ToLower(w)
	})
}

// shouts tells a text in capitals from one with acronyms.
func shouts(text string) bool {
	upper, lower := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		}
	}
	return upper > 10 && lower == 0
}

// address says an e-mail address.
func address(text string) string {
	text = strings.NewReplacer("@", " at ", ".", " dot ", "_", " underscore ", "-", " dash ", "+", " plus ").Replace(text)
	return strings.TrimSpace(text)
}

// link says where a link leads, and the beginning of the path if that is short: nobody can listen to the rest.
func link(text string) string {
	end := strings.TrimRight(text, ".:?'")
	tail := text[len(end):]
	if _, rest, ok := strings.Cut(end, "://"); ok {
		end = rest
	}
	end = strings.TrimPrefix(end, "www.")
	host, path, _ := strings.Cut(end, "/")
	host, port, _ := strings.Cut(host, ":")
	said := strings.NewReplacer(".", " dot ", "-", " dash ").Replace(host)
	if port != "" {
		said += " port " + digits(port)
	}
	path, _, _ = strings.Cut(path, "?")
	path = strings.Trim(path, "/")
	if path != "" && len(path) <= 24 && strings.Count(path, "/") <= 1 {
		said += " slash " + strings.NewReplacer("/", " slash ", ".", " dot ", "-", " dash ", "_", " ").Replace(path)
	}
	return said + tail
}

func date(m []string) string {
	month, day := parse(m[2]), parse(m[3])
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return digits(m[1]) + " " + digits(m[2]) + " " + digits(m[3])
	}
	return months[month-1] + " " + ordinal(day) + ", " + number(m[1])
}

func clock(m []string) string {
	hour, minute := parse(m[1]), parse(m[2])
	if hour > 24 || minute > 59 {
		return number(m[1]) + " to " + number(m[2])
	}
	said := cardinal(hour)
	switch {
	case m[3] != "":
		said += " " + cardinal(minute) + " and " + number(strings.TrimLeft(m[3], "0")+zeroIfEmpty(m[3])) + " seconds"
	case minute == 0 && m[4] == "":
		if hour >= 1 && hour <= 12 {
			said += " o'clock"
		} else {
			said += " hundred"
		}
	case minute > 0 && minute < 10:
		said += " oh " + cardinal(minute)
	case minute >= 10:
		said += " " + cardinal(minute)
	}
	if m[4] != "" {
		said += " " + half(m[4])
	}
	return said
}

func zeroIfEmpty(text string) string {
	if strings.Trim(text, "0") == "" {
		return "0"
	}
	return ""
}

// half is the half of the day. A letter A by itself would become an article on the way.
func half(letter string) string { return strings.ToUpper(letter) + "-M" }

// halves divides them when that is over.
var halves = strings.NewReplacer("A-M", "A M", "P-M", "P M")

func money(m []string) string {
	name := map[string][4]string{
		"$": {"dollar", "dollars", "cent", "cents"}, "€": {"euro", "euros", "cent", "cents"}, "£": {"pound", "pounds", "penny", "pence"},
	}[m[1]]
	scale := map[string]string{"k": "thousand", "K": "thousand", "M": "million", "B": "billion", "bn": "billion"}[m[3]]
	if scale == "" {
		scale = m[3]
	}
	if scale != "" {
		return number(m[2]) + " " + scale + " " + name[1]
	}
	end := strings.TrimRight(m[2], ",")
	whole, cents, _ := strings.Cut(strings.ReplaceAll(end, ",", ""), ".")
	said := cardinal(parse(whole)) + " " + name[1]
	if parse(whole) == 1 {
		said = "one " + name[0]
	}
	if len(cents) == 2 && cents != "00" {
		c := parse(cents)
		said += " and " + cardinal(c) + " " + name[3]
		if c == 1 {
			said = strings.TrimSuffix(said, name[3]) + name[2]
		}
	}
	return said + m[2][len(end):]
}

// units by how they are written; they follow a number.
var units = map[string]string{
	"ms": "millisecond", "µs": "microsecond", "ns": "nanosecond", "s": "second", "sec": "second", "min": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
	"km": "kilometer", "cm": "centimeter", "mm": "millimeter", "m": "meter", "kg": "kilogram", "g": "gram", "mg": "milligram",
	"GB": "gigabyte", "MB": "megabyte", "KB": "kilobyte", "kB": "kilobyte", "TB": "terabyte", "GiB": "gibibyte", "MiB": "mebibyte", "KiB": "kibibyte",
	"Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "kbit": "kilobit", "Mbit": "megabit", "Gbit": "gigabit",
	"W": "watt", "kW": "kilowatt", "kWh": "kilowatt hour", "V": "volt", "dB": "decibel", "px": "pixel", "fps": "frame per second", "k": "thousand",
}

const unitPattern = `ms|µs|ns|sec|min|hrs|hr|km|cm|mm|kg|mg|GiB|MiB|KiB|GB|MB|KB|kB|TB|kHz|MHz|GHz|Hz|kbit|Mbit|Gbit|kWh|kW|dB|px|fps|W|V|m|g|s|h|k`

func unit(written string, single bool) string {
	name := units[written]
	switch {
	case single || name == "thousand" || strings.HasSuffix(name, "hertz"):
		return name
	case strings.HasPrefix(name, "frame"):
		return "frames per second"
	}
	return name + "s"
}

// points says a version or an address: its numbers with points between them.
func points(text string) string {
	parts := strings.Split(text, ".")
	for i, p := range parts {
		parts[i] = number(p)
		if n, err := strconv.ParseUint(p, 10, 32); err == nil && len(p) < 5 && (len(p) == 1 || p[0] != '0') {
			parts[i] = cardinal(n)
		}
	}
	return strings.Join(parts, " point ")
}

// parse reads digits; more than fit are a very large number.
func parse(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64) // out of range gives the largest
	return n
}
