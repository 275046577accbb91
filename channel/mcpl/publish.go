package mcpl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/channel"
	"parley/transcript"
	"parley/turn"
)

// publishChars is how many characters a publish has at most. The meeting holds the same limit; here it keeps long
// texts from ever getting there.
const publishChars = 2000

// nameMax bounds ids that hosts make up.
const nameMax = 200

// Why a publish is refused before the meeting sees it. Those of package turn come beside them.
const (
	reasonThread = "unknown-thread" // no such thread in this channel
	reasonBusy   = "too-many-waiting"
)

// Handlers are the methods that a board serves, for Options.Handlers.
func (b *Board) Handlers() map[string]Method {
	in := func(path string, h func(*Session, json.RawMessage) (any, *Error)) Method {
		return Method{Path: path, Set: b.o.Set, Start: func(s *Session, params json.RawMessage, reply func(any, *Error)) { reply(h(s, params)) }}
	}
	return map[string]Method{
		"channels/list":              in(PathRegister, b.list),
		"channels/open":              in(PathLifecycle, b.openChannel),
		"channels/close":             in(PathLifecycle, b.closeChannel),
		"channels/publish":           {Path: PathPublish, Set: b.o.Set, Start: b.publish},
		"channels/outgoing/chunk":    in(PathStreaming, b.chunk),
		"channels/outgoing/complete": in(PathStreaming, b.complete),
	}
}

// unknownChannel is the same for a channel that is nobody's and for one that is somebody else's.
func unknownChannel(id string) *Error {
	return &Error{Code: CodeUnknownChannel, Message: "Unknown channel", Data: data("channelId", id)}
}

// data makes the data of an error from names and values.
func data(pairs ...string) json.RawMessage {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil // texts can be written
	}
	return raw
}

func invalid(err error) *Error { return &Error{Code: CodeInvalidParams, Message: err.Error()} }

// refusal is what a desk's error is answered.
func refusal(err error, id string) *Error {
	var denied channel.DeniedError
	if errors.As(err, &denied) {
		return Denied(denied.Capability)
	}
	return unknownChannel(id)
}

func (b *Board) list(s *Session, _ json.RawMessage) (any, *Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []descriptor{}
	if g := b.guests[s]; g != nil {
		for _, ch := range b.desk.List(g.conn) {
			out = append(out, describe(ch))
		}
	}
	return map[string]any{"channels": out}, nil
}

// named finds the id that a host means: it names a channel, or (older hosts) only what the descriptor said of it.
func named(params json.RawMessage) (string, error) {
	var p struct {
		ChannelID *string         `json:"channelId"`
		Type      string          `json:"type"`
		Address   json.RawMessage `json:"address"`
	}
	if err := unmarshal(params, &p); err != nil {
		return "", err
	}
	if p.ChannelID != nil && *p.ChannelID != "" {
		return bounded(*p.ChannelID)
	}
	var address struct {
		Meeting string `json:"meeting_id"`
	}
	if p.Type != channelType || json.Unmarshal(p.Address, &address) != nil || address.Meeting == "" {
		return "", errors.New("channelId is missing, and so is an address with a meeting_id")
	}
	return bounded(channel.ID(address.Meeting))
}

// unmarshal reads parameters, which may be absent.
func unmarshal(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, into); err != nil {
		return errors.New("the parameters cannot be read")
	}
	return nil
}

func bounded(id string) (string, error) {
	if len(id) > nameMax {
		return "", fmt.Errorf("an id has more than %d bytes", nameMax)
	}
	return id, nil
}

// past finds a channel that a connection had.
func (g *guest) past(id string) (reason string, ok bool) {
	for _, p := range g.ended {
		if p.id == id {
			return p.reason, true
		}
	}
	return "", false
}

