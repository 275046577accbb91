package mcp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"parley/channel/mcpl"
	"parley/tool"
)

// MeetingSet is the feature set of meetings.
const MeetingSet = "parley.meeting"

//go:embed tags.json
var meetingTags json.RawMessage

// pushed makes the event for a host of what happened at a meeting. Keep tells whether it waits when no host
// is there: what is live only is not worth hearing later.
func pushed(e tool.Event) (w mcpl.Waiting, keep bool) {
	w = mcpl.Waiting{Meeting: e.Meeting, Event: mcpl.Event{
		FeatureSet: MeetingSet,
		ID:         fmt.Sprintf("%s:e%d", e.Meeting, e.Seq),
		At:         e.At,
		Tags:       []string{"parley:meeting-" + string(e.Kind), "parley:meeting=" + e.Meeting},
		Origin:     map[string]any{"meeting_id": e.Meeting, "seq": e.Seq},
		Text:       plain(e),
	}}
	if e.Platform != "" {
		w.Origin["platform"] = e.Platform
	}
	switch e.Kind {
	case tool.EventChat, tool.EventQuestion, tool.EventOptout, tool.EventAnnounce, tool.EventTranscriptStopped,
		tool.EventMicOpen, tool.EventFault, tool.EventRejoined, tool.EventEnded:
		keep = true
	}
	switch {
	case e.Line != nil:
		w.Words = true
		l := e.Line
		add(w.Origin, map[string]any{"seq": l.Seq, "rev": l.Rev, "start_s": l.Start, "end_s": l.End, "final": l.Final, "text": l.Text})
		if l.Lang != "" {
			w.Origin["lang"] = l.Lang
		}
		if l.Speaker != nil && l.Speaker.Name != "" {
			w.Origin["speaker"] = l.Speaker.Name
		}
		if len(l.Speakers) > 0 {
			w.Origin["speakers"] = l.Speakers
		}
		if l.Echo {
			w.Origin["echo_suspected"] = true
		}
		w.Tags = append(w.Tags, "chat:from-human", "chat:group")
		// An unread partial gives way to the next one, and to its final.
		w.CoalesceKey = fmt.Sprintf("%s:turn:%d", e.Meeting, l.Seq)
		if !l.Final {
			w.Partial = true
			w.Tags = append(w.Tags, "parley:partial")
		}
	case e.Chat != nil:
		w.Words = true
		add(w.Origin, map[string]any{"sender": e.Chat.Sender, "text": e.Chat.Text, "chat_seq": e.Chat.Seq})
		place := "chat:group"
		if e.Chat.Private {
			place = "chat:private"
		}
		w.Tags = append(w.Tags, "chat:from-human", place)
	case e.Question != nil:
		w.Words = true
		add(w.Origin, map[string]any{"question_id": e.Question.ID, "kind": e.Question.Kind, "text": e.Question.Text, "choices": e.Question.Choices})
		if e.Question.Deadline != nil {
			w.Origin["deadline"] = e.Question.Deadline
		}
	case e.State != "":
		w.Origin["state"] = e.State
	case e.Optout != nil:
		merge(w.Origin, e.Optout)
	case e.Announce != nil:
		merge(w.Origin, e.Announce)
	case e.People != nil:
		w.Words = true
		merge(w.Origin, e.People)
	case e.Extended != nil:
		w.Words = true
		merge(w.Origin, e.Extended)
	case e.Speech != nil:
		merge(w.Origin, e.Speech)
	case e.Fault != nil:
		merge(w.Origin, e.Fault)
	case e.End != nil:
		merge(w.Origin, e.End)
	}
	return w, keep
}

// plain is the event as a host's model reads it: authors and their words as they are, because the host
// marks what came from outside itself.
func plain(e tool.Event) string {
	var parts []string
	for _, p := range []string{e.Own(), e.Quoted()} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "\n")
}

func add(origin, more map[string]any) {
	for k, v := range more {
		origin[k] = v
	}
}

// merge puts a struct's members into origin under their JSON names.
func merge(origin map[string]any, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // only our own plain structs come here
	}
	var more map[string]any
	if json.Unmarshal(raw, &more) == nil {
		add(origin, more)
	}
}
