package meet

import (
	"strings"
	"testing"

	"parley/meeting"
	"parley/platforms/platformtest"
	"parley/platforms/sign"
)

// The names are symptoms that users of other notetakers have complained about in public.

func TestTheLeaveButtonOfTheLobbyIsTakenForAdmission(t *testing.T) {
	platformtest.Script(t, ui, `
		0     name-field join-button         -> lobby
		1000  asking leave others            -> waiting
		9000  asking leave others            -> waiting
		20000 leave others                   -> waiting
		22000 leave others                   -> unknown
		60000 leave others                   -> unknown`)
}

func TestAWaitingTextThatNobodyKnowsIsNotTheMeeting(t *testing.T) {
	platformtest.Script(t, ui, `
		0     name-field join-button   -> lobby
		1000  leave                    -> lobby
		3000  leave                    -> unknown
		60000 leave                    -> unknown`)
}

func TestReturnToHomeScreenInTheLobbyIsReadAsARejection(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking leave             -> waiting
		4000  asking leave end-page    -> waiting
		9000  end-page leave           -> waiting
		12000 end-page leave           -> unknown`)
}

func TestABlankPageIsCalledDenied(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking    -> waiting
		1000  !blank    -> waiting
		3000  !blank    -> unknown
		30000 !blank    -> unknown
		31000 !crashed  -> unknown
		32000 asking    -> waiting`)
}

func TestAnInvisibleCaptchaOverridesAnExplicitDenial(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking                        -> waiting
		1000  denied challenge-frame asking -> waiting
		2100  denied challenge-frame asking -> out denied`)
}

func TestAVisibleChallengeAtTheDoorIsSaid(t *testing.T) {
	platformtest.Script(t, ui, `
		0     name-field join-button                  -> lobby
		1000  name-field join-button challenge-frame  -> lobby
		2100  name-field join-button challenge-frame  -> lobby held:challenge`)
}

func TestAnOpenMeetingShowsJoinNowOnly(t *testing.T) {
	if _, ok := ui.Targets["join"]; !ok {
		t.Fatal("no target")
	}
	platformtest.Script(t, ui, `
		0     name-field join-button           -> lobby
		2000  leave people chat present        -> lobby
		4100  leave people chat present        -> in`)
}

func TestItHearsFourteenMinutesButIsNeverActive(t *testing.T) {
	// No tiles, and half of the toolbar hidden: sound of others is a sign too.
	platformtest.Script(t, ui, `
		0     asking                 -> waiting
		1000  leave people sound     -> waiting
		3100  leave people sound     -> in`)
}

func TestAForeignInterfaceIsNeverRecognised(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking/es                            -> waiting
		1000  leave/es people/es hand/es           -> waiting
		3100  leave/es people/es hand/es           -> in`)
	// Words of a language that nobody has seen count beside what is language-free, never alone.
	platformtest.Script(t, ui, `
		0     asking/sk                            -> waiting
		1000  leave/sk people/sk chat/sk present/sk -> waiting
		9000  leave/sk people/sk chat/sk present/sk -> unknown
		20000 leave/sk people/sk panels            -> unknown
		22500 leave/sk people/sk panels            -> in`)
}

