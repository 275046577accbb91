package platforms

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// Link is a way into a meeting, as its platform wants it.
type Link struct {
	Platform string
	// URL is what to open. It may carry a secret (a passcode token): it does not belong into logs.
	URL string
	// Key names the meeting, the same for every form of its link, without secrets.
	Key string
	// Origin is the scheme, host and port of URL: who gets the permissions.
	Origin string
	// Passcode is one that stood beside the link in an invitation, to be typed where a page asks for it.
	Passcode string
	// Loopback says that the meeting is on this machine, so that WebRTC needs its loopback addresses.
	Loopback bool
	// Plain says that the page comes over http from elsewhere: the browser gives it a microphone only if told to.
	Plain bool
	// Standin says that a development origin made it this platform's.
	Standin bool
}

// String names the meeting without its secrets.
func (l Link) String() string { return l.Key }

// LogValue keeps URL and passcode out of logs.
func (l Link) LogValue() slog.Value {
	return slog.GroupValue(slog.String("platform", l.Platform), slog.Bool("loopback", l.Loopback), slog.Bool("standin", l.Standin))
}

// LinkKind says what is wrong with a link.
type LinkKind string

// The kinds.
const (
	NoLink      LinkKind = "no-link"     // no address of a meeting in the text
	WrongURL    LinkKind = "wrong-url"   // the platform's host, but not a meeting
	Unsupported LinkKind = "unsupported" // an address that no platform claims, or a kind of event we cannot attend
	LookAlike   LinkKind = "look-alike"  // made to look like a platform's address
	NoModule    LinkKind = "no-module"   // a platform that this build does not have
)

// LinkError says why a text does not lead into a meeting. Its text quotes hosts at most, never paths or queries.
type LinkError struct {
	Kind     LinkKind
	Platform string // "" when it is nobody's
	Text     string // a sentence: what is wrong and what to do
}

func (e *LinkError) Error() string { return e.Text }

// maxText bounds what is looked through: an invitation is a page of text at most.
const maxText = 16 << 10

// Parse finds the meeting that a text leads to: an address, one in wrappers of mail and calendar programs, a Meet code,
// or a whole invitation with its passcode. It opens nothing.
func (o Origins) Parse(text string) (Link, error) {
	if len(text) > maxText {
		return Link{}, &LinkError{Kind: NoLink, Text: "the text is too long to look for a meeting link in; give the link alone"}
	}
	text = clean(text)
	var first *LinkError
	for _, candidate := range candidates(text) {
		link, err := o.parse(candidate)
		if err == nil {
			if link.Passcode == "" && usesPasscodes[link.Platform] {
				link.Passcode = passcode(text)
			}
			return link, nil
		}
		// The most telling error is the one about a platform's own host.
		if first == nil || (first.Platform == "" && err.Platform != "") {
			first = err
		}
	}
	if first == nil {
		first = &LinkError{Kind: NoLink, Text: "there is no meeting link in this text; give the address that the invitation shows"}
	}
	return Link{}, first
}

var usesPasscodes = map[string]bool{"zoom": true, "teams": true, "jitsi": true}

