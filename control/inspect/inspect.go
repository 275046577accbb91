// Package inspect looks through what is about to leave, and says by class what is in it. It decides by form alone: no model, no score.
package inspect

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/guard/seal"
)

// Class is a kind of content that does not leave without leave.
type Class string

// The classes.
const (
	// Credential is a password, key, token, code, cookie or private key. Nothing permits it.
	Credential Class = "credential"
	// Malware is a known marker of malicious content. Nothing permits it.
	Malware Class = "malware"
	// Unknown is content whose form nobody here can read: a long run of encoded bytes. Nothing permits it.
	Unknown Class = "unknown"
	// Incomplete is content that could not be looked through to its end. Nothing permits it.
	Incomplete Class = "incomplete"
	// Card is a payment card's number.
	Card Class = "card"
	// Account is an international bank account number.
	Account Class = "account"
	// Marked is text that says of itself that it is confidential.
	Marked Class = "marked"
)

// Sensitive are the classes that a policy may permit reading: those with a known form that are no key to anything.
func Sensitive() []Class { return []Class{Card, Account, Marked} }

// MaxText is the longest text that is looked through; a longer one is Incomplete.
const MaxText = 256 << 10

// Text gives the classes found in a text, sorted, none twice.
func Text(s string) []Class {
	if len(s) > MaxText || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r == 0 || r == unicode.ReplacementChar }) {
		return []Class{Incomplete}
	}
	var out []Class
	// A secret that is broken over lines, or written with invisible letters in between, is still one.
	for _, form := range []string{s, visible(s)} {
		for _, f := range seal.Find(form) {
			if f.Kind == "card" {
				out = append(out, Card)
			} else {
				out = append(out, Credential)
			}
		}
	}
	if strings.Contains(s, malware) {
		out = append(out, Malware)
	}
	if encoded.MatchString(s) {
		out = append(out, Unknown)
	}
	for _, m := range iban.FindAllString(s, -1) {
		if checkIBAN(m) {
			out = append(out, Account)
			break
		}
	}
	if marked(s) {
		out = append(out, Marked)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// visible takes out what shows nothing.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r >= 0xfe00 && r <= 0xfe0f {
			return -1
		}
		return r
	}, s)
}

// Refuses says whether a content with these classes must stay. sensitive permits those of Sensitive, and no other.
func Refuses(classes []Class, sensitive bool) bool {
	for _, c := range classes {
		if !sensitive || !slices.Contains(Sensitive(), c) {
			return true
		}
	}
	return false
}

// malware is the marker that scanners agree to find, in two parts so that this file is not found.
var malware = `X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-` + `STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`

var (
	// 512 letters of base64 without a break are no words.
	encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{512}`)
	iban    = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`)
)

func checkIBAN(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	var digits strings.Builder
	for _, c := range s[4:] + s[:4] {
		if c >= '0' && c <= '9' {
			digits.WriteRune(c)
		} else {
			digits.WriteString(big.NewInt(int64(c-'A') + 10).String())
		}
	}
	n, ok := new(big.Int).SetString(digits.String(), 10)
	return ok && new(big.Int).Mod(n, big.NewInt(97)).Int64() == 1
}

// marks are what documents write on themselves, in lower case.
var marks = []string{"strictly confidential", "company confidential", "internal use only", "streng vertraulich", "nur für den internen gebrauch",
	"strictement confidentiel", "usage interne uniquement", "estrictamente confidencial", "solo para uso interno", "strettamente riservato", "strikt vertrouwelijk",
	"ściśle poufne", "строго конфиденциально", "机密文件", "社外秘"}

func marked(s string) bool {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(s, m) })
}
