package seal

import (
	"math"
	"strings"
)

// The gate between what was drawn at random and what people write. Lengths are in bytes.
const (
	minRandom = 20
	maxRandom = 512
)

// random looks at the token that begins at i: a longer run than a word, with what base64 has besides.
func (s *scanner) random(i int) bool {
	t := s.text
	if i > 0 && (t[i-1] == '/' || t[i-1] == '\\' || t[i-1] == '.' || t[i-1] == '@' || t[i-1] == '#' || t[i-1] == '%' || t[i-1] == '+') {
		return false // part of a path, a name or a selector
	}
	end := i
	slashes := 0
	for end < len(t) && (wordByte[t[end]] || t[end] == '+' || t[end] == '/' || t[end] == '=') {
		if t[end] == '/' {
			slashes++
		}
		if t[end] == '=' && end+1 < len(t) && wordByte[t[end+1]] {
			break // name=value: each has its turn
		}
		end++
	}
	if end < len(t) && (t[end] == ':' && strings.HasPrefix(t[end:], "://") || t[end] == '(' || t[end] == '.' && end+1 < len(t) && wordByte[t[end+1]] && !strings.HasPrefix(t[i:end], "eyJ")) {
		// a scheme, a function, a host or file name
		if t[end] != '.' {
			return false
		}
		if tail := t[end+1:]; !sentence(tail) {
			return false
		}
	}
	token := t[i:end]
	if slashes > 0 && pathLike(token) {
		return false
	}
	if looksRandom(token) {
		s.add(Finding{Start: i, End: end, Kind: "token", Pass: Entropy})
		return true
	}
	return false
}

// sentence tells whether what follows a dot begins a sentence rather than a file's ending.
func sentence(t string) bool { return len(t) > 0 && (t[0] == ' ' || t[0] == '\n') }

// pathLike tells a path of words from base64 with slashes.
func pathLike(token string) bool {
	if strings.HasPrefix(token, "/") {
		return true
	}
	parts := strings.Split(token, "/")
	wordy := 0
	for _, p := range parts {
		if len(p) < 16 && (len(p) == 0 || !strings.ContainsAny(p, "+=") && commonPairs(p) >= 0.4) {
			wordy++
		}
	}
	return wordy*2 >= len(parts)
}

// looksRandom is the entropy gate. Two signals have to agree, since one is not enough: how evenly the characters
// are spread, and how often their class changes. What reads like words is none, whatever its spread.
func looksRandom(token string) bool {
	core := strings.TrimRight(token, "=")
	core = strings.Trim(core, "-_")
	if len(core) < minRandom || len(core) > maxRandom {
		return false
	}
	if isHex(core) || uuid(core) || strings.HasPrefix(core, "sha256-") || strings.HasPrefix(core, "sha384-") || strings.HasPrefix(core, "sha512-") {
		return false
	}
	if n := parts(core); n > 0 && len(core)/n < 10 {
		return false // words or numbers joined by - or _
	}
	var count [256]int
	letters, nums, flips := 0, 0, 0
	last := byte(0)
	for i := 0; i < len(core); i++ {
		c := core[i]
		count[c]++
		class := byte(3)
		switch {
		case c >= 'a' && c <= 'z':
			class = 1
			letters++
		case c >= 'A' && c <= 'Z':
			class = 2
			letters++
		case c >= '0' && c <= '9':
			class = 0
			nums++
		}
		if i > 0 && class != last {
			flips++
		}
		last = class
	}
	if letters < len(core)/3 {
		return false // a number
	}
	n := float64(len(core))
	spread := 0.0
	for _, k := range count {
		if k > 0 {
			p := float64(k) / n
			spread -= p * math.Log2(p)
		}
	}
	// A text of n characters drawn out of 62 comes near log2(n) bits a character, and near 5.95 when it is long.
	if spread < min(math.Log2(n)-1.1, 4.4) {
		return false
	}
	// Drawn at random, the class changes at six borders of ten and three pairs of ten are common ones; in names made
	// of words it is three and eight. Measured over 20,000 of each, the difference is above -0.31 for the first and
	// below -0.35 for the second; single rates overlap.
	rate := float64(flips) / (n - 1)
	margin := rate - commonPairs(core)
	if nums == 0 {
		return rate >= 0.3 && margin > -0.2
	}
	return rate >= 0.22 && margin > -0.26
}

// parts counts the pieces of a name joined by - or _.
func parts(s string) int {
	n := 1
	for i := 0; i < len(s); i++ {
		if s[i] == '-' || s[i] == '_' {
			n++
		}
	}
	if n == 1 {
		return 0
	}
	return n
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if !(s[i] >= '0' && s[i] <= '9' || c >= 'a' && c <= 'f') && s[i] != '-' && s[i] != ':' {
			return false
		}
	}
	return len(s) > 0
}

func uuid(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}

// common are the pairs of letters that words of European languages are made of.
var common = func() (t [26 * 26]bool) {
	for _, p := range strings.Fields("th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ld ur ro el la li ri io ic co me ec ne ma om ce us ta no na ni di ch be so il ll ss tr pe ns un ad ac em ut ol ot ul im am ca do po pr lo ie ge ho sh ai wa wi ow ee fo ef ir id ap op ag ab ob ib ub pa pl qu su ui ts rt rs rd rm rk ry ty ly cy ck cl ct cr bl br bo ba bi bu da du dr dd fe fi fa fr fu ff ft gr ga go gi gl gu hu ia if ig iv ke ki ks lu lt lf mi mo mu mm mp nc nk nn nu ny oo os ov od og ok pi pp ps pt pu ru rr rn rc rg rl rv sc sk sl sm sn sp sw sy tu tt ue um up va vi vo we wh wo wn xt ye yo ys au av aw ay ex ey ep eg eb ev ew oa oi oc") {
		t[int(p[0]-'a')*26+int(p[1]-'a')] = true
	}
	return t
}()

// commonPairs tells how much of a text's pairs of letters are common ones; 0 where it has few pairs. A pair from
// lower to upper case is a border of words and does not count.
func commonPairs(s string) float64 {
	pairs, hits := 0, 0
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		la, lb := a|0x20, b|0x20
		if la < 'a' || la > 'z' || lb < 'a' || lb > 'z' || a >= 'a' && b < 'a' {
			continue
		}
		pairs++
		if common[int(la-'a')*26+int(lb-'a')] {
			hits++
		}
	}
	if pairs < 3 {
		return 0
	}
	return float64(hits) / float64(pairs)
}