// parse judges one address.
func (o Origins) parse(address string) (Link, *LinkError) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Link{}, &LinkError{Kind: NoLink, Text: "this is not an http or https address"}
	}
	for range 3 {
		inner := unwrap(u)
		if inner == nil {
			break
		}
		u = inner
	}
	u.Host = strings.Replace(strings.TrimSuffix(strings.ToLower(u.Host), "."), ".:", ":", 1)
	if u.User != nil {
		return Link{}, &LinkError{Kind: LookAlike, Text: "the address carries a user name before its host, which hides where it leads; it was not opened"}
	}
	if platform := o.standin(u); platform != "" {
		link, err := parsers[platform](u)
		if err != nil {
			return Link{}, err
		}
		return link.at(u).finish(true), nil
	}
	if o.LiveKit.has(u) {
		return livekitLink(u).finish(false), nil
	}
	if o.Jitsi.has(u) {
		link, err := jitsiLink(u)
		if err != nil {
			return Link{}, err
		}
		return link.finish(false), nil
	}
	if loopback(u) || o.Rooms.has(u) {
		if id := roomID(u); id != "" {
			return roomLink(u, id).finish(false), nil
		}
		if roomWanted(u) {
			return Link{}, noRoom(u)
		}
	}
	for _, p := range []struct {
		name string
		owns func(host string) bool
	}{{"meet", ownsMeet}, {"zoom", ownsZoom}, {"teams", ownsTeams}, {"jitsi", ownsJitsi}} {
		if !p.owns(u.Hostname()) {
			continue
		}
		if port := u.Port(); port != "" && port != "443" && port != "80" {
			return Link{}, &LinkError{Kind: WrongURL, Platform: p.name, Text: Title(p.name) + " has no meetings on port " + port + "; check the link"}
		}
		link, err := parsers[p.name](u)
		if err != nil {
			return Link{}, err
		}
		return link.finish(false), nil
	}
	if name := resembles(u.Hostname()); name != "" {
		return Link{}, &LinkError{Kind: LookAlike, Platform: "", Text: "the host only looks like one of " + Title(name) + "; it was not opened"}
	}
	if roomID(u) != "" {
		return Link{}, &LinkError{Kind: Unsupported, Platform: "room", Text: "rooms on other machines must be allowed first; add " + origin(u) + " to PARLEY_ROOM_ORIGINS"}
	}
	return Link{}, &LinkError{Kind: Unsupported, Text: "no platform that Parley knows has meetings at " + clip(u.Host, 100)}
}

// parsers read an address whose host is known to be the platform's, or a stand-in's.
var parsers = map[string]func(*url.URL) (Link, *LinkError){
	"meet": meetLink, "zoom": zoomLink, "teams": teamsLink, "jitsi": jitsiLink,
	"room": func(u *url.URL) (Link, *LinkError) {
		id := roomID(u)
		if id == "" {
			return Link{}, noRoom(u)
		}
		return roomLink(u, id), nil
	},
	"livekit": func(u *url.URL) (Link, *LinkError) { return livekitLink(u), nil },
}

// at puts a link that was made for the platform's own host onto a stand-in's.
func (l Link) at(standin *url.URL) Link {
	u, err := url.Parse(l.URL)
	if err != nil {
		return l
	}
	u.Scheme, u.Host = standin.Scheme, standin.Host
	l.URL = u.String()
	l.Key += "@" + standin.Host
	return l
}