func (b *Board) openChannel(s *Session, params json.RawMessage) (any, *Error) {
	id, err := named(params)
	if err != nil {
		return nil, invalid(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guests[s]
	if g == nil {
		return nil, unknownChannel(id)
	}
	ch, err := b.desk.Open(g.conn, id)
	if err != nil {
		if reason, was := g.past(id); was && errors.Is(err, channel.ErrUnknown) {
			return nil, &Error{Code: CodeOpenFailed, Message: "Channel open failed", Data: data("channelId", id, "reason", reason)}
		}
		return nil, refusal(err, id)
	}
	return map[string]any{"channel": describe(ch)}, nil
}

func (b *Board) closeChannel(s *Session, params json.RawMessage) (any, *Error) {
	id, err := named(params)
	if err != nil {
		return nil, invalid(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guests[s]
	if g == nil {
		return nil, unknownChannel(id)
	}
	if _, err := b.desk.Shut(g.conn, id); err != nil {
		if _, was := g.past(id); was && errors.Is(err, channel.ErrUnknown) {
			return map[string]any{"closed": true}, nil
		}
		return nil, refusal(err, id)
	}
	return map[string]any{"closed": true}, nil
}

// publishParams are what channels/publish says.
type publishParams struct {
	channel string
	text    string
	turn    transcript.Seq
	stream  string
	// thread is the member threadId as it came; nil when it did not.
	thread json.RawMessage
}

// parsePublish reads them. Unknown members and blocks are left alone.
func parsePublish(params json.RawMessage) (publishParams, error) {
	var p struct {
		ChannelID string          `json:"channelId"`
		Content   json.RawMessage `json:"content"`
		TurnSeq   json.RawMessage `json:"turn_seq"`
		PublishID string          `json:"publishId"`
		Metadata  json.RawMessage `json:"metadata"`
	}
	var members map[string]json.RawMessage
	if err := errors.Join(unmarshal(params, &p), unmarshal(params, &members)); err != nil {
		return publishParams{}, err
	}
	if p.ChannelID == "" {
		return publishParams{}, errors.New("channelId is missing")
	}
	out := publishParams{thread: members["threadId"]}
	var err error
	if out.channel, err = bounded(p.ChannelID); err != nil {
		return out, err
	}
	if out.stream, err = bounded(p.PublishID); err != nil {
		return out, err
	}
	if out.text, err = text(p.Content); err != nil {
		return out, err
	}
	seq := p.TurnSeq
	if seq == nil {
		var metadata map[string]json.RawMessage
		if json.Unmarshal(p.Metadata, &metadata) == nil { // others' metadata is no business of ours
			seq = metadata["turn_seq"]
		}
	}
	if out.turn, err = turnSeq(seq); err != nil {
		return out, err
	}
	return out, nil
}

// turnSeq reads the number of a turn; zero where there is none.
func turnSeq(raw json.RawMessage) (transcript.Seq, error) {
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("turn_seq is no number of a turn")
	}
	return transcript.Seq(n), nil
}

// text joins the text blocks of a content by line ends; a content may be a plain text, too.
func text(content json.RawMessage) (string, error) {
	if content == nil || string(content) == "null" {
		return "", nil
	}
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain, nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return "", errors.New("content is no list of blocks")
	}
	var parts []string
	for _, raw := range blocks {
		var b textBlock
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n"), nil
}

// stream is the name of a stream in the meeting: hosts do not know each other's names.
func (g *guest) stream(name string) string {
	return strconv.FormatInt(int64(g.conn), 10) + ":" + name
}

// receipt is the answer to a publish. The thread is echoed where one was asked for.
type receipt struct {
	channel.Receipt
	Thread json.RawMessage `json:"threadId,omitempty"`
}

func (b *Board) publish(s *Session, params json.RawMessage, reply func(any, *Error)) {
	p, err := parsePublish(params)
	if err != nil {
		reply(nil, invalid(err))
		return
	}
	answer := func(r channel.Receipt, e *Error) {
		if e != nil {
			b.stats.refused.Add(1)
			reply(nil, e)
			return
		}
		if r.Delivered {
			b.stats.published.Add(1)
		} else {
			b.stats.refused.Add(1)
			r.MessageID = "" // with one, a host would not know whether something was said
		}
		reply(receipt{r, p.thread}, nil)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guests[s]
	if g == nil {
		answer(channel.Receipt{}, unknownChannel(p.channel))
		return
	}
	ch, err := b.desk.Publish(g.conn, p.channel)
	l := g.links[p.channel]
	if err == nil && l == nil {
		err = channel.ErrUnknown
	}
	if err != nil {
		if reason, was := g.past(p.channel); was && errors.Is(err, channel.ErrUnknown) {
			answer(channel.Receipt{Reason: reason}, nil)
			return
		}
		answer(channel.Receipt{}, refusal(err, p.channel))
		return
	}
	switch {
	case !threadOf(ch, p.thread):
		answer(channel.Receipt{Reason: reasonThread}, nil)
	case strings.TrimSpace(p.text) == "":
		answer(channel.Receipt{Reason: turn.ReasonEmpty}, nil)
	case tooLong(p.text):
		answer(channel.Receipt{Reason: turn.ReasonTooLong}, nil)
	default:
		out := channel.Publication{Text: p.text, Turn: p.turn}
		if p.stream != "" {
			out.Stream = g.stream(p.stream)
			delete(l.lane.open, out.Stream)
		}
		if !b.put(g, l, op{publish: &out, reply: answer}) {
			answer(channel.Receipt{Reason: reasonBusy}, nil)
		}
	}
}

// threadOf tells whether a channel has a thread: the meeting is the only one, and null is the channel itself.
func threadOf(ch channel.Channel, thread json.RawMessage) bool {
	if thread == nil || string(thread) == "null" {
		return true
	}
	var name string
	return json.Unmarshal(thread, &name) == nil && name == ch.Meeting
}

// streamed finds the channel and the name of a stream. Nobody is told of what is refused: it has no answer.
func (b *Board) streamed(s *Session, id, inference, publish string) (*guest, *link, string) {
	g := b.guests[s]
	if g == nil {
		return nil, nil, ""
	}
	if _, err := b.desk.Stream(g.conn, id); err != nil {
		return nil, nil, ""
	}
	name := publish
	if name == "" {
		name = inference
	}
	if l := g.links[id]; l != nil && name != "" && len(name) <= nameMax {
		return g, l, g.stream(name)
	}
	return nil, nil, ""
}

func (b *Board) chunk(s *Session, params json.RawMessage) (any, *Error) {
	var p struct {
		InferenceID string          `json:"inferenceId"`
		ChannelID   string          `json:"channelId"`
		PublishID   string          `json:"publishId"`
		ThreadID    json.RawMessage `json:"threadId"`
		Index       int             `json:"index"`
		Delta       string          `json:"delta"`
		Speculative bool            `json:"speculative"`
		TurnSeq     json.RawMessage `json:"turn_seq"`
	}
	seq, err := transcript.Seq(0), unmarshal(params, &p)
	if err == nil {
		seq, err = turnSeq(p.TurnSeq)
	}
	if err != nil {
		return nil, invalid(err)
	}
	speculative := p.Speculative || s.Host().Speculative
	b.mu.Lock()
	defer b.mu.Unlock()
	g, l, name := b.streamed(s, p.ChannelID, p.InferenceID, p.PublishID)
	if l == nil || !threadOf(l.ch, p.ThreadID) {
		b.stats.chunksLost.Add(1)
		return nil, unknownChannel(p.ChannelID)
	}
	b.put(g, l, op{chunk: &channel.Chunk{Stream: name, Index: p.Index, Delta: p.Delta, Turn: seq, Speculative: speculative && l.ch.Speculative}})
	return map[string]any{}, nil
}

func (b *Board) complete(s *Session, params json.RawMessage) (any, *Error) {
	var p struct {
		InferenceID string          `json:"inferenceId"`
		ChannelID   string          `json:"channelId"`
		PublishID   string          `json:"publishId"`
		Content     json.RawMessage `json:"content"`
		Cancelled   bool            `json:"cancelled"`
	}
	whole, err := "", unmarshal(params, &p)
	if err == nil {
		whole, err = text(p.Content)
	}
	if err != nil {
		return nil, invalid(err)
	}
	if tooLong(whole) {
		whole = "" // it cannot be published; what was streamed of it is all there is
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g, l, name := b.streamed(s, p.ChannelID, p.InferenceID, p.PublishID)
	if l == nil {
		return nil, unknownChannel(p.ChannelID)
	}
	delete(l.lane.open, name)
	b.put(g, l, op{complete: &channel.Completion{Stream: name, Text: whole, Cancelled: p.Cancelled}})
	return map[string]any{}, nil
}
