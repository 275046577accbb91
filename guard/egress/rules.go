package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"parley/tenant"
)

// Rule is one entry of a list of hosts.
type Rule struct {
	any  bool   // "*"
	sub  bool   // "*.host": what is below host, and not host itself
	host string // lower case, ASCII, without the root's dot; an address as netip writes it
	port int    // 0: the web's own, 80 and 443
}

// Rules are where a tenant's browsers may connect to. The zero value is nowhere.
type Rules []Rule

// webPorts are what an entry without a port opens: any port would be a tunnel to every service of a host.
var webPorts = [...]int{80, 443}

// ParseRules reads "example.org, *.example.org, 127.0.0.1:4848, *": host, *.host (what is below it), host:port, *.
// An entry without a port stands for 80 and 443.
func ParseRules(list string) (Rules, error) {
	var out Rules
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' }) {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		r, err := parseRule(entry)
		if err != nil {
			return nil, fmt.Errorf("%.100q: %w", entry, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRule(entry string) (Rule, error) {
	if entry == "*" {
		return Rule{any: true}, nil
	}
	var r Rule
	host := entry
	if h, port, err := net.SplitHostPort(entry); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 || port[0] == '+' {
			return Rule{}, errors.New("its port is no number from 1 to 65535")
		}
		host, r.port = h, n
		if a, err := netip.ParseAddr(h); err == nil && a.Is6() {
			host = "[" + h + "]"
		}
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		host, r.sub = rest, true
	}
	h, err := Host(host)
	if err != nil {
		return Rule{}, err
	}
	if _, err := netip.ParseAddr(h); err == nil && r.sub {
		return Rule{}, errors.New("nothing is below an address")
	}
	r.host = h
	return r, nil
}

// ParseTenants reads "ops=*.example.org,example.org; swarm=example.org": tenants are separated by ';' or new lines. A
// tenant that is named and has no hosts is an error: nothing at all is never what was meant.
func ParseTenants(s string) (map[tenant.ID]Rules, error) {
	out := map[tenant.ID]Rules{}
	for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' }) {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, list, ok := strings.Cut(entry, "=")
		id := tenant.ID(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("%.60q: want tenant=host,host", entry)
		}
		if err := id.Check(); err != nil {
			return nil, err
		}
		rules, err := ParseRules(list)
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", id, err)
		}
		if len(rules) == 0 {
			return nil, fmt.Errorf("tenant %s has no hosts; leave it out to let it go anywhere", id)
		}
		out[id] = append(out[id], rules...)
	}
	return out, nil
}

// Host writes a host as rules compare it, and refuses what is none: user data, a zone, a percent sign, an empty label.
// Addresses come without brackets; a mapped one stays apart from what it maps to.
func Host(s string) (string, error) {
	bad := errors.New("it is no host name or address")
	if rest, ok := strings.CutPrefix(s, "["); ok {
		inner, ok := strings.CutSuffix(rest, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", bad
		}
		return a.String(), nil
	}
	h := strings.TrimSuffix(strings.ToLower(s), ".")
	if a, err := netip.ParseAddr(h); err == nil && a.Is4() {
		return a.String(), nil
	}
	for _, c := range []byte(h) {
		if c >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(h)
			if err != nil {
				return "", bad
			}
			h = ascii
			break
		}
	}
	if h == "" || len(h) > 253 {
		return "", bad
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", bad
		}
	}
	// A browser reads "127.1", "2130706433" and "0x7f.1" as addresses. One that comes here as it was written is refused:
	// whoever means an address writes it in full.
	last := h[strings.LastIndexByte(h, '.')+1:]
	if isNumber(last) {
		return "", errors.New("it is an address in another spelling")
	}
	return h, nil
}

// isNumber tells whether a browser takes a last label as a number, which makes the whole an IPv4 address.
func isNumber(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// Allows tells whether a connection may be made. Host is one that Host accepted.
func (r Rules) Allows(host string, port int) bool {
	for _, rule := range r {
		if rule.hasPort(port) && rule.hasHost(host) {
			return true
		}
	}
	return false
}

// Names tells whether an entry names this very address: only then may it be one of a private network.
func (r Rules) Names(a netip.Addr, port int) bool {
	for _, rule := range r {
		if !rule.any && !rule.sub && rule.hasPort(port) && (rule.host == a.String() || rule.host == a.Unmap().String()) {
			return true
		}
	}
	return false
}

func (r Rule) hasPort(port int) bool {
	return r.port > 0 && r.port == port || r.port == 0 && (port == webPorts[0] || port == webPorts[1])
}

func (r Rule) hasHost(host string) bool {
	switch {
	case r.any:
		return true
	case r.sub:
		return strings.HasSuffix(host, "."+r.host)
	}
	return host == r.host
}

func (r Rule) String() string {
	s := r.host
	switch {
	case r.any:
		s = "*"
	case r.sub:
		s = "*." + s
	case strings.Contains(s, ":"):
		s = "[" + s + "]"
	}
	if r.port > 0 {
		s += ":" + strconv.Itoa(r.port)
	}
	return s
}

// String writes the list as ParseRules reads it.
func (r Rules) String() string {
	words := make([]string, len(r))
	for i := range r {
		words[i] = r[i].String()
	}
	return strings.Join(words, ", ")
}
