package platforms

import (
	"net/url"
	"strings"
)

func ownsJitsi(host string) bool {
	return host == "meet.jit.si" || within(host, "jitsi.net") || host == "8x8.vc"
}

// jitsiPages are paths of a Jitsi server that are not rooms.
var jitsiPages = map[string]bool{"static": true, "libs": true, "css": true, "images": true, "sounds": true, "http-bind": true, "xmpp-websocket": true, "config.js": true, "interface_config.js": true, "about": true}

// jitsiLink keeps room and token. What the fragment sets is the module's business.
func jitsiLink(u *url.URL) (Link, *LinkError) {
	path := strings.Trim(u.EscapedPath(), "/")
	parts := strings.Split(path, "/")
	if path == "" || len(parts) > 2 || jitsiPages[parts[0]] || parts[len(parts)-1] == "" {
		return Link{}, &LinkError{Kind: WrongURL, Platform: "jitsi", Text: "this is not the link of a Jitsi room: the room's name must follow the host"}
	}
	return Link{Platform: "jitsi", URL: u.Scheme + "://" + u.Host + "/" + path + query(u, "jwt"), Key: "jitsi:" + u.Host + "/" + strings.ToLower(path)}, nil
}
