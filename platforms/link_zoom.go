package platforms

import (
	"net/url"
	"regexp"
	"strings"
)

var zoomID = regexp.MustCompile(`^[0-9]{9,11}$`)

func ownsZoom(host string) bool {
	return within(host, "zoom.us") || within(host, "zoom.com") || within(host, "zoomgov.com")
}

// zoomLink leads to the web client, past the page that wants to start a program. The government's cloud has a
// web client of its own. Parameters that open the door (pwd, tk) are kept, others dropped.
func zoomLink(u *url.URL) (Link, *LinkError) {
	host := u.Hostname()
	if within(host, "events.zoom.us") {
		if strings.HasPrefix(u.Path, "/ejl/") {
			return Link{Platform: "zoom", URL: "https://" + host + u.EscapedPath() + query(u, "tk"), Key: "zoom:" + host + strings.ToLower(u.Path)}, nil
		}
		return Link{}, &LinkError{Kind: Unsupported, Platform: "zoom", Text: "this is a page of Zoom Events, not a meeting; take the personal join link from the ticket"}
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	id := ""
	if len(parts) > 0 {
		parts[0] = strings.ToLower(parts[0]) // some programs write a whole address in capitals
	}
	if len(parts) > 1 && parts[1] == "register" {
		return Link{}, &LinkError{Kind: Unsupported, Platform: "zoom", Text: "this is the page to register for a meeting of Zoom, not the meeting; register, and give the link that comes with the confirmation"}
	}
	switch {
	case len(parts) >= 2 && (parts[0] == "j" || parts[0] == "w" || parts[0] == "s"):
		id = parts[1]
	case len(parts) >= 3 && parts[0] == "wc" && parts[1] == "join":
		id = parts[2]
	case len(parts) >= 2 && parts[0] == "wc":
		id = parts[1]
	case len(parts) == 2 && parts[0] == "my" && parts[1] != "":
		// A personal name: only the page itself knows its number.
		name := strings.ToLower(parts[1])
		return Link{Platform: "zoom", URL: "https://" + host + "/my/" + url.PathEscape(parts[1]) + query(u, "pwd"), Key: "zoom:my/" + name}, nil
	}
	if !zoomID.MatchString(id) {
		return Link{}, &LinkError{Kind: WrongURL, Platform: "zoom", Text: "this is not the link of a Zoom meeting: it must hold a number of 9 to 11 digits, as in zoom.us/j/81234567890"}
	}
	client := "app.zoom.us"
	if within(host, "zoomgov.com") {
		client = host
	}
	return Link{Platform: "zoom", URL: "https://" + client + "/wc/" + id + "/join" + query(u, "pwd", "tk"), Key: "zoom:" + id}, nil
}

// query keeps the named parameters.
func query(u *url.URL, names ...string) string {
	kept := url.Values{}
	for _, n := range names {
		if v := u.Query().Get(n); v != "" {
			kept.Set(n, v)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode()
}
