package seal

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

//go:embed shapes.json
var shapesJSON []byte

// shape is what a vendor's key looks like: a public prefix and what follows it.
type shape struct {
	Prefix string `json:"prefix"`
	Kind   Kind   `json:"kind"`
	Chars  string `json:"chars"`
	Min    int    `json:"min"`
	Max    int    `json:"max"` // 0: none

	set *[256]bool
}

// byFirst are the shapes by the first byte of their prefix, the longest prefix first.
var byFirst = func() (t [256][]shape) {
	var raw []shape
	if err := json.Unmarshal(shapesJSON, &raw); err != nil {
		panic("seal: shapes.json: " + err.Error()) // part of the binary, and a test reads it
	}
	sets := map[string]*[256]bool{}
	for name, more := range map[string]string{"alnum": "", "word": "_-", "dotted": "_-.", "wide": "_-.=", "base64": "+/=_-", "hex": "", "upper": ""} {
		var set [256]bool
		for c := range 256 {
			b := byte(c)
			digit, lower, upper := b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z'
			switch name {
			case "hex":
				set[c] = digit || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
			case "upper":
				set[c] = digit || upper
			default:
				set[c] = digit || lower || upper || strings.IndexByte(more, b) >= 0
			}
		}
		sets[name] = &set
	}
	for _, s := range raw {
		if s.set = sets[s.Chars]; s.set == nil {
			panic("seal: shapes.json: " + s.Prefix + ": no characters " + s.Chars)
		}
		t[s.Prefix[0]] = append(t[s.Prefix[0]], s)
	}
	for c := range t {
		slices.SortFunc(t[c], func(a, b shape) int { return len(b.Prefix) - len(a.Prefix) })
	}
	return t
}()

// shapeAt looks for a vendor's key, a signed token or a bot's token at a word.
func shapeAt(t string, i, end int) (Finding, bool) {
	for k := range byFirst[t[i]] {
		s := &byFirst[t[i]][k]
		if !strings.HasPrefix(t[i:], s.Prefix) {
			continue
		}
		j := i + len(s.Prefix)
		for j < len(t) && s.set[t[j]] {
			j++
		}
		n := j - i - len(s.Prefix)
		if s.Chars == "dotted" || s.Chars == "wide" || s.Chars == "base64" {
			for n > 0 && t[j-1] == '.' {
				j, n = j-1, n-1
			}
		}
		if n < s.Min || s.Max > 0 && n > s.Max || j < len(t) && wordByte[t[j]] {
			continue
		}
		if body := t[i+len(s.Prefix) : j]; wordy(body) || isMask(body) || same(body) {
			continue
		}
		return Finding{Start: i, End: j, Kind: s.Kind, Pass: Shape, Head: len(s.Prefix)}, true
	}
	if strings.HasPrefix(t[i:], "eyJ") {
		if n := signedToken(t[i:]); n > 0 {
			return Finding{Start: i, End: i + n, Kind: "token", Pass: Shape}, true
		}
	}
	// A bot's token: digits, a colon, 35 characters.
	if n := end - i; n >= 8 && n <= 10 && end < len(t) && t[end] == ':' && digits(t[i:end]) {
		j := end + 1
		for j < len(t) && wordByte[t[j]] {
			j++
		}
		if j-end-1 == 35 && !wordy(t[end+1:j]) {
			return Finding{Start: i, End: j, Kind: "token", Pass: Shape}, true
		}
	}
	return Finding{}, false
}

// wordy tells documentation ("sk-your-api-key-goes-here") from a key.
func wordy(s string) bool {
	return !strings.ContainsAny(s, "0123456789") && commonPairs(s) >= 0.5 || strings.Contains(strings.ToLower(s), "example") && !strings.ContainsAny(s, "23456789")
}

func same(s string) bool { return strings.Count(s, s[:1]) == len(s) }

// signedToken tells how long the three-part token is that a text begins with.
func signedToken(t string) int {
	n, dots, at := 0, 0, 0
	for n < len(t) && (wordByte[t[n]] || t[n] == '.') {
		if t[n] == '.' {
			if n-at < 4 {
				break
			}
			if dots++; dots == 5 {
				break
			}
			at = n + 1
		}
		n++
	}
	for n > 0 && t[n-1] == '.' {
		n--
		dots--
	}
	if dots < 2 || n < 40 {
		return 0
	}
	return n
}

// pem finds a private key block, with or without its end.
func pem(t string, i int) (Finding, bool) {
	line := t[i:min(len(t), i+80)]
	n := strings.Index(line, "PRIVATE KEY")
	if n < 0 || strings.ContainsAny(line[:n], "\r\n") {
		return Finding{}, false
	}
	end := len(t)
	if k := strings.Index(t[i:], "-----END "); k >= 0 {
		end = i + k
		if m := strings.Index(t[end+9:], "-----"); m >= 0 && m < 80 {
			end += 9 + m + 5
		}
	}
	if end-i < 64 {
		return Finding{}, false
	}
	return Finding{Start: i, End: end, Kind: "private-key", Pass: Shape}, true
}

// cardAt finds a card's number: 13 to 19 digits in groups, with a first digit that cards have and the check digit
// right. Its last four digits stay: people know their card by them.
func cardAt(t string, i int) (Finding, bool) {
	if i > 0 && (wordByte[t[i-1]] || t[i-1] == '.' || t[i-1] == '/' || t[i-1] == '+' || t[i-1] == '#') {
		return Finding{}, false
	}
	var d [19]byte
	n, j, group, sep := 0, i, 0, byte(0)
	groups := 0
	for j < len(t) {
		c := t[j]
		switch {
		case c >= '0' && c <= '9':
			if n == len(d) {
				return Finding{}, false
			}
			d[n] = c - '0'
			n++
			group++
		case (c == ' ' || c == '-') && group >= 3 && group <= 6 && (sep == 0 || sep == c) && j+1 < len(t) && t[j+1] >= '0' && t[j+1] <= '9' && n < 17:
			sep, group = c, 0
			groups++
		default:
			goto done
		}
		j++
	}
done:
	if n < 13 || j < len(t) && (wordByte[t[j]] || t[j] == '.' && j+1 < len(t) && t[j+1] >= '0' && t[j+1] <= '9') || d[0] < 2 || d[0] > 6 || groups > 0 && groups < 2 {
		return Finding{}, false
	}
	if !luhn(d[:n]) || !issuer(d[:n]) {
		return Finding{}, false
	}
	// The last four digits, with what separates them.
	tail, k := 0, j
	for tail < 4 {
		k--
		if t[k] >= '0' && t[k] <= '9' {
			tail++
		}
	}
	return Finding{Start: i, End: j, Kind: "card", Pass: Shape, Tail: j - k}, true
}

func luhn(d []byte) bool {
	sum := 0
	for i := range d {
		v := int(d[len(d)-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// issuer tells whether a number begins and is as long as one of the card networks' does.
func issuer(d []byte) bool {
	n := len(d)
	two, four := int(d[0])*10+int(d[1]), int(d[0])*1000+int(d[1])*100+int(d[2])*10+int(d[3])
	switch {
	case d[0] == 4:
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34 || two == 37:
		return n == 15
	case two == 36 || two == 38 || two == 39 || two == 30:
		return n == 14 || n == 16
	case two == 35:
		return n == 16
	case two == 62 || two == 60 || two == 65 || two == 64:
		return n >= 16
	case two == 50 || two >= 56 && two <= 58 || two == 63 || two == 67:
		return n >= 16
	}
	return false
}
