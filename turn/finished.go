package turn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/transcript"
)

// How a text ends, as the hold of a turn cares.
const (
	closers    = "\"'”’»)]}›」』"
	fullStops  = ".!。！｡।։"
	questions  = "?？؟⁇⁈"
	ellipses   = "…"
	leastWords = 3 // of a complete sentence
)

// IsQuestion says that a text ends in a question: by its mark or, where the recogniser wrote no end mark at all,
// by beginning like one in its language and not trailing off.
func IsQuestion(text, lang string) bool {
	text = strings.TrimRight(strings.TrimSpace(text), closers)
	last, _ := utf8.DecodeLastRuneInString(text)
	if strings.ContainsRune(questions, last) {
		return true
	}
	if unicode.IsPunct(last) {
		return false
	}
	words := exactWords(text)
	return len(words) >= leastWords && asks(lang, words[0]) && !trails(lang, words[len(words)-1])
}

// IsComplete says that a text reads as a complete sentence: three or more words and a full stop, not trailing off
// with an ellipsis or with a word that wants another one after it.
func IsComplete(text, lang string) bool {
	words := transcript.Words(text)
	return len(words) >= leastWords && EndsSentence(text, lang)
}

// EndsSentence is IsComplete without the count of words.
func EndsSentence(text, lang string) bool {
	text = strings.TrimRight(strings.TrimSpace(text), closers)
	last, size := utf8.DecodeLastRuneInString(text)
	if strings.ContainsRune(questions, last) {
		return true
	}
	if !strings.ContainsRune(fullStops, last) || strings.HasSuffix(text, "..") ||
		strings.HasSuffix(text[:len(text)-size], ellipses) {
		return false
	}
	words := exactWords(text)
	return len(words) > 0 && !trails(lang, words[len(words)-1])
}
