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

	"parley/examples/mind"
)

// agent attends one meeting: what is said comes in through the meeting's channel, what it answers goes out through it.
//
// The goroutine that reads owns talk, partial and the rest; thoughts run beside it, one at a time, and are dropped
// when somebody goes on speaking.
type agent struct {
	life context.Context // ends with the attendance, and what is thought and asked in it
	p    *peer
	mind mind.Mind
	out  io.Writer

	meeting string
	joined  chan struct{} // closed when meeting is known
	over    chan error    // gets the end of the meeting
	talk    []mind.Line
	drafted string // what was offered for the turn at hand
	queue   chan func()

	mu     sync.Mutex // of out
	forget context.CancelFunc
	think  sync.WaitGroup
}

// grant is everything that we let the service do: it is our policy, and ours alone.
var grant = []string{"tools", "pushEvents", "channels.register", "channels.lifecycle", "channels.publish", "channels.incoming", "channels.streaming"}

// attend joins a meeting over a connection and talks in it until it ends.
func attend(ctx context.Context, w wire, m mind.Mind, link string, out io.Writer) (err error) {
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives ctx: leaving takes a moment
	a := &agent{life: reading, p: newPeer(w), mind: m, out: out, joined: make(chan struct{}), over: make(chan error, 1), forget: func() {}, queue: make(chan func(), 256)}
	a.p.serve = a.serve
	var g sync.WaitGroup
	g.Go(func() {
		a.finish(fmt.Errorf("the connection ended: %w", a.p.run(reading)))
	})
	g.Go(func() { a.work(reading) })
	defer func() {
		cancel()
		err = errors.Join(err, w.Close())
		g.Wait()
		a.think.Wait()
	}()
	if err := a.handshake(ctx); err != nil {
		return err
	}
	if err := a.join(ctx, link); err != nil {
		return err
	}
	select {
	case err := <-a.over:
		return err
	case <-ctx.Done():
		// Leave politely: the meeting's people should not be left with a silent bot.
		return a.tool(reading, "meeting_leave", map[string]any{"meeting_id": a.meeting}, nil)
	}
}

// handshake is MCPL 0.5: initialize, initialized, then our policy, before which the service may do nothing.
func (a *agent) handshake(ctx context.Context) error {
	var hello struct {
		Capabilities struct {
			Experimental struct {
				MCPL *struct {
					Version string `json:"version"`
				} `json:"mcpl"`
			} `json:"experimental"`
		} `json:"capabilities"`
	}
	err := a.p.call(ctx, "initialize", map[string]any{
		"protocolVersion": "2024-11-05", "clientInfo": map[string]any{"name": "mcpl-agent", "version": "1"},
		"capabilities": map[string]any{"experimental": map[string]any{"mcpl": map[string]any{
			"version": "0.5", "pushEvents": true, "featureSets": true,
			"channels": map[string]any{"register": true, "lifecycle": true, "publish": true, "incoming": true, "streaming": true},
		}}},
	}, &hello)
	if err != nil {
		return err
	}
	if hello.Capabilities.Experimental.MCPL == nil {
		return errors.New("the service does not speak MCPL to us: it is too old, or the token may only read")
	}
	if err := a.p.notify(ctx, "notifications/initialized", map[string]any{}); err != nil {
		return err
	}
	return a.p.call(ctx, "featureSets/update", map[string]any{"effectiveCapabilities": grant, "enabled": []string{"parley.meeting"}}, nil)
}

// join asks the service to attend, and waits until it is in.
func (a *agent) join(ctx context.Context, link string) error {
	var st struct {
		Meeting string `json:"meeting_id"`
		State   string `json:"state"`
		Reason  string `json:"reason_text"`
	}
	if err := a.tool(ctx, "meeting_join", map[string]any{"url": link}, &st); err != nil {
		return err
	}
	if st.State == "ended" {
		return fmt.Errorf("the meeting was not joined: %s", st.Reason)
	}
	a.meeting = st.Meeting
	close(a.joined)
	a.print("joined as %s", st.Meeting)
	return nil
}

