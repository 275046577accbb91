package wire

import (
	"errors"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ErrText is returned for a name or a chat message that is empty or too long after cleaning.
var ErrText = errors.New("text is empty or too long")

// maxMarks is how many combining marks may follow one character. Living scripts need three.
const maxMarks = 3

// CleanName makes a display name fit to be shown in one line beside others: composed, without control, format and
// direction characters, with single spaces. Joiners stay between letters, since some scripts and emoji need them.
// The result has 1 to MaxName characters with at least one that can be seen, or the error is ErrText.
func CleanName(name string) (string, error) {
	return clean(name, MaxName, false)
}

// CleanChat makes a chat message fit to be shown: composed, without control characters but line breaks, without
// characters that override the direction of the text around them. The result has 1 to MaxChat characters with at
// least one that can be seen, or the error is ErrText.
func CleanChat(text string) (string, error) {
	return clean(text, MaxChat, true)
}

func clean(text string, limit int, lines bool) (string, error) {
	// Everything beyond this many bytes is too long whatever it is; normalising it would cost for nothing.
	if len(text) > limit*16 {
		return "", ErrText
	}
	var b strings.Builder
	runes, marks, seen := 0, 0, false
	space, newlines := false, 0
	emit := func(r rune) {
		b.WriteRune(r)
		runes++
	}
	for _, r := range norm.NFC.String(strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD")) {
		switch {
		case lines && (r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'):
			newlines++
			space = false
			continue
		case unicode.IsSpace(r):
			space = true
			continue
		case r == '\u200c' || r == '\u200d':
			if !seen || space || newlines > 0 {
				continue // a joiner joins something
			}
			marks++
			if marks > maxMarks {
				continue
			}
		case unicode.In(r, unicode.Mn, unicode.Me):
			marks++
			if marks > maxMarks {
				continue
			}
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0', r == '\u2800':
			continue // controls, direction and other format characters, private use, and blanks that are not spaces
		default:
			marks = 0
			seen = true
		}
		if newlines > 0 {
			if b.Len() > 0 {
				emit('\n')
				if newlines > 1 {
					emit('\n')
				}
			}
			newlines, space = 0, false
		}
		if space {
			if b.Len() > 0 {
				emit(' ')
			}
			space = false
		}
		emit(r)
		if runes > limit {
			return "", ErrText
		}
	}
	if !seen {
		return "", ErrText
	}
	// What was left out may have kept marks apart that have an order of their own.
	return norm.NFC.String(b.String()), nil
}
