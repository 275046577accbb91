package platforms

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

var (
	teamsThread = regexp.MustCompile(`^19:[A-Za-z0-9_.\-]{1,300}@thread\.(v2|tacv2|skype)$`)
	teamsNumber = regexp.MustCompile(`^[0-9]{6,20}$`)
)

func ownsTeams(host string) bool {
	return within(host, "teams.microsoft.com") || within(host, "teams.live.com") || within(host, "teams.microsoft.us") || within(host, "teams.cloud.microsoft")
}

// teamsLink finds the meeting in the classic, the short, the launcher's, the web client's and the light form.
func teamsLink(u *url.URL) (Link, *LinkError) {
	return teamsAt(u, 0)
}

func teamsAt(u *url.URL, depth int) (Link, *LinkError) {
	host := u.Hostname()
	wrong := &LinkError{Kind: WrongURL, Platform: "teams", Text: "this is not the link of a Microsoft Teams meeting: take the one under \"Join the meeting\" in the invitation"}
	if depth > 2 {
		return Link{}, wrong
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	switch {
	case at(0) == "l" && at(1) == "meetup-join":
		thread := at(2)
		if unescaped, err := url.PathUnescape(thread); err == nil { // some programs escape twice
			thread = unescaped
		}
		if !teamsThread.MatchString(thread) {
			return Link{}, wrong
		}
		message := at(3)
		if message == "" {
			message = "0"
		}
		return Link{Platform: "teams", URL: "https://" + host + "/l/meetup-join/" + url.QueryEscape(thread) + "/" + url.PathEscape(message) + query(u, "context"),
			Key: "teams:" + thread}, nil
	case at(0) == "meet" && teamsNumber.MatchString(at(1)):
		return Link{Platform: "teams", URL: "https://" + host + "/meet/" + at(1) + query(u, "p"), Key: "teams:" + at(1)}, nil
	case at(0) == "dl" && at(1) == "launcher":
		if inner, err := u.Parse(strings.TrimPrefix(u.Query().Get("url"), "/_#")); err == nil && inner.Hostname() == host {
			return teamsAt(inner, depth+1)
		}
		return Link{}, wrong
	case (at(0) == "v2" || at(0) == "_") && u.Fragment != "":
		if inner, err := u.Parse(u.Fragment); err == nil && inner.Hostname() == host {
			return teamsAt(inner, depth+1)
		}
		return Link{}, wrong
	case at(0) == "light-meetings" && at(1) == "launch":
		key := teamsCoordinates(u.Query().Get("coords"))
		if key == "" {
			return Link{}, wrong
		}
		return Link{Platform: "teams", URL: "https://" + host + "/light-meetings/launch" + query(u, "coords"), Key: "teams:" + key}, nil
	case at(0) == "event" || at(0) == "l" && (at(1) == "event" || at(1) == "broadcast"):
		return Link{}, &LinkError{Kind: Unsupported, Platform: "teams", Text: "this is a town hall or webinar of Microsoft Teams, which cannot be attended; ask for a link to an ordinary meeting"}
	}
	return Link{}, wrong
}

// teamsCoordinates names the meeting that the light form holds in base64.
func teamsCoordinates(coords string) string {
	raw, err := base64.StdEncoding.DecodeString(coords)
	if err != nil {
		if raw, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(coords, "=")); err != nil {
			return ""
		}
	}
	var c struct {
		ConversationID string `json:"conversationId"`
		MeetingCode    string `json:"meetingCode"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	switch {
	case teamsThread.MatchString(c.ConversationID):
		return c.ConversationID
	case teamsNumber.MatchString(c.MeetingCode):
		return c.MeetingCode
	}
	return ""
}
