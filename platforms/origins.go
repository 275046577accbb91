package platforms

import (
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Origins are the hosts that belong to platforms beside their makers' own. The zero value knows rooms on this machine
// and the makers' hosts.
type Origins struct {
	Rooms   OriginList
	LiveKit OriginList
	Jitsi   OriginList
	// Standins make a loopback origin a platform's, for development.
	Standins map[string]string // origin → platform
}

// OriginList holds origins: "https://meet.example.org", "https://*.example.org" (what is below it), "http://10.0.0.5:7370".
type OriginList []string

// ParseOriginList reads origins divided by commas, semicolons or blanks.
func ParseOriginList(s string) (OriginList, error) {
	var list OriginList
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' }) {
		o, err := parseOrigin(f)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// parseOrigin reads one origin and gives it in the form that addresses are compared in.
func parseOrigin(s string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q is not an origin: want http(s)://host or http(s)://host:port", s)
	}
	if strings.Contains(strings.TrimPrefix(u.Hostname(), "*."), "*") {
		return "", fmt.Errorf("%q: a star may only stand for what is before the first dot (https://*.example.org)", s)
	}
	return canonical(u), nil
}

// canonical is scheme, host and port in lower case, the port only where it is not the scheme's own.
func canonical(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		port = ""
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}

func (l OriginList) has(u *url.URL) bool {
	mine := canonical(u)
	for _, o := range l {
		if o == mine {
			return true
		}
		if scheme, rest, ok := strings.Cut(o, "://*."); ok {
			// "https://*.example.org" holds what is below example.org, on the same port.
			if below, found := strings.CutSuffix(mine, "."+rest); found && strings.HasPrefix(below, scheme+"://") && below != scheme+"://" {
				return true
			}
		}
	}
	return false
}

// ParseStandins reads development origins: "meet=http://127.0.0.1:9001;zoom=http://127.0.0.1:9002". Only loopback
// origins are taken: elsewhere this would hand a platform's links to strangers.
func ParseStandins(s string) (map[string]string, error) {
	standins := map[string]string{}
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' }) {
		if strings.TrimSpace(f) == "" {
			continue
		}
		name, address, ok := strings.Cut(f, "=")
		name = strings.TrimSpace(name)
		if !ok || parsers[name] == nil {
			return nil, fmt.Errorf("%q: want platform=http://127.0.0.1:port with one of %s", strings.TrimSpace(f), strings.Join(names(), ", "))
		}
		o, err := parseOrigin(address)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(o)
		if err != nil || !loopback(u) {
			return nil, fmt.Errorf("%s: development origins must be on a loopback address, %q is not", name, o)
		}
		if other := standins[o]; other != "" && other != name {
			return nil, fmt.Errorf("%s is given to both %s and %s", o, other, name)
		}
		standins[o] = name
	}
	return standins, nil
}

func names() (all []string) {
	for n := range parsers {
		all = append(all, n)
	}
	sort.Strings(all)
	return all
}

func (o Origins) standin(u *url.URL) string { return o.Standins[canonical(u)] }
