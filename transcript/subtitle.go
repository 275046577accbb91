package transcript

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"
)

// How much one subtitle shows: two lines of 42 letters, at most seven seconds, which is what viewers can read.
const (
	cueLetters = 84
	cueLine    = 42
	cueSeconds = 7.0
)

// cue is one subtitle.
type cue struct {
	name, text string
	start, end float64
}

// cues cuts segments into pieces that fit on a screen: by the words' own times where the recogniser gave them,
// else by their share of the letters.
func cues(segs []Segment) []cue {
	var out []cue
	for _, s := range segs {
		words := timed(s)
		if len(words) == 0 {
			continue
		}
		name := nameOf(s)
		begin := 0
		letters := 0
		for i, w := range words {
			n := utf8.RuneCountInString(w.Text)
			full := letters+n+1 > cueLetters || w.End-words[begin].Start > cueSeconds
			if i > begin && full {
				out = append(out, makeCue(name, words[begin:i]))
				begin, letters = i, 0
			}
			letters += n + 1
		}
		out = append(out, makeCue(name, words[begin:]))
	}
	return out
}

func makeCue(name string, words []Word) cue {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	c := cue{name: name, text: strings.Join(texts, " "), start: words[0].Start, end: words[len(words)-1].End}
	c.end = max(c.end, c.start+0.05)
	return c
}

// timed gives each written word of a segment a time. The recogniser's word times are used when they are about
// the same words; the text itself always wins.
func timed(s Segment) []Word {
	fields := strings.Fields(plain(s.Text))
	if len(fields) == 0 {
		return nil
	}
	out := make([]Word, len(fields))
	if len(s.Words) == len(fields) {
		at := s.Start
		for i, f := range fields {
			start := max(at, s.Words[i].Start)
			end := max(start, s.Words[i].End)
			out[i] = Word{Text: f, Start: start, End: end}
			at = start
		}
		return out
	}
	total, before := 0, 0
	for _, f := range fields {
		total += utf8.RuneCountInString(f) + 1
	}
	length := max(0, s.End-s.Start)
	for i, f := range fields {
		start := s.Start + length*float64(before)/float64(total)
		before += utf8.RuneCountInString(f) + 1
		out[i] = Word{Text: f, Start: start, End: s.Start + length*float64(before)/float64(total)}
	}
	return out
}

// lines breaks a subtitle's text once, near its middle.
func lines(text string) string {
	if utf8.RuneCountInString(text) <= cueLine {
		return text
	}
	half, best := len(text)/2, -1
	for i := range len(text) {
		if text[i] == ' ' && (best < 0 || abs(i-half) < abs(best-half)) {
			best = i
		}
	}
	if best < 0 {
		return text
	}
	return text[:best] + "\n" + text[best+1:]
}

func abs(i int) int { return max(i, -i) }

// srtSafe: SubRip has no escapes. Players read <b> as markup and {\an8} as a position, and "-->" ends a header.
var srtSafe = strings.NewReplacer("<", "‹", ">", "›", "{", "(", "}", ")", "\\", "/")

func writeSRT(w *bufio.Writer, segs []Segment) {
	for i, c := range cues(segs) {
		text := c.text
		if c.name != "" {
			text = c.name + ": " + text
		}
		fmt.Fprintf(w, "%d\n%s --> %s\n%s\n\n", i+1, comma(c.start), comma(c.end), lines(srtSafe.Replace(text)))
	}
}

// comma is SubRip's decimal sign.
func comma(s float64) string { return strings.Replace(clock(s, true), ".", ",", 1) }

var vttSafe = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func writeVTT(w *bufio.Writer, m Meta, segs []Segment) {
	w.WriteString("WEBVTT")
	if t := plain(m.Title); t != "" {
		fmt.Fprintf(w, " %s", strings.ReplaceAll(t, "-->", "→"))
	}
	w.WriteString("\n\n")
	for _, c := range cues(segs) {
		fmt.Fprintf(w, "%s --> %s\n", clock(c.start, true), clock(c.end, true))
		text := lines(vttSafe.Replace(c.text))
		if c.name != "" {
			text = "<v " + vttSafe.Replace(c.name) + ">" + text
		}
		fmt.Fprintf(w, "%s\n\n", text)
	}
}
