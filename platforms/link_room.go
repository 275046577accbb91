package platforms

import (
	"net/url"
	"regexp"
	"strings"
)

var roomPath = regexp.MustCompile(`^/room/([A-Za-z0-9_-]{1,64})/?$`)

// roomID is the id in the path of a built-in room's link; "" when it is none.
func roomID(u *url.URL) string {
	if m := roomPath.FindStringSubmatch(u.Path); m != nil {
		return m[1]
	}
	return ""
}

// roomWanted says of a path that it should have led to a room.
func roomWanted(u *url.URL) bool { return u.Path == "/room" || strings.HasPrefix(u.Path, "/room/") }

// noRoom is the refusal of a link to no room in particular.
func noRoom(u *url.URL) *LinkError {
	return &LinkError{Kind: WrongURL, Platform: "room", Text: "this is not the link of a room: it must end in /room/ and the room's name, like " + origin(u) + "/room/standup"}
}

// roomLink keeps the host's key, which stands in the fragment; it is a secret and not part of the name.
func roomLink(u *url.URL, id string) Link {
	address := u.Scheme + "://" + u.Host + "/room/" + id
	if strings.HasPrefix(u.Fragment, "host=") {
		address += "#" + u.EscapedFragment()
	}
	return Link{Platform: "room", URL: address, Key: "room:" + oneName(u) + "/" + id}
}

// livekitLink takes the page of a LiveKit host as it is: deployments differ in everything but the host.
func livekitLink(u *url.URL) Link {
	return Link{Platform: "livekit", URL: u.String(), Key: "livekit:" + oneName(u) + u.EscapedPath()}
}

// oneName is the host and port in a meeting's name: this machine's own three names are one.
func oneName(u *url.URL) string {
	switch u.Hostname() {
	case "127.0.0.1", "::1":
		if port := u.Port(); port != "" {
			return "localhost:" + port
		}
		return "localhost"
	}
	return u.Host
}
