package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/examples/mind"
)

// agent attends one meeting with nothing but tools: it listens in a loop and speaks by calls.
type agent struct {
	session *sdk.ClientSession
	mind    mind.Mind
	out     io.Writer

	meeting string
	drafted string // what was offered for the turn at hand
	forget  context.CancelFunc
	think   sync.WaitGroup

	mu   sync.Mutex // of what follows, and of out
	talk []mind.Line
}

// attend joins a meeting and talks in it until it ends.
func attend(ctx context.Context, transport sdk.Transport, m mind.Mind, link string, out io.Writer) (err error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "mcp-agent", Version: "1"}, nil)
	// The connection outlives ctx: leaving takes a moment.
	session, err := client.Connect(context.WithoutCancel(ctx), transport, nil)
	if err != nil {
		return fmt.Errorf("connect to the service: %w", err)
	}
	a := &agent{session: session, mind: m, out: out, forget: func() {}}
	defer func() {
		a.forget()
		a.think.Wait()
		err = errors.Join(err, session.Close())
	}()
	var st struct {
		Meeting string `json:"meeting_id"`
		State   string `json:"state"`
		Reason  string `json:"reason_text"`
	}
	if err := a.call(ctx, "meeting_join", map[string]any{"url": link}, &st); err != nil {
		return err
	}
	if st.State == "ended" {
		return fmt.Errorf("the meeting was not joined: %s", st.Reason)
	}
	a.meeting = st.Meeting
	a.print("joined as %s", st.Meeting)
	if err := a.follow(ctx); ctx.Err() == nil {
		return err
	}
	return a.call(context.WithoutCancel(ctx), "meeting_leave", map[string]any{"meeting_id": a.meeting}, nil)
}

// event is something that happened; of the members the kind's own is set.
type event struct {
	Kind string `json:"kind"`
	Turn *struct {
		Seq       int64    `json:"turn_seq"`
		Text      string   `json:"text"`
		Speaker   *speaker `json:"speaker"`
		Echo      bool     `json:"echo_suspected"`
		Draft     string   `json:"draft"`
		DraftText string   `json:"draft_text"`
		DraftWhy  string   `json:"draft_reason"`
	} `json:"turn"`
	Line *struct {
		Seq     int64    `json:"seq"`
		Text    string   `json:"text"`
		Final   bool     `json:"final"`
		Speaker *speaker `json:"speaker"`
	} `json:"transcript"`
	Speech *struct {
		State string `json:"state"`
		Said  string `json:"said"`
	} `json:"speech"`
	Question *struct {
		Text string `json:"text"`
	} `json:"question"`
}

type speaker struct {
	Name string `json:"name"`
}

func (s *speaker) name() string {
	if s == nil {
		return ""
	}
	return s.Name
}

// kinds are what the loop wants to hear of. The unfinished transcript is for drafts.
var kinds = []string{"turn", "transcript", "turn-extended", "interrupted", "question", "ended"}

// follow is the loop: wait for something, deal with it, go on from the cursor.
func (a *agent) follow(ctx context.Context) error {
	_, drafts := a.mind.(mind.Drafter)
	var cursor int64
	for {
		var h struct {
			Events []event `json:"events"`
			Cursor int64   `json:"cursor"`
			Ended  bool    `json:"ended"`
		}
		err := a.call(ctx, "meeting_listen", map[string]any{"meeting_id": a.meeting, "cursor": cursor, "wait_s": 25, "kinds": kinds, "partials": drafts}, &h)
		if err != nil {
			return err
		}
		for _, e := range h.Events {
			a.hear(ctx, e)
		}
		if cursor = h.Cursor; h.Ended {
			a.print("the meeting is over")
			return nil
		}
	}
}

