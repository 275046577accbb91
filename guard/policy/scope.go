package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Scope is the hosts a run may go to without anybody being asked. It is made once, of what the user controls,
// and has no way to grow: whoever wants a wider one makes another. The zero value holds no host.
type Scope struct {
	anywhere bool
	blank    bool
	hosts    []string
}

// Anywhere is the scope of a client whose confinement is the tenant's own list of hosts.
var Anywhere = Scope{anywhere: true}

// Blank says what a run without a starting point may do.
type Blank string

// What a run without a starting point may do.
const (
	// ConfirmFirstHost asks before the first site; that one then is the scope. The default.
	ConfirmFirstHost Blank = "confirm-first-host"
	// BlankAnywhere lets it go anywhere, where the tenant has no list of hosts.
	BlankAnywhere Blank = "anywhere"
)

// Start is what a scope is made of. Nothing in it may come from a page, a meeting or a file.
type Start struct {
	// URL of the tab the run starts in; empty for a blank tab and for a site the user blocked.
	URL string
	// Words are the user's own, which may name hosts.
	Words string
	// Standing is the policy's list; "*" in it is anywhere.
	Standing []string
	// Confined tells that the tenant has a list of hosts, which is enforced elsewhere as well.
	Confined bool
	Blank    Blank
}

// NewScope makes the scope of a run.
func NewScope(s Start) (Scope, error) {
	if err := CheckHosts(s.Standing); err != nil {
		return Scope{}, err
	}
	if slices.Contains(s.Standing, "*") {
		return Anywhere, nil
	}
	var hosts []string
	add := func(h string) {
		if h, ok := NormalizeHost(h); ok && !slices.Contains(hosts, h) && !isSuffix(h) {
			hosts = append(hosts, h)
		}
	}
	start := parseAddress(s.URL)
	if start.scheme == "http" || start.scheme == "https" {
		add(start.host)
	}
	for _, h := range HostsIn(s.Words) {
		add(h)
	}
	if len(hosts) == 0 { // a standing list is no starting point, but it stays reachable
		if s.Blank == BlankAnywhere && !s.Confined {
			return Anywhere, nil
		}
		for _, h := range s.Standing {
			add(h)
		}
		return Scope{blank: true, hosts: hosts}, nil
	}
	for _, h := range s.Standing {
		add(h)
	}
	slices.Sort(hosts)
	return Scope{hosts: hosts}, nil
}

// Begin gives the scope after a person approved the first site of a run that started nowhere. A scope that has a
// starting point stays as it is.
func (s Scope) Begin(host string) Scope {
	h, ok := NormalizeHost(host)
	if !s.blank || !ok || isSuffix(h) {
		return s
	}
	hosts := append(slices.Clone(s.hosts), h)
	slices.Sort(hosts)
	return Scope{hosts: slices.Compact(hosts)}
}

// Hosts lists the scope; {"*"} is anywhere.
func (s Scope) Hosts() []string {
	if s.anywhere {
		return []string{"*"}
	}
	return slices.Clone(s.hosts)
}

// Covers tells whether a host, as an address writes it, is inside.
func (s Scope) Covers(host string) bool {
	if s.anywhere {
		return true
	}
	h, ok := NormalizeHost(host)
	return ok && slices.ContainsFunc(s.hosts, func(in string) bool { return under(h, in) })
}

// under tells whether normalised host h is in or below it.
func under(h, in string) bool {
	if h == in {
		return true
	}
	n := len(h) - len(in)
	return n > 0 && h[n-1] == '.' && h[n:] == in && in[0] != '[' && !isIP(in)
}

func isIP(h string) bool { _, err := netip.ParseAddr(strings.Trim(h, "[]")); return err == nil }

// NormalizeHost writes a host as scopes compare it: lower case, without the root's dot, a leading "www." or "*.".
// False: it is no host.
func NormalizeHost(host string) (string, bool) {
	h := host
	for i := 0; i < len(h); i++ {
		if h[i] >= 'A' && h[i] <= 'Z' {
			h = strings.ToLower(h)
			break
		}
	}
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
		a, err := netip.ParseAddr(h[1 : len(h)-1])
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "", false
		}
		return "[" + a.String() + "]", true
	}
	h = strings.TrimSuffix(h, ".")
	if rest, ok := strings.CutPrefix(h, "*."); ok {
		h = rest
	} else if rest, ok := strings.CutPrefix(h, "www."); ok {
		h = rest
	}
	if h == "" || len(h) > 253 || h[0] == '.' || h[len(h)-1] == '.' || strings.Contains(h, "..") {
		return "", false
	}
	for i := 0; i < len(h); i++ {
		if c := h[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_') {
			return "", false
		}
	}
	return h, true
}

// CheckHosts fails on an entry of a standing list that is no host, or that many owners share (co.uk, github.io).
func CheckHosts(list []string) error {
	for _, entry := range list {
		if entry == "*" {
			continue
		}
		h, ok := NormalizeHost(entry)
		if !ok {
			return fmt.Errorf("hosts: %.80q is no host name: write it as example.com, without scheme, port or path", entry)
		}
		if isSuffix(h) {
			return fmt.Errorf("hosts: everybody can have a site under %s: name the site itself", h)
		}
	}
	return nil
}

// isSuffix tells whether strangers register names directly below h. A single label that is no listed suffix is a
// name of the machine's own network.
func isSuffix(h string) bool {
	if isIP(h) {
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(h)
	return suffix == h && (icann || strings.Contains(h, "."))
}

// fileEndings are what a name in running text ends with when it is a file and no host.
var fileEndings = []string{"txt", "md", "json", "csv", "pdf", "png", "jpg", "jpeg", "zip", "js", "ts", "sh", "py"}

// HostsIn finds the hosts that a user's own words name, as addresses or bare domains, in order.
func HostsIn(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`,;<>()"'`+"`{}|", r) || r > 0x7f && !isWord(r)
	}) {
		word = strings.TrimRight(word, ".!?:")
		var h string
		isURL := false
		if a := parseAddress(word); strings.Contains(word, "://") {
			if a.scheme != "http" && a.scheme != "https" {
				continue
			}
			h, isURL = a.host, true
		} else {
			h = word
			if strings.Contains(h, "@") {
				continue // a mail address names a person
			}
			if i := strings.IndexAny(h, "/?#"); i >= 0 {
				h = h[:i]
			}
			h = withoutPort(h)
		}
		n, ok := NormalizeHost(h)
		if !ok || slices.Contains(out, n) {
			continue
		}
		if !isURL {
			dot := strings.LastIndexByte(n, '.')
			if dot <= 0 || slices.Contains(fileEndings, n[dot+1:]) || !letters(n[dot+1:]) {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

func isWord(r rune) bool { return r > 0x7f && r != 0x3001 && r != 0x3002 && r != 0xff0c }

// letters tells whether a label can be a top-level domain.
func letters(label string) bool {
	if strings.HasPrefix(label, "xn--") {
		return true
	}
	return len(label) >= 2 && strings.Trim(label, "abcdefghijklmnopqrstuvwxyz") == ""
}
