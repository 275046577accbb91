package platforms

import (
	"bytes"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func origins(t testing.TB) Origins {
	t.Helper()
	list := func(s string) OriginList {
		l, err := ParseOriginList(s)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	standins, err := ParseStandins("meet=http://127.0.0.1:9001; zoom=http://localhost:9002,teams=http://127.0.0.1:9003")
	if err != nil {
		t.Fatal(err)
	}
	return Origins{Rooms: list("https://rooms.example.org http://10.0.0.5:7370"), LiveKit: list("http://127.0.0.1:7880"), Jitsi: list("https://*.talk.example"), Standins: standins}
}

var coords = base64.StdEncoding.EncodeToString([]byte(`{"conversationId":"19:meeting_AbC@thread.v2","tenantId":"t"}`))

func TestLinks(t *testing.T) {
	for _, c := range []struct{ in, url, key string }{
		// Meet
		{"https://meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{"http://www.meet.google.com/ABC-defg-hij?authuser=1&pli=1&hs=122#x", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{"meet.google.com/abc-defg-hij", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{" abc-defg-hij ", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{"https://meet.google.com/lookup/Team-Sync", "https://meet.google.com/lookup/team-sync", "meet:lookup/team-sync"},
		{"https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij%3Fauthuser%3D0&sa=D", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{"Join (<https://meet.google.com/abc-defg-hij>).", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		{"https://meet.google.com./abc-defg-hij", "https://meet.google.com/abc-defg-hij", "meet:abc-defg-hij"},
		// Zoom
		{"https://us02web.zoom.us/j/81234567890?pwd=aB.1-_&from=addon", "https://app.zoom.us/wc/81234567890/join?pwd=aB.1-_", "zoom:81234567890"},
		{"https://zoom.us/j/123456789", "https://app.zoom.us/wc/123456789/join", "zoom:123456789"},
		{"zoom.com/j/123456789", "https://app.zoom.us/wc/123456789/join", "zoom:123456789"},
		{"https://acme.zoom.us/w/98765432101?tk=T0k&pwd=p", "https://app.zoom.us/wc/98765432101/join?pwd=p&tk=T0k", "zoom:98765432101"},
		{"https://zoom.us/s/123456789?zak=secret", "https://app.zoom.us/wc/123456789/join", "zoom:123456789"},
		{"https://zoom.us/wc/123456789/join?pwd=p", "https://app.zoom.us/wc/123456789/join?pwd=p", "zoom:123456789"},
		{"https://app.zoom.us/wc/123456789/start", "https://app.zoom.us/wc/123456789/join", "zoom:123456789"},
		{"https://zoom.us/wc/join/123456789?pwd=p", "https://app.zoom.us/wc/123456789/join?pwd=p", "zoom:123456789"},
		{"https://acme.zoom.us/my/Ada.L?pwd=p", "https://acme.zoom.us/my/Ada.L?pwd=p", "zoom:my/ada.l"},
		{"https://events.zoom.us/ejl/AbC?tk=x", "https://events.zoom.us/ejl/AbC?tk=x", "zoom:events.zoom.us/ejl/abc"},
		{"https://agency.zoomgov.com/j/1612345678?pwd=p", "https://agency.zoomgov.com/wc/1612345678/join?pwd=p", "zoom:1612345678"},
		{"https://nam02.safelinks.protection.outlook.com/?url=https%3A%2F%2Fzoom.us%2Fj%2F123456789%3Fpwd%3Dp&data=x", "https://app.zoom.us/wc/123456789/join?pwd=p", "zoom:123456789"},
		{"https://zoom.us/j/123456789?pwd=p&amp;uname=x", "https://app.zoom.us/wc/123456789/join?pwd=p", "zoom:123456789"},
		// Teams
		{"https://teams.microsoft.com/l/meetup-join/19%3ameeting_AbC%40thread.v2/0?context=%7b%22Tid%22%3a%22t%22%7d&anon=true",
			"https://teams.microsoft.com/l/meetup-join/19%3Ameeting_AbC%40thread.v2/0?context=%7B%22Tid%22%3A%22t%22%7D", "teams:19:meeting_AbC@thread.v2"},
		{"https://teams.microsoft.com/l/meetup-join/19%3aabc%40thread.tacv2/1617", "https://teams.microsoft.com/l/meetup-join/19%3Aabc%40thread.tacv2/1617", "teams:19:abc@thread.tacv2"},
		{"https://teams.microsoft.com/meet/2345678901?p=AbC", "https://teams.microsoft.com/meet/2345678901?p=AbC", "teams:2345678901"},
		{"teams.live.com/meet/9345678901", "https://teams.live.com/meet/9345678901", "teams:9345678901"},
		{"https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fl%2Fmeetup-join%2F19%3Ameeting_AbC%40thread.v2%2F0%3Fcontext%3D%257b%257d&type=meetup-join",
			"https://teams.microsoft.com/l/meetup-join/19%3Ameeting_AbC%40thread.v2/0?context=%7B%7D", "teams:19:meeting_AbC@thread.v2"},
		{"https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/19:meeting_AbC@thread.v2/0", "https://teams.microsoft.com/l/meetup-join/19%3Ameeting_AbC%40thread.v2/0", "teams:19:meeting_AbC@thread.v2"},
		{"https://teams.microsoft.com/v2/?meetingjoin=true#/meet/2345678901?p=x", "https://teams.microsoft.com/meet/2345678901?p=x", "teams:2345678901"},
		{"https://teams.microsoft.com/light-meetings/launch?coords=" + url.QueryEscape(coords) + "&x=1", "https://teams.microsoft.com/light-meetings/launch?coords=" + url.QueryEscape(coords), "teams:19:meeting_AbC@thread.v2"},
		{"https://dod.teams.microsoft.us/meet/2345678901", "https://dod.teams.microsoft.us/meet/2345678901", "teams:2345678901"},
		{"https://teams.cloud.microsoft/meet/2345678901", "https://teams.cloud.microsoft/meet/2345678901", "teams:2345678901"},
		{"HTTPS://US02WEB.ZOOM.US/J/81234567890?pwd=aBc", "https://app.zoom.us/wc/81234567890/join?pwd=aBc", "zoom:81234567890"},
		{"https://zoom.us.:443/j/81234567890", "https://app.zoom.us/wc/81234567890/join", "zoom:81234567890"},
		// Jitsi
		{"https://meet.jit.si/Daily#config.x=1", "https://meet.jit.si/Daily", "jitsi:meet.jit.si/daily"},
		{"https://8x8.vc/tenant/Room?jwt=abc&x=1", "https://8x8.vc/tenant/Room?jwt=abc", "jitsi:8x8.vc/tenant/room"},
		{"https://eu.talk.example/Room", "https://eu.talk.example/Room", "jitsi:eu.talk.example/room"},
		// Rooms
		{"http://127.0.0.1:7370/room/abcd-efgh-ijkl", "http://127.0.0.1:7370/room/abcd-efgh-ijkl", "room:localhost:7370/abcd-efgh-ijkl"},
		{"127.0.0.1:7370/room/x?lang=de", "http://127.0.0.1:7370/room/x", "room:localhost:7370/x"},
		{"http://[::1]:7370/room/x", "http://[::1]:7370/room/x", "room:localhost:7370/x"},
		{"http://localhost:7370/room/x/", "http://localhost:7370/room/x", "room:localhost:7370/x"},
		{"http://localhost:7370/room/x#host=KEY", "http://localhost:7370/room/x#host=KEY", "room:localhost:7370/x"},
		{"https://rooms.example.org/room/x", "https://rooms.example.org/room/x", "room:rooms.example.org/x"},
		{"http://10.0.0.5:7370/room/x", "http://10.0.0.5:7370/room/x", "room:10.0.0.5:7370/x"},
		// LiveKit
		{"http://127.0.0.1:7880/rooms/demo?token=t", "http://127.0.0.1:7880/rooms/demo?token=t", "livekit:localhost:7880/rooms/demo"},
		// Stand-ins keep their origin when they are rewritten.
		{"http://127.0.0.1:9001/abc-defg-hij?authuser=1", "http://127.0.0.1:9001/abc-defg-hij", "meet:abc-defg-hij@127.0.0.1:9001"},
		{"http://localhost:9002/j/123456789?pwd=p", "http://localhost:9002/wc/123456789/join?pwd=p", "zoom:123456789@localhost:9002"},
		{"http://127.0.0.1:9003/meet/2345678901?p=x", "http://127.0.0.1:9003/meet/2345678901?p=x", "teams:2345678901@127.0.0.1:9003"},
	} {
		l, err := origins(t).Parse(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		platform, _, _ := strings.Cut(c.key, ":")
		if l.URL != c.url || l.Key != c.key || l.Platform != platform {
			t.Errorf("%s:\n got %s %s %s\nwant %s %s", c.in, l.Platform, l.URL, l.Key, c.url, c.key)
		}
		if u, err := url.Parse(l.URL); err != nil || l.Origin != u.Scheme+"://"+u.Host {
			t.Errorf("%s: origin %q", c.in, l.Origin)
		}
	}
}

func TestWhatALinkSaysOfItsHost(t *testing.T) {
	for _, c := range []struct {
		in                       string
		loopback, plain, standin bool
	}{
		{"http://127.0.0.1:7370/room/x", true, false, false},
		{"http://127.9.9.9:7370/room/x", true, false, false},
		{"http://10.0.0.5:7370/room/x", false, true, false},
		{"https://rooms.example.org/room/x", false, false, false},
		{"http://127.0.0.1:9001/abc-defg-hij", true, false, true},
		{"https://meet.google.com/abc-defg-hij", false, false, false},
	} {
		l, err := origins(t).Parse(c.in)
		if err != nil || l.Loopback != c.loopback || l.Plain != c.plain || l.Standin != c.standin {
			t.Errorf("%s: %+v %v", c.in, l, err)
		}
	}
}

func TestInvitations(t *testing.T) {
	for _, c := range []struct{ name, in, key, passcode string }{
		{"zoom", "Ada invites you to a Zoom meeting.\n\nJoin Zoom Meeting\nhttps://us02web.zoom.us/j/81234567890?pwd=abc\n\nMeeting ID: 812 3456 7890\nPasscode: 584706\n\nFind your local number: https://us02web.zoom.us/u/abc", "zoom:81234567890", "584706"},
		{"zoom in brackets", "https://zoom.us/j/81234567890 (Passcode: 584706)", "zoom:81234567890", "584706"},
		{"zoom in German", "Meeting beitreten: https://zoom.us/j/81234567890\nKenncode: x7Q!a", "zoom:81234567890", "x7Q!a"},
		{"zoom in Ukrainian", "https://zoom.us/j/81234567890\nКод доступу: 123456", "zoom:81234567890", "123456"},
		{"teams", "Microsoft Teams Need help?<https://aka.ms/JoinTeamsMeeting?omkt=en-US>\nJoin the meeting now<https://teams.microsoft.com/l/meetup-join/19%3ameeting_AbC%40thread.v2/0?context=%7b%7d>\nMeeting ID: 234 567 890 12\nPasscode: aB3dEf", "teams:19:meeting_AbC@thread.v2", "aB3dEf"},
		{"meet has none", "Video call link: https://meet.google.com/abc-defg-hij\nPassword: for the wifi", "meet:abc-defg-hij", ""},
		{"an address is no passcode", "https://zoom.us/j/81234567890\npassword: https://vault.example/x", "zoom:81234567890", ""},
		{"no passcode", "https://zoom.us/j/81234567890", "zoom:81234567890", ""},
		{"code in a sentence", "see you at abc-defg-hij, Tuesday", "meet:abc-defg-hij", ""},
		{"invisible characters", "https://meet.google.com/abc-\u200bdefg-hij", "meet:abc-defg-hij", ""},
	} {
		l, err := origins(t).Parse(c.in)
		if err != nil || l.Key != c.key || l.Passcode != c.passcode {
			t.Errorf("%s: %s, passcode %q, %v", c.name, l.Key, l.Passcode, err)
		}
	}
}

func TestWhatIsNoLink(t *testing.T) {
	for _, c := range []struct {
		in       string
		kind     LinkKind
		platform string
	}{
		{"", NoLink, ""},
		{"hello", NoLink, ""},
		{"ftp://zoom.us/j/123456789", NoLink, ""},
		{"http://", NoLink, ""},
		{strings.Repeat("x", maxText+1), NoLink, ""},
		{"https://meet.google.com/", WrongURL, "meet"},
		{"https://meet.google.com/new", WrongURL, "meet"},
		{"https://meet.google.com/abcd-efg-hij", WrongURL, "meet"},
		{"https://meet.google.com/abc-defg-hij/extra", WrongURL, "meet"},
		{"https://meet.google.com:8443/abc-defg-hij", WrongURL, "meet"},
		{"https://stream.meet.google.com/stream/x", Unsupported, "meet"},
		{"https://zoom.us/j/12345678", WrongURL, "zoom"},
		{"https://zoom.us/j/123456789012", WrongURL, "zoom"},
		{"https://zoom.us/signin", WrongURL, "zoom"},
		{"https://us06web.zoom.us/meeting/register/abc", Unsupported, "zoom"},
		{"https://us06web.zoom.us/webinar/register/WN_abc", Unsupported, "zoom"},
		{"https://events.zoom.us/ev/abc", Unsupported, "zoom"},
		{"https://teams.microsoft.com/l/channel/19%3aabc%40thread.tacv2/General", WrongURL, "teams"},
		{"https://teams.microsoft.com/l/meetup-join/no-thread/0", WrongURL, "teams"},
		{"https://teams.microsoft.com/light-meetings/launch?coords=!!", WrongURL, "teams"},
		{"https://teams.microsoft.com/dl/launcher/launcher.html?url=https%3A%2F%2Fevil.example%2Fl%2Fmeetup-join%2Fx", WrongURL, "teams"},
		{"https://events.teams.microsoft.com/event/abc", Unsupported, "teams"},
		{"https://meet.jit.si/", WrongURL, "jitsi"},
		{"https://meet.jit.si/static/close.html", WrongURL, "jitsi"},
		{"https://zoom.us.example.com/j/123456789", LookAlike, ""},
		{"https://evilzoom.us/j/123456789", LookAlike, ""},
		{"https://zoom-us.example/j/123456789", LookAlike, ""},
		{"https://meet-google.com/abc-defg-hij", LookAlike, ""},
		{"https://meet.google.com.evil.example/abc-defg-hij", LookAlike, ""},
		{"https://zооm.us/j/123456789", LookAlike, ""},        // Cyrillic
		{"https://xn--zm-fmca.us/j/123456789", LookAlike, ""}, // the same, encoded
		{"https://z00m.us/j/123456789", LookAlike, ""},
		{"https://teams-microsoft.com/meet/2345678901", LookAlike, ""},
		{"https://zoom.us@evil.example/j/123456789", LookAlike, ""},
		{"https://meet.google.com:x@evil.example/abc-defg-hij", LookAlike, ""},
		{"https://www.google.com/url?q=https%3A%2F%2Fzoom.us.evil.example%2Fj%2F123456789", LookAlike, ""},
		{"https://elsewhere.example/room/x", Unsupported, "room"},
		{"http://rooms.example.org/room/x", Unsupported, "room"}, // https was allowed
		{"http://127.0.0.1:7370/lobby/x", Unsupported, ""},
		{"http://127.0.0.1:9009/abc-defg-hij", Unsupported, ""}, // not a stand-in's port
		{"https://talk.example/Room", Unsupported, ""},          // the star stands for something
		{"https://example.com/", Unsupported, ""},
		{"https://www.webex.com/meet/x", Unsupported, ""},
	} {
		l, err := origins(t).Parse(c.in)
		var e *LinkError
		if !errors.As(err, &e) || e.Kind != c.kind || e.Platform != c.platform || e.Text == "" {
			t.Errorf("%.80q: %+v, %+v", c.in, l, err)
		}
	}
}

func TestTheMostTellingErrorWins(t *testing.T) {
	_, err := origins(t).Parse("see https://example.com/x and https://meet.google.com/wrong")
	var e *LinkError
	if !errors.As(err, &e) || e.Platform != "meet" {
		t.Errorf("%v", err)
	}
	l, err := origins(t).Parse("map: https://example.com/x, call: https://zoom.us/j/123456789.")
	if err != nil || l.Key != "zoom:123456789" {
		t.Errorf("%v %v", l, err)
	}
}

func TestSecretsOfLinksStayOutOfLogs(t *testing.T) {
	l, err := origins(t).Parse("https://zoom.us/j/123456789?pwd=SECRET (Passcode: SECRET2)")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("joining", "link", l)
	if strings.Contains(b.String()+l.String(), "SECRET") {
		t.Errorf("%s %s", b.String(), l)
	}
}

func TestAPlatformWithoutAModuleSaysSo(t *testing.T) {
	list := List{{Name: "room"}}
	if p, err := list.For(Link{Platform: "room"}); err != nil || p.Name != "room" {
		t.Error(p, err)
	}
	_, err := list.For(Link{Platform: "teams"})
	var e *LinkError
	if !errors.As(err, &e) || e.Kind != NoModule || !strings.Contains(err.Error(), "Microsoft Teams") {
		t.Error(err)
	}
}

func TestOriginsAreChecked(t *testing.T) {
	for _, bad := range []string{"example.org", "https://example.org/path", "https://a*.example.org", "https://*.a.*.org", "ftp://x", "https://u@h", "https://"} {
		if _, err := ParseOriginList(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	for _, bad := range []string{"meet", "skype=http://127.0.0.1:1", "meet=https://example.org", "meet=http://10.0.0.1:1", "meet=http://127.0.0.1:1;zoom=http://127.0.0.1:1", "meet=http://127.0.0.1.evil.example:1"} {
		if s, err := ParseStandins(bad); err == nil {
			t.Errorf("%s was taken: %v", bad, s)
		}
	}
	if s, err := ParseStandins(" "); err != nil || len(s) != 0 {
		t.Error(s, err)
	}
	l, err := ParseOriginList("HTTPS://Example.org:443/,http://example.org:80 https://*.x.org:8443")
	if err != nil || strings.Join(l, " ") != "https://example.org http://example.org https://*.x.org:8443" {
		t.Error(l, err)
	}
	for in, want := range map[string]bool{"https://example.org/x": true, "https://a.x.org:8443/": true, "https://a.b.x.org:8443/": true, "https://x.org:8443/": false, "https://evilx.org:8443/": false, "http://a.x.org:8443/": false, "https://a.x.org/": false} {
		u, err := url.Parse(in)
		if err != nil || l.has(u) != want {
			t.Errorf("%s: %v", in, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"https://zoom.us/j/123456789?pwd=x", "abc-defg-hij", "https://www.google.com/url?q=https%3A%2F%2Fmeet.google.com%2Fabc-defg-hij", "http://127.0.0.1:9001/abc-defg-hij",
		"https://teams.microsoft.com/v2/#/l/meetup-join/19:a@thread.v2/0", "http://[::1]:1/room/x", "https://xn--zm-fmca.us/j/1", "(https://meet.google.com/abc-defg-hij)"} {
		f.Add(s)
	}
	o := origins(f)
	f.Fuzz(func(t *testing.T, s string) {
		l, err := o.Parse(s)
		if err != nil {
			var e *LinkError
			if !errors.As(err, &e) || e.Text == "" {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		u, err := url.Parse(l.URL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.Host == "" {
			t.Fatalf("%q became %q", s, l.URL)
		}
		host := u.Hostname()
		known := ownsMeet(host) || ownsZoom(host) || ownsTeams(host) || ownsJitsi(host) || loopback(u) || o.Rooms.has(u) || o.Jitsi.has(u) || o.LiveKit.has(u)
		if !known {
			t.Fatalf("%q leads to a stranger: %q", s, l.URL)
		}
		if u.Scheme == "http" && !loopback(u) && !o.Rooms.has(u) {
			t.Fatalf("%q is opened in the clear: %q", s, l.URL)
		}
	})
}

func TestARoomWithoutANameIsToldWhatALinkLooksLike(t *testing.T) {
	rooms, err := ParseOriginList("https://rooms.example")
	if err != nil {
		t.Fatal(err)
	}
	o := Origins{Rooms: rooms}
	for address, want := range map[string]string{
		"http://127.0.0.1:7370/room/":  "http://127.0.0.1:7370/room/standup",
		"http://localhost:7370/room":   "http://localhost:7370/room/standup",
		"https://rooms.example/room/":  "https://rooms.example/room/standup",
		"https://rooms.example/room/!": "https://rooms.example/room/standup",
	} {
		var e *LinkError
		if _, err := o.Parse(address); !errors.As(err, &e) || e.Kind != WrongURL || e.Platform != "room" || !strings.Contains(e.Text, want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	// Elsewhere it is nobody's room.
	var e *LinkError
	if _, err := o.Parse("https://other.example/room/"); !errors.As(err, &e) || e.Kind != Unsupported || e.Platform != "" {
		t.Error(err)
	}
}
