package turn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/transcript"
)

// How text is cut for the voice, in characters.
const (
	longFirst  = 80  // a first sentence longer than this is cut at a comma
	leastFirst = 20  // the least before that comma
	longest    = 300 // no piece is longer
)

// Sentences cuts a text into what is synthesized piece by piece. With first, the first piece is cut at a comma
// when it is long, so that the voice begins sooner. Nothing but white space is lost.
func Sentences(text, lang string, first bool) []string {
	whole, rest := split(strings.ToValidUTF8(text, "\uFFFD"), lang, true)
	if rest != "" {
		whole = append(whole, rest)
	}
	var out []string
	for i, s := range whole {
		if i == 0 && first {
			if head, tail := cutAtComma(s); tail != "" {
				out = append(out, limit(head)...)
				s = tail
			}
		}
		out = append(out, limit(s)...)
	}
	return out
}

// split gives the sentences whose end has arrived and the rest. With final, an end at the very end counts;
// without it, it waits for what follows ("3." may become "3.5").
func split(text, lang string, final bool) (whole []string, rest string) {
	begin := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if end <= i || !ends(text, i, r, lang, final) {
			continue
		}
		for end < len(text) { // closing quotes and more marks belong to it
			n, size := utf8.DecodeRuneInString(text[end:])
			if !strings.ContainsRune(closers+fullStops+questions+ellipses, n) {
				break
			}
			end += size
		}
		if end <= begin {
			continue
		}
		if s := strings.TrimSpace(text[begin:end]); hasWord(s) {
			whole = append(whole, s)
			begin = end
		}
	}
	if rest = strings.TrimSpace(text[begin:]); !hasWord(rest) && final {
		rest = ""
	}
	return whole, rest
}

// hasWord says that there is something to say.
func hasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// ends says that the mark r at i ends a sentence.
func ends(text string, i int, r rune, lang string, final bool) bool {
	after := strings.TrimLeft(text[i+utf8.RuneLen(r):], closers+fullStops+questions+ellipses)
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case r == '\n':
		return true
	case strings.ContainsRune("。！｡？⁇⁈", r): // written without a space after them
		return after != "" || final
	case after == "":
		return final && strings.ContainsRune(fullStops+questions+ellipses, r)
	case !unicode.IsSpace(next):
		return false
	case strings.ContainsRune(questions, r) || r == '!' || r == '।' || r == '։':
		return true
	case r == '…':
		return begins(after)
	case r == '.':
		return begins(after) && !abbreviated(text[:i], lang)
	}
	return false
}

// begins says that a text goes on with the beginning of a sentence rather than its middle.
func begins(after string) bool {
	after = strings.TrimSpace(after)
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || !unicode.IsLower(r)
}

// abbreviated says that the word before a full stop is an abbreviation, an initial, or the number of a list.
func abbreviated(before, lang string) bool {
	i := strings.LastIndexFunc(before, unicode.IsSpace)
	word := strings.TrimLeft(before[i+1:], "(\"'“„«[")
	if n := utf8.RuneCountInString(word); n <= 2 && strings.Trim(word, "0123456789") == "" {
		last, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(before[:i+1]))
		return last == utf8.RuneError || strings.ContainsRune(fullStops+questions+ellipses+":\n", last)
	} else if n == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) && r != 'I'
	}
	folded := strings.Join(transcript.Words(word), "")
	return folded != "" && abbreviates(lang, folded)
}

// cutAtComma cuts a long sentence at its first comma (or dash, colon, semicolon) that leaves enough before it.
func cutAtComma(s string) (head, tail string) {
	if utf8.RuneCountInString(s) <= longFirst {
		return s, ""
	}
	n := 0
	for i, r := range s {
		n++
		if n < leastFirst || !strings.ContainsRune(",;:，、；：—–", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(s[end:])
		if strings.ContainsRune(",;:", r) && !unicode.IsSpace(next) {
			continue // "10,000" or "10:30"
		}
		if tail = strings.TrimSpace(s[end:]); hasWord(tail) {
			return strings.TrimSpace(s[:end]), tail
		}
		break
	}
	return s, ""
}

// limit cuts what is too long for one piece, at a comma, else at a space, else anywhere.
func limit(s string) []string {
	var out []string
	for utf8.RuneCountInString(s) > longest {
		at, comma, space, n := 0, 0, 0, 0
		for i, r := range s {
			if n++; n > longest {
				break
			}
			at = i + utf8.RuneLen(r)
			switch {
			case strings.ContainsRune(",;:，、；：", r) && n > longest/3:
				comma = at
			case unicode.IsSpace(r):
				space = i
			}
		}
		switch {
		case comma > 0:
			at = comma
		case space > 0:
			at = space
		}
		if head := strings.TrimSpace(s[:at]); hasWord(head) {
			out = append(out, head)
		}
		s = strings.TrimSpace(s[at:])
	}
	if hasWord(s) {
		out = append(out, s)
	}
	return out
}

// afterPrefix gives what follows a prefix in a text, compared word by word; ok is false when the text does not
// begin with it. The marks after the last word belong to the prefix.
func afterPrefix(text, prefix string) (rest string, ok bool) {
	want := transcript.Words(prefix)
	spans := transcript.Spans(text)
	if len(want) == 0 || len(spans) < len(want) {
		return text, false
	}
	for i, w := range want {
		if spans[i].Norm != w {
			return text, false
		}
	}
	end := spans[len(want)-1].End
	rest = strings.TrimLeftFunc(text[end:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !opens(r) })
	return rest, true
}

// opens says that a mark belongs to the word after it.
func opens(r rune) bool { return strings.ContainsRune("(\"“„«[¿¡$€£#@", r) }
