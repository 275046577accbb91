package seat

import (
	"errors"
	"testing"

	"parley/meeting/wire"
	"parley/platforms"
	"parley/tool"
)

func TestARefusalIsWordedForItsCommand(t *testing.T) {
	s := New(Options{})
	for _, c := range []struct {
		code    wire.Code
		command string
		want    tool.Code
	}{
		{wire.CodeBusy, "speak", tool.CodeAlreadySpeaking},
		{wire.CodeBusy, "chat_send", tool.CodeWorkerFailed},
		{wire.CodeUncertain, "chat_send", tool.CodeChatNotConfirmed},
		{wire.CodeUncertain, "hand", tool.CodeWorkerFailed},
		{wire.CodeNotYet, "speak", tool.CodeNotAdmitted},
		{wire.CodeOver, "leave", tool.CodeMeetingEnded},
		{wire.CodeNotAllowed, "speak", tool.CodeNotPermitted},
		{wire.CodeBadInput, "speak", tool.CodeBadArgument},
		{wire.CodeFailed, "speak", tool.CodeSpeechUnavailable},
		{wire.CodeFailed, "mute", tool.CodeWorkerFailed},
		{wire.CodeUnavailable, "hand", tool.CodeUnsupported},
	} {
		var e *tool.Error
		err := s.refusal(&wire.Error{Code: c.code, Text: "because"}, "m1", c.command)
		if !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%s of %s: %v, want %s", c.code, c.command, err, c.want)
		}
	}
}

func TestALinkThatCannotBeAttendedIsToldOnce(t *testing.T) {
	s := New(Options{Platforms: []string{"Parley room", "LiveKit"}})
	for _, c := range []struct {
		err  *platforms.LinkError
		code tool.Code
		want string
	}{
		{&platforms.LinkError{Kind: platforms.NoModule, Platform: "meet", Text: "Google Meet meetings cannot be attended by this version of Parley yet"}, tool.CodeUnsupported,
			"Google Meet meetings cannot be attended by this version of Parley yet. It attends meetings of Parley room, LiveKit."},
		{&platforms.LinkError{Kind: platforms.WrongURL, Platform: "zoom", Text: "this is not the link of a Zoom meeting: it has no number"}, tool.CodeBadLink,
			"This is not the link of a Zoom meeting: it has no number. Give the link as people share it, with its password part."},
		{&platforms.LinkError{Kind: platforms.Unsupported, Platform: "teams", Text: "this is a town hall"}, tool.CodeUnsupported, "This is a town hall."},
		{&platforms.LinkError{Kind: platforms.Unsupported, Text: "nobody's"}, tool.CodeUnknownPlatform,
			"The link belongs to no platform that is known here. Known are Parley room, LiveKit. A LiveKit or Parley room on a host of its own has to be named by the operator (PARLEY_LIVEKIT_ORIGINS, PARLEY_ROOM_ORIGINS)."},
	} {
		var e *tool.Error
		if err := s.linkError(c.err); !errors.As(err, &e) || e.Code != c.code || e.Error() != c.want {
			t.Errorf("%v", err)
		}
	}
}

func TestAWrongChoiceIsToldTheChoices(t *testing.T) {
	questions := []*wire.Question{{ID: "q1", Choices: []string{"Got it", "Leave"}}, {ID: "q0", Choices: []string{"Yes"}, Closed: "answered"}}
	for _, c := range []struct {
		id, choice string
		code       tool.Code
		quoted     string
	}{
		{"q1", "Got it", "", ""},
		{"q1", "got it", tool.CodeBadChoice, "Got it | Leave"},
		{"q0", "Yes", tool.CodeQuestionUnknown, ""},
		{"q2", "Yes", tool.CodeQuestionUnknown, ""},
	} {
		err := choosable(questions, tool.AnswerArgs{Question: c.id, Choice: c.choice})
		var e *tool.Error
		if c.code == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Code != c.code || e.Quoted != c.quoted {
			t.Errorf("%s %s: %v, quoting %q", c.id, c.choice, err, e.Quoted)
		}
	}
}

// Who is told "nothing was done" says it again: that must not be said of a text whose first sentence was heard.
func TestASpeechThatWasHeardInPartIsNoError(t *testing.T) {
	for _, c := range []struct {
		code  wire.Code
		r     *wire.SpeechResult
		ended bool
	}{
		{wire.CodeInterrupted, &wire.SpeechResult{}, true},
		{wire.CodeFailed, &wire.SpeechResult{}, false},
		{wire.CodeFailed, &wire.SpeechResult{StartMS: 40, Said: "Hello."}, true},
		{wire.CodeBadInput, &wire.SpeechResult{}, false},
		{wire.CodeBadInput, &wire.SpeechResult{DurationS: 0.5, Said: "Hello."}, true},
		{wire.CodeBadInput, nil, false},
	} {
		if got := endedSo(&wire.Error{Code: c.code}, c.r); got != c.ended {
			t.Errorf("%s of %+v: %v", c.code, c.r, got)
		}
	}
}
