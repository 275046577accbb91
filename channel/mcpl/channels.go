package mcpl

import (
	"encoding/json"
	"strconv"
	"time"

	"parley/channel"
)

// channelType is the type of every channel of ours.
const channelType = "parley-meeting"

// descriptor is a channel as hosts see it.
type descriptor struct {
	ID        string            `json:"id"`
	Type      string            `json:"type"`
	Label     string            `json:"label"`
	Direction string            `json:"direction"`
	Address   map[string]string `json:"address"`
	Metadata  map[string]string `json:"metadata"`
	// InitiallyOpen asks a host to open it unless somebody decided otherwise.
	InitiallyOpen bool         `json:"initiallyOpen"`
	Capabilities  capabilities `json:"capabilities"`
	Streaming     *streaming   `json:"streaming,omitempty"`
}

type capabilities struct {
	Publish publishTarget `json:"publish"`
}

// publishTarget declares where a publish lands. "exact" means: in the thread that it names, at the root for null, or
// nowhere. Newer hosts never publish to a channel that declares nothing.
type publishTarget struct {
	Target string `json:"target"`
}

type streaming struct {
	Speculative bool `json:"speculative"`
}

// describe makes a channel's descriptor.
func describe(c channel.Channel) descriptor {
	d := descriptor{
		ID: c.ID, Type: channelType, Label: c.Label, Direction: "bidirectional",
		Address:       map[string]string{"meeting_id": c.Meeting},
		Metadata:      map[string]string{"meeting_id": c.Meeting},
		InitiallyOpen: true, Capabilities: capabilities{publishTarget{"exact"}},
	}
	if d.Label == "" {
		d.Label = c.Meeting // hosts want one
	}
	if c.Platform != "" {
		d.Metadata["platform"] = c.Platform
	}
	if c.Speculative {
		d.Streaming = &streaming{true}
	}
	return d
}

// textBlock is a content block of text.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// incoming is a message on its way to a host.
type incoming struct {
	ChannelID string           `json:"channelId"`
	MessageID string           `json:"messageId"`
	ThreadID  string           `json:"threadId"`
	Author    channel.Author   `json:"author"`
	Timestamp string           `json:"timestamp"`
	Content   []textBlock      `json:"content"`
	Metadata  channel.Metadata `json:"metadata"`
	Tags      []string         `json:"tags"`
	Coalesce  *coalesce        `json:"coalesce,omitempty"`
}

// coalesce names what an unread message may be replaced under.
type coalesce struct {
	Key string `json:"key"`
}

// message makes the wire form of a message for a host.
func message(m channel.Message, h Host) incoming {
	in := incoming{ChannelID: m.Channel, MessageID: m.ID, ThreadID: m.Thread, Author: m.Author,
		Timestamp: m.At.UTC().Format(time.RFC3339Nano), Metadata: m.Metadata, Tags: m.Tags, Content: []textBlock{}}
	for _, t := range m.Text {
		in.Content = append(in.Content, textBlock{"text", t})
	}
	// An unread partial gives way to the next one and to its final.
	if h.CoalescesIncoming && m.Metadata.Seq != 0 {
		in.Coalesce = &coalesce{"turn:" + strconv.FormatInt(int64(m.Metadata.Seq), 10)}
	}
	return in
}

// tookIt reads a host's answer to channels/register or channels/changed: whether it took the one channel in it.
// Hosts of 0.4 answer with "registered" alone, or with nothing; of newer ones only results count.
func tookIt(raw json.RawMessage, id string, old bool) bool {
	var r struct {
		Results *[]struct {
			ID       string `json:"id"`
			Accepted bool   `json:"accepted"`
		} `json:"results"`
		Registered *[]string `json:"registered"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return false
	}
	switch {
	case r.Results != nil:
		for _, x := range *r.Results {
			if x.ID == id {
				return x.Accepted
			}
		}
		return false
	case r.Registered != nil:
		for _, x := range *r.Registered {
			if x == id {
				return true
			}
		}
		return false
	}
	return old
}
