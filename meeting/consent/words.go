package consent

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// sentence is a sentence as words, and the same in clauses.
type sentence struct {
	words   []string
	clauses [][]string
}

// has looks for a pattern anywhere in the words.
func has(words []string, p pattern) bool {
	for i := range words {
		if p.start && i > 0 {
			return false
		}
		if p.match(words[i:]) > 0 {
			return true
		}
	}
	return false
}

// sentences splits a message. What it quotes is left out, unless it is nothing but a quotation.
func sentences(text string) []sentence {
	text = unquote(text)
	var out []sentence
	var now sentence
	var clause []string
	var word strings.Builder
	endWord := func() {
		if w := strings.Trim(word.String(), "'"); w != "" {
			clause = append(clause, plain(w))
		}
		word.Reset()
	}
	endClause := func() {
		endWord()
		if len(clause) > 0 {
			now.words = append(now.words, clause...)
			now.clauses = append(now.clauses, clause)
			clause = nil
		}
	}
	endSentence := func() {
		endClause()
		if len(now.words) > 0 {
			out = append(out, now)
			now = sentence{}
		}
	}
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
			word.WriteRune(unicode.ToLower(r))
		case strings.ContainsRune("'’ʼ`´‘", r):
			word.WriteByte('\'')
		case strings.ContainsRune(".!?;\n\r¡¿…", r):
			endSentence()
		case strings.ContainsRune(",:()[]—–/|", r):
			endClause()
		case unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r): // pictures
			endClause()
		case unicode.In(r, unicode.Cf): // joiners and marks of direction
		default:
			endWord()
		}
	}
	endSentence()
	return out
}

// quotes are pairs of quotation marks. The plain ' is none: it is an apostrophe more often.
var quotes = []struct{ open, close string }{
	{"\"", "\""}, {"“", "”"}, {"“", "“"}, {"„", "“"}, {"„", "”"}, {"«", "»"}, {"»", "«"}, {"‹", "›"}, {"```", "```"}, {"`", "`"}, {"‘", "’"}, {" '", "'"},
}

// unquote leaves out quoted lines and quoted words, when something else remains.
func unquote(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(strings.TrimSpace(line), ">") {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, "\n")
	bare := " " + text
	for _, q := range quotes {
		for {
			i := strings.Index(bare, q.open)
			if i < 0 {
				break
			}
			end := closing(bare, i+len(q.open), q.close)
			if end < 0 || strings.Contains(bare[i:end], "\n") && q.open != "```" {
				break // a mark that was never closed
			}
			bare = bare[:i] + " \x00 " + bare[end:]
		}
	}
	for _, r := range strings.ReplaceAll(bare, "\x00", "") {
		if unicode.IsLetter(r) {
			return strings.ReplaceAll(bare, "\x00", "")
		}
	}
	return text
}

// closing finds the end of a quotation. An apostrophe ends none when a letter follows: it is within a word.
func closing(s string, from int, mark string) int {
	for {
		j := strings.Index(s[from:], mark)
		if j < 0 {
			return -1
		}
		from += j + len(mark)
		if mark != "'" || !isLetter(s[from:]) {
			return from
		}
	}
}

func isLetter(s string) bool {
	for _, r := range s {
		return unicode.IsLetter(r)
	}
	return false
}

// plain makes a word comparable: people write without accents, and with more than one form of the same letter. It
// keeps a trailing *.
func plain(w string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(w)) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'ł':
			b.WriteByte('l')
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ı':
			b.WriteByte('i')
		case strings.ContainsRune("’ʼ`´‘", r):
			b.WriteByte('\'')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
