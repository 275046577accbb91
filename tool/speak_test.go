package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

func TestAnAnswerToATurnIsTextAlone(t *testing.T) {
	f := &toolfake.Meetings{}
	s := service(t, tool.Options{Tools: tool.Table(f, nil)})
	by := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}}
	call := func(name string, args map[string]any) tool.Answer {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return s.Invoke(t.Context(), tool.Call{Tool: name, Args: raw, Caller: by})
	}
	a := call("meeting_join", map[string]any{"url": "http://127.0.0.1:1/room/x"})
	var st tool.Status
	if a.Err != nil || json.Unmarshal(a.Structured, &st) != nil {
		t.Fatal(a.Text)
	}
	f.Admit(st.Meeting)
	f.Say(st.Meeting, "Ada", "What now?")
	for name, more := range map[string]map[string]any{
		"": {}, "wait": {"wait": true}, "interrupt": {"interrupt": true}, "voice": {"voice": "x"}, "backend": {"backend": "local"}, "lang": {"lang": "en"}, "auto_mute": {"auto_mute": false},
	} {
		args := map[string]any{"meeting_id": st.Meeting, "text": "Now this.", "turn_seq": 1}
		for k, v := range more {
			args[k] = v
		}
		a := call("meeting_speak", args)
		if (a.Err != nil) != (name != "") || a.Err != nil && a.Err.Code != tool.CodeBadArgument {
			t.Errorf("with %q: %s", name, a.Text)
		}
	}
	var sp tool.Spoken
	a = call("meeting_speak", map[string]any{"meeting_id": st.Meeting, "text": "Now that.", "turn_seq": 99})
	if a.Err == nil || a.Err.Code != tool.CodeBadArgument || !strings.Contains(a.Text, "the last one you were given is 1") {
		t.Errorf("to a turn that never was: %s", a.Text)
	}
	f.Reopen(st.Meeting, "And")
	a = call("meeting_speak", map[string]any{"meeting_id": st.Meeting, "text": "Now that.", "turn_seq": 1})
	if a.Err != nil || json.Unmarshal(a.Structured, &sp) != nil || sp.State != "dropped" || sp.Reason != "superseded_by_new_speech" || !sp.Superseded {
		t.Errorf("to a turn that was reopened: %s", a.Text)
	}
}