// tool calls a tool.
func (a *agent) tool(ctx context.Context, name string, args, result any) error {
	var r struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := a.p.call(ctx, "tools/call", map[string]any{"name": name, "arguments": args}, &r); err != nil {
		return err
	}
	if r.IsError {
		var text []string
		for _, c := range r.Content {
			text = append(text, c.Text)
		}
		return fmt.Errorf("%s: %s", name, strings.Join(text, " "))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(r.Structured, result)
}

// incoming is a message of a channel.
type incoming struct {
	ChannelID string `json:"channelId"`
	MessageID string `json:"messageId"`
	Author    struct {
		Name string `json:"name"`
	} `json:"author"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Metadata struct {
		TurnSeq   int64  `json:"turn_seq"`
		Seq       int64  `json:"seq"`
		Echo      bool   `json:"echo_suspected"`
		Draft     string `json:"draft"`
		DraftText string `json:"draft_text"`
		Said      string `json:"said"`
	} `json:"metadata"`
	Tags []string `json:"tags"`
}

// serve answers the service. It runs on the goroutine that reads, so it hands on what takes time.
func (a *agent) serve(method string, params json.RawMessage) (any, *rpcError) {
	switch method {
	case "channels/register":
		var p struct {
			Channels []struct {
				ID string `json:"id"`
			} `json:"channels"`
		}
		if json.Unmarshal(params, &p) != nil {
			return nil, &rpcError{-32602, "Invalid params"}
		}
		results, names := []any{}, []string{}
		for _, c := range p.Channels {
			results, names = append(results, map[string]any{"id": c.ID, "accepted": true}), append(names, c.ID)
		}
		return map[string]any{"registered": names, "results": results}, nil
	case "channels/changed":
		var p struct {
			Removed []string `json:"removed"`
		}
		_ = json.Unmarshal(params, &p)
		results := []any{}
		for _, id := range p.Removed {
			results = append(results, map[string]any{"id": id, "accepted": true})
			a.do(func() {
				if id == "parley:meeting:"+a.meeting {
					a.print("the channel is closed")
					a.finish(nil)
				}
			})
		}
		return map[string]any{"results": results}, nil
	case "channels/incoming":
		var p struct {
			Messages []incoming `json:"messages"`
		}
		if json.Unmarshal(params, &p) != nil {
			return nil, &rpcError{-32602, "Invalid params"}
		}
		results := []any{}
		for _, m := range p.Messages {
			results = append(results, map[string]any{"messageId": m.MessageID, "accepted": true})
			a.do(func() { a.hear(m) })
		}
		return map[string]any{"results": results}, nil
	case "push/event":
		var p struct {
			Tags    []string `json:"tags"`
			Payload struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"payload"`
		}
		if json.Unmarshal(params, &p) == nil && len(p.Payload.Content) > 0 && slices.Contains(p.Tags, "parley:meeting-question") {
			a.print("a person has to decide: %s", p.Payload.Content[0].Text)
		}
		return map[string]any{"accepted": true}, nil
	}
	return nil, &rpcError{-32601, "Method not found"}
}

// finish tells of the end; the first word of it counts.
func (a *agent) finish(err error) {
	select {
	case a.over <- err:
	default:
	}
}

// do queues work that needs to know the meeting. What is too much is dropped: the transcript has it.
func (a *agent) do(f func()) {
	select {
	case a.queue <- f:
	default:
		a.print("too much at once; something was not heard")
	}
}

func (a *agent) work(ctx context.Context) {
	select {
	case <-a.joined:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case f := <-a.queue:
			f()
		case <-ctx.Done():
			a.forget()
			return
		}
	}
}

// hear deals with one message of the channel.
func (a *agent) hear(m incoming) {
	if m.ChannelID != "parley:meeting:"+a.meeting || len(m.Content) == 0 {
		return
	}
	tagged := func(tag string) bool { return slices.Contains(m.Tags, tag) }
	line := mind.Line{Who: m.Author.Name, Text: m.Content[0].Text}
	switch {
	case tagged("parley:meeting-turn-extended"):
		a.forget() // the whole turn comes again
		a.print("(they go on)")
	case tagged("parley:meeting-interrupted"):
		a.forget()
		if n := len(a.talk); n > 0 && a.talk[n-1].Ours {
			a.talk[n-1].Text = m.Metadata.Said + " …"
		}
		a.print("(interrupted)")
	case tagged("parley:partial"):
		a.draft(line, m.Metadata.Seq)
	case tagged("parley:meeting-transcript") && !m.Metadata.Echo:
		a.print("%s: %s", line.Who, line.Text)
		a.talk = append(a.talk, line)
		a.drafted = ""
		if m.Metadata.Draft == "spoken" {
			a.print("we: %s (drafted)", m.Metadata.DraftText)
		}
		a.answer(m.Metadata.TurnSeq)
	}
}

// draft prepares an answer while the sentence is still being said.
func (a *agent) draft(soFar mind.Line, seq int64) {
	d, ok := a.mind.(mind.Drafter)
	if !ok {
		return
	}
	text, err := d.Draft(a.life, a.talk, soFar)
	if err != nil || text == "" || text == a.drafted {
		return
	}
	a.drafted = text
	a.think.Go(func() {
		err := a.tool(a.life, "meeting_draft", map[string]any{"meeting_id": a.meeting, "text": text, "ready": true, "for_turn_seq": seq}, nil)
		if err != nil {
			a.print("no draft: %v", err)
		}
	})
}

// answer thinks of an answer to a turn and publishes it. A new turn, or more of this one, makes it forget the last.
func (a *agent) answer(turn int64) {
	a.forget()
	ctx, cancel := context.WithCancel(a.life)
	a.forget = cancel
	talk := slices.Clone(a.talk)
	a.think.Go(func() {
		text, err := a.mind.Answer(ctx, talk)
		if err != nil || text == "" || ctx.Err() != nil {
			if err != nil && ctx.Err() == nil {
				a.print("no answer: %v", err)
			}
			return
		}
		var r struct {
			Delivered  bool   `json:"delivered"`
			Reason     string `json:"reason"`
			Superseded bool   `json:"superseded_by_new_speech"`
		}
		err = a.p.call(ctx, "channels/publish", map[string]any{"channelId": "parley:meeting:" + a.meeting, "threadId": nil,
			"content": []any{map[string]any{"type": "text", "text": text}}, "turn_seq": turn}, &r)
		switch {
		case err != nil && ctx.Err() == nil:
			a.print("not known whether it is said: %v", err)
		case err == nil && !r.Delivered:
			a.print("not said (%s)", r.Reason)
		case err == nil:
			a.print("we: %s", text)
			a.do(func() { a.talk = append(a.talk, mind.Line{Text: text, Ours: true}) })
		}
	})
}

func (a *agent) print(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, format+"\n", args...)
}
