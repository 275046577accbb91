package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ECSVersion is the version of the Elastic Common Schema that ECS writes.
const ECSVersion = "8.11.0"

// Entry is a verified line, for rendering.
type Entry struct{ e entry }

// Seq is the record's number, from 1.
func (x Entry) Seq() int64 { return x.e.Seq }

// Hash is the record's own.
func (x Entry) Hash() string { return x.e.Hash }

// Line is the record as it stands in the log, without its line end.
func (x Entry) Line() (string, error) {
	text, _, err := x.e.line()
	return strings.TrimSuffix(string(text), "\n"), err
}

func (x Entry) outcome() string {
	switch x.e.Stage {
	case "completed":
		return "success"
	case "refused", "failed":
		return "failure"
	}
	return "unknown" // authorized: nobody knows yet
}

// ECS renders it as one JSON object in the Elastic Common Schema, with what that has no field for under "parley".
func (x Entry) ECS() ([]byte, error) {
	e := x.e
	kind := map[string]string{"refused": "denied", "authorized": "allowed", "completed": "end", "failed": "error"}[e.Stage]
	if kind == "" {
		kind = "info"
	}
	type object = map[string]any
	event := object{"kind": "event", "category": []string{"api"}, "type": []string{kind}, "outcome": x.outcome(), "sequence": e.Seq, "hash": e.Hash,
		"provider": "parley", "dataset": "parley.audit"}
	set := func(o object, key string, v string) {
		if v != "" {
			o[key] = v
		}
	}
	set(event, "action", e.Tool)
	set(event, "reason", e.Code)
	if e.TookMS > 0 {
		event["duration"] = int64(e.TookMS * 1e6)
	}
	own := object{"stage": e.Stage, "prev": e.Prev}
	set(own, "meeting_id", e.Meeting)
	set(own, "effect", e.Effect)
	set(own, "transport", e.Transport)
	if e.Replayed {
		own["replayed"] = true
	}
	if e.Approved {
		own["approved"] = true
	}
	if e.Lost > 0 {
		own["lost_bytes"] = e.Lost
	}
	if e.Agent != nil {
		own["agent"] = e.Agent
	}
	out := object{"@timestamp": e.At, "ecs": object{"version": ECSVersion}, "event": event, "parley": own}
	if e.Tenant != "" {
		out["organization"] = object{"id": e.Tenant}
	}
	if e.Token != "" {
		out["user"] = object{"id": e.Token}
	}
	if len(e.Rules) > 0 {
		out["rule"] = object{"id": e.Rules}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("audit: ECS: %w", err)
	}
	return b, nil
}

// maxCEF is how long a custom string of a CEF record may be.
const maxCEF = 1023

// CEF renders it as one line in the Common Event Format.
func (x Entry) CEF(version string) (string, error) {
	e := x.e
	at, err := time.Parse(timeForm, e.At)
	if err != nil {
		return "", fmt.Errorf("audit: CEF: %w", err)
	}
	severity := map[string]int{"refused": 6, "failed": 4, "authorized": 1, "completed": 1}[e.Stage]
	var b strings.Builder
	fmt.Fprintf(&b, "CEF:0|Parley|parley|%s|%s|tool call %s|%d|", header(version), header(e.Stage), header(e.Stage), severity)
	first := true
	put := func(key, value string) {
		if value == "" {
			return
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(key + "=" + extension(value))
	}
	put("rt", fmt.Sprint(at.UnixMilli()))
	put("act", e.Tool)
	put("outcome", x.outcome())
	put("reason", e.Code)
	if e.Agent != nil {
		put("suid", e.Agent.Principal) // the agent's capability, not a person
		put("flexNumber1", fmt.Sprint(e.Agent.Generation))
		put("flexNumber1Label", "credential generation")
	} else {
		put("suid", e.Token)
	}
	put("suser", e.Tenant)
	put("app", e.Transport)
	custom := func(n int, label, value string) {
		if value != "" {
			put(fmt.Sprintf("cs%d", n), value)
			put(fmt.Sprintf("cs%dLabel", n), label)
		}
	}
	custom(1, "rules", strings.Join(e.Rules, ","))
	custom(2, "meeting", e.Meeting)
	custom(3, "effect", e.Effect)
	custom(4, "hash", e.Hash)
	custom(5, "prev", e.Prev)
	if a := e.Agent; a != nil {
		custom(6, "agent", strings.TrimSuffix("action "+a.Action+" scope "+a.Scope+" outcome "+a.Outcome+" session "+a.Session, " session "))
		put("externalId", a.Trace)
	}
	put("cn1", fmt.Sprint(e.Seq))
	put("cn1Label", "sequence")
	put("cn2", fmt.Sprint(int64(e.TookMS)))
	put("cn2Label", "took_ms")
	return b.String(), nil
}

func header(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", " ", "\r", " ").Replace(s)
}

// extension escapes a value after cutting it to what the format allows.
func extension(s string) string {
	if len(s) > maxCEF {
		s = strings.ToValidUTF8(s[:maxCEF], "")
	}
	return strings.NewReplacer(`\`, `\\`, "=", `\=`, "\n", `\n`, "\r", `\r`).Replace(s)
}
