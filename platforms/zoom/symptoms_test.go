package zoom

import (
	"slices"
	"testing"

	"parley/meeting"
	"parley/platforms/platformtest"
	"parley/platforms/sign"
)

// The names are symptoms that users of other notetakers have complained about in public.

func TestNineteenMinutesOfAWaitingRoomAreRecorded(t *testing.T) {
	platformtest.Script(t, ui, `
		0       name-field preview join-form              -> lobby
		1000    waiting-room preview leave                -> waiting
		60000   waiting-room preview leave footer         -> waiting
		1140000 waiting-room preview leave footer audio   -> waiting`)
}

func TestAWaitingRoomWithoutItsWordsIsNotTheMeeting(t *testing.T) {
	platformtest.Script(t, ui, `
		0     waiting-room leave footer  -> waiting
		1000  leave footer               -> waiting
		9000  leave footer               -> unknown
		60000 preview leave footer audio -> lobby`)
}

func TestTheBotWallIsSaidInSeconds(t *testing.T) {
	platformtest.Script(t, ui, `
		0    joining            -> waiting
		1000 bot-wall sign-in   -> waiting
		3100 bot-wall sign-in   -> out bot-wall`)
	if try := meeting.ReasonBotWall.Ending().Try; try == "" {
		t.Error("the sanctioned way is not named")
	}
}

func TestTheEndOfAZoomMeetingIsNotSeen(t *testing.T) {
	for sign, reason := range map[string]string{"ended": "ended-for-all", "removed": "removed", "left-line": "left"} {
		platformtest.Script(t, ui, `
		0     leave footer chat share   -> unknown
		2100  leave footer chat share   -> in
		5000  `+sign+`                  -> in
		6100  `+sign+`                  -> out `+reason)
	}
}

func TestBeingPutOutOfTheWaitingRoomIsADenial(t *testing.T) {
	platformtest.Script(t, ui, `
		0     waiting-room leave   -> waiting
		5000  removed              -> waiting
		6100  removed              -> out denied`)
}

func TestTheMeetingsUpgradeIsNoEnd(t *testing.T) {
	r := ui.Rule(sign.Dialog{Text: "This meeting has been upgraded by the host and now includes unlimited minutes.", Choices: []string{"OK"}}, 0)
	if r.Kind != sign.DialogTip || r.Press != "OK" {
		t.Errorf("is %s, presses %q", r.Kind, r.Press)
	}
}

func TestABreakoutRoomTakesTheControlsAway(t *testing.T) {
	platformtest.Script(t, ui, `
		0     leave footer chat share            -> unknown
		2100  leave footer chat share            -> in
		5000  moving joining                     -> in
		20000 moving joining                     -> in
		21000 breakout leave footer chat share   -> in
		23100 breakout leave footer chat share   -> in breakout
		30000 moving                             -> in breakout
		31000 leave footer chat share            -> in breakout
		33100 leave footer chat share            -> in`)
}

func TestANoticeOfTheWaitingRoomIsNoWaitingRoom(t *testing.T) {
	const call = "leave footer chat share audio video more frame people"
	platformtest.Script(t, ui, `
		0     `+call+`                               -> unknown
		2100  `+call+`                               -> in
		5000  waiting-room `+call+`                  -> in
		9000  waiting-room join-button `+call+`      -> in
		60000 waiting-room leave footer audio video  -> in
		61000 waiting-room leave footer audio video  -> in
		62100 waiting-room leave footer audio video  -> waiting`)
	// Out of sight in between, it is looked at like any other page.
	platformtest.Script(t, ui, `
		0     `+call+`               -> unknown
		2100  `+call+`               -> in
		3000  !blank                 -> in
		9000  !blank                 -> unknown
		10000 waiting-room `+call+`  -> waiting`)
}

// A meeting about a waiting room shows what it is about over its door.
func TestTheMeetingsTopicIsNoSign(t *testing.T) {
	if !slices.Contains(ui.Exclude, ".preview-meeting-info") {
		t.Error("what people call their meetings is read as words of the page")
	}
}

func TestSomebodysNameIsNoDenialAtTheMomentOfAdmission(t *testing.T) {
	platformtest.Script(t, ui, `
		0     waiting-room leave                                             -> waiting
		5000  removed-line leave footer chat share audio video more people   -> waiting
		7100  removed-line leave footer chat share audio video more people   -> in`)
	// A waiting room that looks like a call has some of it, and its end is one.
	platformtest.Script(t, ui, `
		0     waiting-room leave footer audio      -> waiting
		5000  removed leave footer audio video     -> waiting
		6100  removed leave footer audio video     -> out denied`)
}

