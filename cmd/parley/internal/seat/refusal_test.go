package seat

import (
	"errors"
	"testing"

	"parley/meeting/wire"
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
		{wire.CodeUnavailable, "hand", tool.CodeUnsupported},
	} {
		var e *tool.Error
		err := s.refusal(&wire.Error{Code: c.code, Text: "because"}, "m1", c.command)
		if !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%s of %s: %v, want %s", c.code, c.command, err, c.want)
		}
	}
}
