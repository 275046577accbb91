package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/tenant"
	"parley/tool"
	"parley/tool/toolfake"
)

// talking is a meeting that is attended, and a way to call its tools.
func talking(t *testing.T) (*toolfake.Meetings, string, func(name, args string) (map[string]any, tool.Answer)) {
	t.Helper()
	m := &toolfake.Meetings{}
	s, err := tool.NewService(tool.Options{Tools: append(tool.Table(m, nil), tool.TalkTable(m)...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	by := tool.Caller{Principal: tenant.Principal{Tenant: tenant.Tenant{ID: "me", Policy: tenant.Full, Grants: []tenant.Grant{tenant.Meeting}}}}
	call := func(name, args string) (map[string]any, tool.Answer) {
		t.Helper()
		a := s.Invoke(t.Context(), tool.Call{Tool: name, Args: json.RawMessage(args), Caller: by})
		var out map[string]any
		if a.Err == nil {
			if err := json.Unmarshal(a.Structured, &out); err != nil {
				t.Fatal(err)
			}
		}
		return out, a
	}
	st, a := call("meeting_join", `{"url":"http://127.0.0.1/room/i"}`)
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	return m, st["meeting_id"].(string), call
}

// kinds are the kinds of the events that were heard.
func kinds(h map[string]any) string {
	var out []string
	for _, e := range h["events"].([]any) {
		out = append(out, e.(map[string]any)["kind"].(string))
	}
	return strings.Join(out, " ")
}

func TestListeningToTalkGivesTurns(t *testing.T) {
	m, id, call := talking(t)
	h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":0,"wait_s":0}`, id))
	next := h["cursor"].(float64)
	if next == 0 || next != h["next"].(float64) {
		t.Fatal(h)
	}
	m.Say(id, "Ada", "What is new?")
	for args, want := range map[string]string{
		`"cursor":%v,"wait_s":0`:                          "turn",
		`"cursor":%v`:                                     "turn",
		`"since":%v`:                                      "transcript",
		`"since":%v,"wait_s":0`:                           "turn",
		`"since":%v,"turns":true`:                         "turn",
		`"cursor":%v,"turns":false`:                       "transcript",
		`"cursor":%v,"kinds":["turn","transcript"]`:       "transcript turn",
		`"since":%v,"kinds":["turn"]`:                     "turn",
		`"cursor":%v,"kinds":["chat"],"wait_s":0`:         "",
		`"since":0,"cursor":%v,"wait_s":0`:                "turn",
		`"since":%v,"timeout_sec":50,"wait_s":0`:          "turn",
		`"cursor":%v,"kinds":["turn"],"limit":1`:          "turn",
		`"cursor":%v,"partials":true,"kinds":["turn"]`:    "turn",
		`"cursor":%v,"wait_s":0.5,"kinds":["transcript"]`: "transcript",
	} {
		h, a := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,`+args+`}`, id, next))
		if a.Err != nil || kinds(h) != want {
			t.Errorf("%s: %q, %v", args, kinds(h), a.Err)
		}
	}
	h, a := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v}`, id, next))
	turn := h["events"].([]any)[0].(map[string]any)["turn"].(map[string]any)
	if turn["turn_seq"] != 1.0 || turn["text"] != "What is new?" || turn["draft"] != "none" || turn["speaker"].(map[string]any)["name"] != "Ada" {
		t.Error(turn)
	}
	if !strings.Contains(fmt.Sprint(h["untrusted"]), "turn.text") || !strings.Contains(a.Text, "turn 1\n") || !strings.Contains(a.Text, "Ada: What is new?") {
		t.Errorf("%v\n%s", h["untrusted"], a.Text)
	}
}

func TestUnfinishedSpeechComesBesideTurns(t *testing.T) {
	m, id, call := talking(t)
	h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":0,"wait_s":0}`, id))
	m.Mumble(id, "What is")
	m.Say(id, "Ada", "What is new?")
	for args, want := range map[string]string{`"partials":true`: "transcript turn", `"partials":false`: "turn", `"partials":true,"turns":false`: "transcript transcript"} {
		if got, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v,%s}`, id, h["cursor"], args)); kinds(got) != want {
			t.Errorf("%s: %s", args, kinds(got))
		}
	}
}

func TestWaitSWaits(t *testing.T) {
	m, id, call := talking(t)
	h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":0,"wait_s":0}`, id))
	began := time.Now()
	if h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v,"wait_s":0.2}`, id, h["cursor"])); kinds(h) != "" || time.Since(began) < 200*time.Millisecond {
		t.Error(h, time.Since(began))
	}
	time.AfterFunc(50*time.Millisecond, func() { m.Say(id, "Ada", "Now.") })
	if h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v,"wait_s":30}`, id, h["cursor"])); kinds(h) != "turn" {
		t.Error(h)
	}
	if _, a := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":0,"wait_s":51}`, id)); a.Err == nil || a.Err.Code != tool.CodeBadArgument {
		t.Error(a)
	}
}

func TestADraftIsSpokenWhenTheTurnComes(t *testing.T) {
	m, id, call := talking(t)
	h, _ := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":0,"wait_s":0}`, id))
	d, a := call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":"Yes, I do. And more.","ready":true}`, id))
	if a.Err != nil || d["ok"] != true || d["sentence"] != "Yes, I do." {
		t.Fatal(d, a.Err)
	}
	m.Say(id, "Ada", "Do you hear me?")
	heard, a := call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v}`, id, h["cursor"]))
	turn := heard["events"].([]any)[0].(map[string]any)["turn"].(map[string]any)
	if turn["draft"] != "spoken" || turn["draft_text"] != "Yes, I do." || !strings.Contains(a.Text, `turn 1; your draft is being said: "Yes, I do."`) {
		t.Error(turn, a.Text)
	}
	if d, _ := call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":"Late.","ready":true,"for_turn_seq":1}`, id)); d["ok"] != false || d["reason"] != "turn-was-given" {
		t.Error(d)
	}
	// One that is not ready is dropped, and the turn says so.
	call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":"Perhaps."}`, id))
	m.Say(id, "Ada", "And now?")
	heard, a = call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v}`, id, heard["cursor"]))
	turn = heard["events"].([]any)[0].(map[string]any)["turn"].(map[string]any)
	if turn["draft"] != "dropped" || turn["draft_reason"] != "not-ready" || !strings.Contains(a.Text, "your draft was dropped (not-ready)") {
		t.Error(turn, a.Text)
	}
	// An empty text clears it.
	call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":"Perhaps.","ready":true}`, id))
	if d, _ := call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":""}`, id)); d["ok"] != true || d["sentence"] != nil {
		t.Error(d)
	}
	m.Say(id, "Ada", "And?")
	heard, _ = call("meeting_listen", fmt.Sprintf(`{"meeting_id":%q,"cursor":%v}`, id, heard["cursor"]))
	if turn := heard["events"].([]any)[0].(map[string]any)["turn"].(map[string]any); turn["draft"] != "none" {
		t.Error(turn)
	}
	m.End(id, "left")
	if d, _ := call("meeting_draft", fmt.Sprintf(`{"meeting_id":%q,"text":"Bye."}`, id)); d["ok"] != false || d["reason"] != "meeting-ended" {
		t.Error(d)
	}
	if _, a := call("meeting_draft", `{"meeting_id":"m999","text":"Bye."}`); a.Err == nil || a.Err.Code != tool.CodeMeetingNotFound {
		t.Error(a.Err)
	}
}
