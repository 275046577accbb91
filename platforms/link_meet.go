package platforms

import (
	"net/url"
	"regexp"
	"strings"
)

var (
	meetCode    = regexp.MustCompile(`^[a-z]{3}-[a-z]{4}-[a-z]{3}$`)
	meetVariant = map[string]string{
		"stream.meet.google.com": "a live stream", "workspace.google.com": "an event page", "calendar.google.com": "a calendar entry",
	}
)

func ownsMeet(host string) bool {
	_, variant := meetVariant[host]
	return variant || host == "meet.google.com" || host == "www.meet.google.com"
}

// meetLink keeps the code and drops the rest: account numbers and tracking parameters.
func meetLink(u *url.URL) (Link, *LinkError) {
	if what, ok := meetVariant[u.Hostname()]; ok {
		return Link{}, &LinkError{Kind: Unsupported, Platform: "meet", Text: "this is " + what + " of Google, not a meeting; open it and take the link of the meeting itself"}
	}
	parts := strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	switch {
	case len(parts) == 1 && meetCode.MatchString(strings.ToLower(parts[0])):
		code := strings.ToLower(parts[0])
		return Link{Platform: "meet", URL: "https://meet.google.com/" + code, Key: "meet:" + code}, nil
	case len(parts) == 2 && parts[0] == "lookup" && parts[1] != "":
		nick := strings.ToLower(parts[1])
		return Link{Platform: "meet", URL: "https://meet.google.com/lookup/" + url.PathEscape(nick), Key: "meet:lookup/" + nick}, nil
	case len(parts) == 1 && parts[0] == "new":
		return Link{}, &LinkError{Kind: WrongURL, Platform: "meet", Text: "this link makes a new meeting; start it first, then give the link of the meeting itself"}
	case len(parts) == 0:
		return Link{}, &LinkError{Kind: WrongURL, Platform: "meet", Text: "this is Google Meet's first page; a meeting's link ends in a code like abc-defg-hij"}
	}
	return Link{}, &LinkError{Kind: WrongURL, Platform: "meet", Text: "this is not the link of a Google Meet meeting: it must end in a code of three, four and three letters, like abc-defg-hij"}
}