// finish fills in what follows from the URL.
func (l Link) finish(standin bool) Link {
	u, err := url.Parse(l.URL)
	if err != nil {
		return l
	}
	l.Origin, l.Loopback, l.Standin = origin(u), loopback(u), standin
	l.Plain = u.Scheme == "http" && !l.Loopback
	return l
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// loopback says whether a host is this machine by its name or number alone: nothing is looked up.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// within says whether a host is a domain or below it.
func within(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// clean takes out what mail programs put into texts: invisible characters, HTML's ampersands.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == 0x200b || r == 0x200c || r == 0x200d || r == 0x2060 || r == 0xfeff || r == 0xad:
			return -1
		case r == 0xa0:
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(strings.ReplaceAll(text, "&amp;", "&"))
}

var (
	addressWithScheme = regexp.MustCompile(`(?i)\bhttps?://[^\s<>"'` + "`" + `]+`)
	addressWithout    = regexp.MustCompile(`(?i)(?:^|[\s<("])((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(?::\d{1,5})?/[^\s<>"'` + "`" + `]+|(?:localhost|127\.0\.0\.1)(?::\d{1,5})?/[^\s<>"'` + "`" + `]+)`)
	meetCodeAlone     = regexp.MustCompile(`(?i)(?:^|[\s<("])([a-z]{3}-[a-z]{4}-[a-z]{3})(?:$|[\s>),."])`)
)

// maxCandidates bounds the addresses that are judged: a footer of links comes after the one that counts.
const maxCandidates = 32

// candidates are the addresses in a text, those that say they are addresses first.
func candidates(text string) (found []string) {
	for _, m := range addressWithScheme.FindAllString(text, maxCandidates) {
		found = append(found, trimAddress(m))
	}
	for _, m := range addressWithout.FindAllStringSubmatch(text, maxCandidates) {
		host, _, _ := strings.Cut(m[1], "/")
		scheme := "https://"
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host == "localhost" || host == "127.0.0.1" {
			scheme = "http://"
		}
		found = append(found, scheme+trimAddress(m[1]))
	}
	if len(found) == 0 {
		if m := meetCodeAlone.FindStringSubmatch(text); m != nil {
			found = append(found, "https://meet.google.com/"+strings.ToLower(m[1]))
		}
	}
	return found
}

// trimAddress takes off the punctuation of the sentence around an address.
func trimAddress(s string) string {
	for {
		t := strings.TrimRight(s, ".,;:!?*_…»”’'\"")
		for _, pair := range []string{"()", "[]", "{}"} {
			if strings.HasSuffix(t, pair[1:]) && strings.Count(t, pair[:1]) < strings.Count(t, pair[1:]) {
				t = t[:len(t)-1]
			}
		}
		if t == s {
			return s
		}
		s = t
	}
}

// unwrap takes the address out of a mail's or calendar's redirect; nil when it is none.
func unwrap(u *url.URL) *url.URL {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	var inner string
	switch {
	case (host == "www.google.com" || host == "google.com") && u.Path == "/url":
		if inner = u.Query().Get("q"); inner == "" {
			inner = u.Query().Get("url")
		}
	case within(host, "safelinks.protection.outlook.com"), within(host, "safelinks.protection.office365.us"):
		inner = u.Query().Get("url")
	}
	if inner == "" {
		return nil
	}
	v, err := url.Parse(inner)
	if err != nil || v.Host == "" || (v.Scheme != "http" && v.Scheme != "https") {
		return nil
	}
	return v
}

// The word for a passcode in invitations, by language. A line that is wrong costs nothing: the passcode is typed only
// where a page asks for one.
var passcodeLine = regexp.MustCompile(`(?i)(?:passcode|password|kenncode|kennwort|passwort|code secret|mot de passe|código de acceso|contraseña|codice d['’]accesso|codice di accesso|toegangscode|wachtwoord|senha|kod dostępu|hasło|код доступу|код доступа|пароль)\s*[:：=]\s*([^\s()\[\]<>,;"']{1,64})`)

// passcode finds the one that stands beside a link.
func passcode(text string) string {
	m := passcodeLine.FindStringSubmatch(text)
	if m == nil || strings.Contains(m[1], "://") {
		return ""
	}
	return strings.TrimRight(m[1], ".")
}

// brands are the hosts that others imitate.
var brands = []struct{ host, platform string }{
	{"meet.google.com", "meet"}, {"meet.google", "meet"}, {"zoom.us", "zoom"}, {"zoom.com", "zoom"}, {"zoomgov", "zoom"},
	{"teams.microsoft", "teams"}, {"teams.live", "teams"}, {"microsoftteams", "teams"}, {"meet.jit.si", "jitsi"}, {"8x8.vc", "jitsi"},
}

// resembles names the platform whose host a host imitates: its name inside another, with dashes for dots, or with
// letters of other alphabets that look the same.
func resembles(host string) string {
	plain := strings.ReplaceAll(skeleton(host), "-", ".")
	for _, b := range brands {
		if strings.Contains(plain, b.host) {
			return b.platform
		}
	}
	return ""
}

// twins are letters that look like Latin ones.
var twins = map[rune]rune{
	'а': 'a', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ѕ': 's', 'і': 'i', 'ј': 'j', 'ӏ': 'l', 'о': 'o', 'р': 'p', 'ѵ': 'v', 'х': 'x', 'у': 'y', 'ո': 'n',
	'ο': 'o', 'α': 'a', 'ν': 'v', 'τ': 't', 'ι': 'i', 'ɡ': 'g', 'ｍ': 'm', 'ᴍ': 'm', 'м': 'm', 'т': 't', '0': 'o', '1': 'l',
}

func skeleton(host string) string {
	if readable, err := idna.Punycode.ToUnicode(host); err == nil {
		host = readable
	}
	return strings.Map(func(r rune) rune {
		if t, ok := twins[r]; ok {
			return t
		}
		return r
	}, host)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