func TestTheTakingNotesGateBlocksTheMedia(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking                                -> waiting
		1000  gate leave people chat present        -> waiting
		2100  gate leave people chat present        -> waiting held:consent-gate
		60000 gate leave people chat present        -> waiting held:consent-gate
		61000 leave people chat present             -> waiting held:consent-gate
		63100 leave people chat present             -> in`)
}

func TestAGenericAlertIsTakenForRemoval(t *testing.T) {
	platformtest.Script(t, ui, `
		0     leave people chat present        -> unknown
		2100  leave people chat present        -> in
		3600  leave people chat                -> in
		9000  removed leave people chat        -> in
		30000 removed leave people chat        -> in`)
}

func TestTheEndOfTheMeetingIsToldFromRemovalAndFromLeaving(t *testing.T) {
	for sign, reason := range map[string]string{"removed": "removed", "ended": "ended-for-all", "you-left": "left", "connection-lost": "page-lost"} {
		platformtest.Script(t, ui, `
		0     leave people chat present   -> unknown
		2100  leave people chat present   -> in
		5000  `+sign+` end-page           -> in
		6100  `+sign+` end-page           -> out `+reason)
	}
}

func TestYouLeftStraightFromTheLobbyIsADenial(t *testing.T) {
	platformtest.Script(t, ui, `
		0     asking     -> waiting
		5000  you-left   -> waiting
		6100  you-left   -> out denied`)
}

func TestGooglesRefusalIsNoPersons(t *testing.T) {
	platformtest.Script(t, ui, `
		0     name-field join-button -> lobby
		5000  refused                -> lobby
		6100  refused                -> out refused_by_google`)
}

func TestTheHostIsNotThereYet(t *testing.T) {
	platformtest.Script(t, ui, `
		0     host-not-there name-field join-button  -> waiting not-started
		9000  host-not-there name-field join-button  -> waiting not-started
		9500  name-field join-button                 -> lobby`)
}

func TestAToolbarThatHidesIsNoEnd(t *testing.T) {
	platformtest.Script(t, ui, `
		0     leave people chat present   -> unknown
		2100  leave people chat present   -> in
		3000  others                      -> in
		8000  others                      -> in
		8500  leave people chat           -> in`)
}

func TestAMoveToABreakoutRoomEndsTheMeeting(t *testing.T) {
	platformtest.Script(t, ui, `
		0     leave people chat present           -> unknown
		2100  leave people chat present           -> in
		5000  moving                              -> in
		12000 moving                              -> in
		13000 breakout leave people chat          -> in
		15100 breakout leave people chat          -> in breakout`)
}

// TestDialogs are dialogs as the page words them, and what we do about them by ourselves.
func TestDialogs(t *testing.T) {
	for _, c := range []struct {
		name, text, kind, press string
		choices                 []string
		times                   int
	}{
		{"the taking notes gate", "Gemini is taking notes in this call", sign.DialogConsent, "", []string{"Leave", "Join now"}, 0},
		{"an add-on's gate", "Your call audio and video will be shared with Read AI", sign.DialogConsent, "", []string{"Leave", "Join now"}, 0},
		{"the call is recorded", "This video call is being recorded", sign.DialogConsent, "", []string{"Join now", "Leave"}, 0},
		{"devices", "Do you want people to hear you in the meeting?", sign.DialogDevice, "Continue without microphone and camera", []string{"Use microphone and camera", "Continue without microphone and camera"}, 0},
		{"devices, again", "Do you want people to hear you in the meeting?", sign.DialogDevice, "Continue without microphone", []string{"Use microphone", "Continue without microphone"}, 1},
		{"devices, without end", "Do you want people to hear you in the meeting?", sign.DialogUnknown, "", []string{"Use microphone", "Continue without microphone"}, 3},
		{"a tip", "Others may see your video differently", sign.DialogTip, "Got it", []string{"Got it"}, 0},
		{"a tip in other words", "Backgrounds have moved", sign.DialogTip, "Got it", []string{"Got it", "Learn more"}, 0},
		{"a choice that somebody else has to make", "Your words are sold from now on", sign.DialogUnknown, "", []string{"Got it", "Not with me"}, 0},
		{"a gate in words that hold a button's", "Facebook kijkt ook mee", sign.DialogConsent, "", []string{"Verlaten", "Nu deelnemen"}, 0},
		{"dismissing ejects", "No one else is here", sign.DialogTip, "", []string{"Leave now"}, 0},
		{"alone, with a way to stay", "No one else is here", sign.DialogTip, "Keep waiting", []string{"Leave now", "Keep waiting"}, 0},
		{"nobody knows it", "Something quite new", sign.DialogUnknown, "", []string{"Yes", "No"}, 0},
		{"a gate in a language nobody has seen", "Der Anruf wird aufgezeichnet", sign.DialogConsent, "", []string{"Verlassen", "Jetzt teilnehmen"}, 0},
		{"a gate in other words", "Iemand heeft notities aangezet", sign.DialogConsent, "", []string{"Verlaten", "Nu deelnemen"}, 0},
		{"a dialog in other words", "Iemand heeft notities aangezet", sign.DialogUnknown, "", []string{"Verlaten", "Later"}, 0},
	} {
		r := ui.Rule(sign.Dialog{Text: c.text, Choices: c.choices}, c.times)
		if c.name == "dismissing ejects" { // the only button leaves: it is never pressed
			if r.Press != "" {
				t.Errorf("%s: pressed %q", c.name, r.Press)
			}
			continue
		}
		if r.Kind != c.kind || r.Press != c.press {
			t.Errorf("%s: is %s, presses %q", c.name, r.Kind, r.Press)
		}
		if c.kind == sign.DialogConsent && (r.Choices[0] == "Leave" || strings.HasPrefix(r.Choices[0], "Verla")) {
			t.Errorf("%s: the accepting choice comes first, got %v", c.name, r.Choices)
		}
		if known := strings.Contains(strings.Join(c.choices, " "), "Leave"); c.kind == sign.DialogConsent && r.Unsure == known {
			t.Errorf("%s: unsure is %t", c.name, r.Unsure)
		}
	}
}

// TestMicrophone reads the button's four values.
func TestMicrophone(t *testing.T) {
	rule := ui.Devices["microphone"]
	for _, c := range []struct {
		name, muted string
		enabled     bool
		want        meeting.Device
	}{
		{"Turn off microphone (ctrl + d)", "false", true, meeting.DeviceOn},
		{"Turn on microphone (ctrl + d)", "true", true, meeting.DeviceOff},
		{"Turn on microphone", "true", false, meeting.DeviceBlocked},
		{"Turn off microphone", "true", true, meeting.DeviceUnknown},
		{"Désactiver le micro", "false", true, meeting.DeviceOn},
		{"Attiva microfono", "true", true, meeting.DeviceOff},
		{"何か", "true", true, meeting.DeviceOff},
		{"何か", "", true, meeting.DeviceUnknown},
	} {
		attrs := map[string]string{}
		if c.muted != "" {
			attrs["data-is-muted"] = c.muted
		}
		if got := rule.Read(sign.Control{Found: true, Enabled: c.enabled, Name: c.name, Attrs: attrs}); got != c.want {
			t.Errorf("%q muted=%s enabled=%t: %s, want %s", c.name, c.muted, c.enabled, got, c.want)
		}
	}
	if got := rule.Read(sign.Control{}); got != meeting.DeviceUnknown {
		t.Errorf("no button: %s", got)
	}
}

// TestAWordOfTheDoorIsNoPartOfAWordOfTheCall: a button of the call may hold what a button of the door says, and a lobby sign
// keeps us out for good.
func TestAWordOfTheDoorIsNoPartOfAWordOfTheCall(t *testing.T) {
	for _, s := range ui.Signs {
		if s.Kind != sign.Lobby || s.Exact || len(s.Names) == 0 {
			continue
		}
		for _, in := range ui.Signs {
			if in.Kind != sign.In {
				continue
			}
			for _, word := range append(sign.All(in.Names), "Partecipanti", "Participants", "Deelnemers", "Teilnehmer") {
				for _, door := range sign.All(s.Names) {
					if strings.Contains(strings.ToLower(word), strings.ToLower(door)) {
						t.Errorf("%s: %q stands in %q of %s", s.Name, door, word, in.Name)
					}
				}
			}
		}
	}
}
