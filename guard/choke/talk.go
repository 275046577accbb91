package choke

import (
	"context"
	"encoding/json"
	"reflect"

	"parley/channel"
	"parley/tenant"
	"parley/tool"
)

// Talk guards the conversations that do not pass the tools' way in and out: what is heard is sealed, and what is said
// is judged and recorded as the tool meeting_speak would be. Nobody can be asked there: what a person would have to
// confirm is refused.
func (g *Guard) Talk(c channel.Meetings, tenants Tenants) channel.Meetings {
	return talk{Meetings: c, g: g, tenants: tenants, speak: tool.Tool{Name: speakTool}}
}

// Tenants knows them; *tenant.Registry does.
type Tenants interface {
	Get(tenant.ID) (tenant.Tenant, bool)
}

// speakTool is the tool that publishing is judged as.
const speakTool = "meeting_speak"

// ReasonDenied is why a publish is refused that the policy does not allow.
const ReasonDenied = "denied-by-policy"

type talk struct {
	channel.Meetings
	g       *Guard
	tenants Tenants
	speak   tool.Tool
}

// Converse seals what people said.
func (t talk) Converse(ctx context.Context) <-chan channel.Update {
	in := t.Meetings.Converse(ctx)
	out := make(chan channel.Update)
	go func() {
		defer close(out)
		for u := range in {
			if u.Message != nil {
				m := t.g.SealMessage(tenant.ID(u.Tenant), *u.Message)
				u.Message = &m
			}
			select {
			case out <- u:
			case <-ctx.Done():
				for range in { // its maker closes it
				}
				return
			}
		}
	}()
	return out
}

// SealMessage is the message with every text sealed. The message itself may be shared and is not changed.
func (g *Guard) SealMessage(t tenant.ID, m channel.Message) channel.Message {
	seal := func(s string) string { return g.Seal(t, s) }
	text := make([]string, len(m.Text))
	for i, s := range m.Text {
		text[i] = seal(s)
	}
	m.Text = text
	m.Author.Name = seal(m.Author.Name)
	d := &m.Metadata
	for _, s := range []*string{&d.DraftText, &d.TurnText, &d.SoFar, &d.Said, &d.Unsaid, &d.ByText} {
		*s = seal(*s)
	}
	// The names of speakers, wherever they are pointed to.
	v := reflect.ValueOf(d).Elem()
	for _, name := range []string{"Speaker", "Speakers", "InterruptedBy"} {
		sealTexts(v.FieldByName(name), true, seal)
	}
	return m
}

// judge tells why something may not be said; empty: it may. The record has no words.
func (t talk) judge(ctx context.Context, id, meeting, text string) (rec tool.Record, reason string) {
	rec = tool.Record{At: t.g.o.Now(), Stage: tool.Authorized, Tenant: tenant.ID(id), Transport: "channel", Tool: speakTool, Meeting: meeting}
	who, ok := t.tenants.Get(tenant.ID(id))
	args := map[string]any{"meeting_id": meeting, "text": text}
	raw, err := json.Marshal(args)
	if ok && err == nil {
		d := t.g.Decide(ctx, tool.Request{Tool: &t.speak, Args: args, Caller: tool.Caller{Principal: tenant.Principal{Tenant: who}, Transport: "channel"}})
		rec.Effect, rec.Rules = d.Effect.String(), d.Rules
		ok = d.Effect == tool.Allow
	}
	if !ok || err != nil || t.g.Hands(&t.speak, raw) != nil {
		rec.Stage, rec.Code = tool.Refused, tool.CodeDenied
		return rec, ReasonDenied
	}
	return rec, ""
}

// record writes a line of the audit; false: it could not.
func (t talk) record(ctx context.Context, r tool.Record) bool {
	if t.g.o.Audit == nil {
		return true
	}
	if err := t.g.Audit(ctx, r); err != nil {
		t.g.o.Log.Error("what a host publishes cannot be recorded", "meeting", r.Meeting, "err", err)
		return false
	}
	return true
}

// Publish judges and records a publish. Without a record nothing is said.
func (t talk) Publish(ctx context.Context, id, meeting string, p channel.Publication) (channel.Receipt, error) {
	rec, reason := t.judge(ctx, id, meeting, p.Text)
	if recorded := t.record(ctx, rec); reason != "" || !recorded {
		return channel.Receipt{Reason: ReasonDenied}, nil
	}
	began := t.g.o.Now()
	r, err := t.Meetings.Publish(ctx, id, meeting, p)
	rec.Stage, rec.At = tool.Completed, t.g.o.Now()
	if rec.Took = rec.At.Sub(began); err != nil || !r.Delivered {
		rec.Stage = tool.Failed
	}
	t.record(ctx, rec)
	return r, err
}

// Chunk judges a piece that may be said before it is published. What is not allowed comes to nothing.
func (t talk) Chunk(ctx context.Context, id, meeting string, c channel.Chunk) error {
	if _, reason := t.judge(ctx, id, meeting, c.Delta); reason != "" {
		return nil
	}
	return t.Meetings.Chunk(ctx, id, meeting, c)
}
