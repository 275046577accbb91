package policy

import "strings"

// address is a URL as far as the policy looks at it, taken apart as a browser does: tabs and line ends are gone,
// backslashes are slashes, "http:host" has a host, and what stands before the last @ of the authority is no host.
type address struct {
	scheme   string // lower case; empty: relative
	host     string // as written, without port; empty: the current one
	port     string
	payload  int  // bytes of query and fragment, ? and # included
	relative bool // cannot change the host
	bad      bool // no browser opens it
}

func parseAddress(raw string) address {
	s := raw
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	if strings.IndexByte(s, '\t') >= 0 || strings.IndexByte(s, '\n') >= 0 || strings.IndexByte(s, '\r') >= 0 {
		s = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(s)
	}
	a := address{payload: payloadOf(s)}
	rest := s
	if i := strings.IndexByte(s, ':'); i > 0 && isScheme(s[:i]) {
		a.scheme, rest = strings.ToLower(s[:i]), s[i+1:]
	}
	switch a.scheme {
	case "http", "https":
		rest = strings.TrimLeft(rest, `/\`)
	case "":
		if len(rest) < 2 || !isSlash(rest[0]) || !isSlash(rest[1]) {
			a.relative = true
			return a
		}
		rest = strings.TrimLeft(rest, `/\`) // another host under the same scheme
	default:
		return a
	}
	authority := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		authority = rest[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	a.host = withoutPort(authority)
	a.port = strings.TrimPrefix(authority[min(len(a.host), len(authority)):], ":")
	a.bad = a.host == ""
	return a
}

// HostPort takes an address apart as a browser does; empty parts are not there. The host is as it was written.
func HostPort(raw string) (scheme, host, port string) {
	a := parseAddress(raw)
	return a.scheme, a.host, a.port
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func isScheme(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || !(s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.')) {
			return false
		}
	}
	return true
}

// payloadOf counts the bytes that an address can carry away after its path, with the marks that begin them.
func payloadOf(s string) int {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return len(s) - i
	}
	return 0
}

func withoutPort(authority string) string {
	if strings.HasPrefix(authority, "[") {
		if i := strings.IndexByte(authority, ']'); i > 0 {
			return authority[:i+1]
		}
		return ""
	}
	if i := strings.LastIndexByte(authority, ':'); i >= 0 {
		return authority[:i]
	}
	return authority
}