func TestAMoveThatNeverEndsIsUnknown(t *testing.T) {
	platformtest.Script(t, ui, `
		0     leave footer chat share   -> unknown
		2100  leave footer chat share   -> in
		5000  moving                    -> in
		40000 moving                    -> in
		66000 moving                    -> in
		75000 moving                    -> unknown`)
}

func TestNotStartedIsNotInvalid(t *testing.T) {
	platformtest.Script(t, ui, `
		0    not-started                 -> waiting not-started
		9000 not-started                 -> waiting not-started`)
	platformtest.Script(t, ui, `
		0    link-invalid                -> unknown
		2100 link-invalid                -> out invalid-meeting`)
}

func TestWallsAreToldApart(t *testing.T) {
	for sign, reason := range map[string]string{
		"sign-in": "sign-in-required", "sign-in-address": "sign-in-required", "web-client-off": "web-client-off", "passcode-wrong": "passcode-wrong", "link-invalid": "invalid-meeting",
	} {
		platformtest.Script(t, ui, `
		0    name-field join-form      -> lobby
		1000 `+sign+`                  -> lobby
		3100 `+sign+`                  -> out `+reason)
	}
}

// TestDialogs are dialogs as the page words them, and what we do about them by ourselves.
func TestDialogs(t *testing.T) {
	for _, c := range []struct {
		name, text, kind, press string
		choices                 []string
		times                   int
	}{
		{"see you", "Do you want people to see you in the meeting?", sign.DialogDevice, "Continue without camera", []string{"Use camera", "Continue without camera"}, 0},
		{"hear you", "Do you want people to hear you in the meeting?", sign.DialogDevice, "Continue without microphone", []string{"Use microphone", "Continue without microphone"}, 0},
		{"hear you, twice", "Do you want people to hear you in the meeting?", sign.DialogDevice, "Continue without microphone and camera", []string{"Use microphone and camera", "Continue without microphone and camera"}, 1},
		{"recorded", "This meeting is being recorded", sign.DialogNotice, "Got it", []string{"Got it", "Leave Meeting"}, 0},
		{"the companion", "AI Companion is on in this meeting", sign.DialogNotice, "OK", []string{"OK"}, 0},
		{"the host asks us to unmute", "The host would like you to unmute", sign.DialogUnmute, "", []string{"Stay Muted", "Unmute"}, 0},
		{"an older client asks", "The host would like you to speak", sign.DialogUnmute, "", []string{"Unmute", "Stay Muted"}, 0},
		{"the host asks for our camera", "The host has asked you to start your video", sign.DialogDevice, "Later", []string{"Start My Video", "Later"}, 0},
		{"an end tells, and is not answered", "This meeting has been ended by host", sign.DialogOurs, "", []string{"OK"}, 0},
		{"the audio is ours to join", "Phone Call", sign.DialogOurs, "", []string{"Join Audio by Computer"}, 0},
		{"cookies", "We use cookies and similar technologies", sign.DialogCookie, "Reject All", []string{"Accept All Cookies", "Reject All", "Cookies Settings"}, 0},
		{"a tip in other words", "Backgrounds have moved", sign.DialogTip, "Got it", []string{"Got it"}, 0},
		{"a choice that somebody else has to make", "Your words are sold from now on", sign.DialogUnknown, "", []string{"Got it", "Not with me"}, 0},
		{"nobody knows it", "Something quite new", sign.DialogUnknown, "", []string{"Yes", "No"}, 0},
	} {
		r := ui.Rule(sign.Dialog{Text: c.text, Choices: c.choices}, c.times)
		if r.Kind != c.kind || r.Press != c.press {
			t.Errorf("%s: is %s by %q, presses %q", c.name, r.Kind, r.Rule, r.Press)
		}
		if c.kind == sign.DialogUnmute && r.Choices[0] != "Unmute" {
			t.Errorf("%s: the accepting choice comes first, got %v", c.name, r.Choices)
		}
	}
}

// TestMicrophone reads the button, in the preview and in the call.
func TestMicrophone(t *testing.T) {
	rule := ui.Devices["microphone"]
	for name, want := range map[string]meeting.Device{
		"Mute": meeting.DeviceOn, "Unmute": meeting.DeviceOff, "mute my microphone": meeting.DeviceOn, "unmute my microphone": meeting.DeviceOff, "Audio": meeting.DeviceUnknown,
	} {
		if got := rule.Read(sign.Control{Found: true, Enabled: true, Name: name}); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got := rule.Read(sign.Control{Found: true, Name: "Unmute"}); got != meeting.DeviceBlocked {
		t.Errorf("a button that takes no click: %s", got)
	}
}