func (a *agent) hear(ctx context.Context, e event) {
	switch {
	case e.Kind == "turn" && e.Turn != nil && !e.Turn.Echo:
		t := e.Turn
		a.drafted = ""
		a.print("%s: %s", t.Speaker.name(), t.Text)
		switch t.Draft {
		case "spoken":
			a.print("we: %s (drafted)", t.DraftText)
		case "dropped":
			a.print("(the draft was dropped: %s)", t.DraftWhy)
		}
		a.add(mind.Line{Who: t.Speaker.name(), Text: t.Text})
		a.answer(ctx, t.Seq, t.DraftText)
	case e.Kind == "transcript" && e.Line != nil && !e.Line.Final:
		a.draft(ctx, mind.Line{Who: e.Line.Speaker.name(), Text: e.Line.Text}, e.Line.Seq)
	case e.Kind == "turn-extended":
		a.forget() // the whole turn comes again
		a.print("(they go on)")
	case e.Kind == "interrupted":
		a.forget()
		a.print("(interrupted)")
	case e.Kind == "question" && e.Question != nil:
		a.print("a person has to decide: %s", e.Question.Text)
	}
}

// draft prepares an answer while the sentence is still being said.
func (a *agent) draft(ctx context.Context, soFar mind.Line, seq int64) {
	d, ok := a.mind.(mind.Drafter)
	if !ok {
		return
	}
	text, err := d.Draft(ctx, a.lines(), soFar)
	if err != nil || text == "" || text == a.drafted {
		return
	}
	a.drafted = text
	var r struct {
		OK       bool   `json:"ok"`
		Reason   string `json:"reason"`
		Sentence string `json:"sentence"`
	}
	err = a.call(ctx, "meeting_draft", map[string]any{"meeting_id": a.meeting, "text": text, "ready": true, "for_turn_seq": seq}, &r)
	switch {
	case err != nil && ctx.Err() == nil:
		a.print("no draft: %v", err)
	case err == nil && r.OK:
		a.print("(ready to say: %s)", r.Sentence)
	case err == nil:
		a.print("(no draft: %s)", r.Reason)
	}
}

// answer thinks of an answer to a turn and says it. The service leaves out what the draft has said already, and drops the
// answer when the speaker went on. A new turn makes the agent forget the last.
func (a *agent) answer(ctx context.Context, turn int64, drafted string) {
	a.forget()
	ctx, a.forget = context.WithCancel(ctx)
	talk := a.lines()
	a.think.Go(func() {
		text, err := a.mind.Answer(ctx, talk)
		if err != nil && ctx.Err() == nil {
			a.print("no answer: %v", err)
		}
		if err != nil || text == "" || ctx.Err() != nil {
			return
		}
		var r struct {
			State   string `json:"state"`
			Reason  string `json:"reason"`
			Skipped bool   `json:"draft_prefix_skipped"`
		}
		err = a.call(ctx, "meeting_speak", map[string]any{"meeting_id": a.meeting, "text": text, "turn_seq": turn}, &r)
		switch {
		case err != nil && ctx.Err() == nil:
			a.print("not said: %v", err)
		case err != nil:
		case r.State == "dropped":
			a.print("not said: %s", r.Reason)
		default:
			rest := text
			if r.Skipped {
				rest = strings.TrimSpace(strings.TrimPrefix(text, drafted))
			}
			if rest != "" {
				a.print("we: %s", rest)
			}
			a.add(mind.Line{Text: text, Ours: true})
		}
	})
}

// call calls a tool and reads its structured result into result, which may be nil.
func (a *agent) call(ctx context.Context, name string, args map[string]any, result any) error {
	r, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.IsError {
		var text []string
		for _, c := range r.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				text = append(text, t.Text)
			}
		}
		return fmt.Errorf("%s: %s", name, strings.Join(text, " "))
	}
	if result == nil {
		return nil
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

func (a *agent) add(l mind.Line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = append(a.talk, l)
}

func (a *agent) lines() []mind.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.talk)
}

func (a *agent) print(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, format+"\n", args...)
}
