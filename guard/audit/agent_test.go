package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var agentAt = time.UnixMilli(1_800_000_000_123)

// TestAgentsInTheLog: records with an agent and those from before there were any stand in one chain, and the old ones
// are nobody's.
func TestAgentsInTheLog(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, r := range []Record{
		{At: agentAt, Stage: "completed", Tenant: "me", Token: "tok", Transport: "http", Tool: "read"},
		{At: agentAt, Stage: "completed", Tenant: "me", Transport: "control", Tool: "read", Agent: &Agent{"read", "read", "completed", "00000000-0000-4000-8000-000000000001", "builder", 7, "abc"}},
		{At: agentAt, Stage: "refused", Transport: "control", Code: "unauthenticated"},
	} {
		if err := l.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	var got []Entry
	if _, err := Verify(dir, func(e Entry) error { got = append(got, e); return nil }); err != nil {
		t.Fatal(err)
	}
	if got[0].e.Agent != nil || got[1].e.Agent == nil || got[2].e.Agent != nil {
		t.Fatalf("%+v", got)
	}
	raw, err := got[1].ECS()
	if err != nil {
		t.Fatal(err)
	}
	var ecs struct {
		Parley struct{ Agent Agent }
	}
	if err := json.Unmarshal(raw, &ecs); err != nil || ecs.Parley.Agent.Principal != "builder" || ecs.Parley.Agent.Generation != 7 || ecs.Parley.Agent.Outcome != "completed" {
		t.Errorf("%s", raw)
	}
	cef, err := got[1].CEF("1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" suid=builder ", " flexNumber1=7 ", " cs6=action read scope read outcome completed session 00000000-0000-4000-8000-000000000001 ", " cs4=" + got[1].Hash() + " ", " externalId=abc "} {
		if !strings.Contains(cef+" ", want) {
			t.Errorf("%q is not in %s", want, cef)
		}
	}
	for i := 1; i <= 6; i++ { // no custom field is written twice
		if key := " cs" + string(rune('0'+i)) + "="; strings.Count(cef, key) > 1 {
			t.Errorf("%s stands twice", key)
		}
	}
	old, err := got[0].CEF("1")
	if err != nil || strings.Contains(old, "flexNumber1") || !strings.Contains(old, "suid=tok") {
		t.Errorf("%s, %v", old, err)
	}
}

// TestAnAgentsWordsAreNoWay: what a caller put in the place of a name does not reach the log.
func TestAnAgentsWordsAreNoWay(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	evil := "x|y=z\n password is hunter2 " + strings.Repeat("a", 2000)
	if err := l.Write(Record{At: agentAt, Stage: "refused", Agent: &Agent{evil, evil, evil, evil, evil, 1, evil}}); err != nil {
		t.Fatal(err)
	}
	_, err = Verify(dir, func(e Entry) error {
		cef, err := e.CEF("1")
		if err != nil || strings.ContainsAny(cef, "\n") || strings.Contains(cef, "password is") || len(e.e.Agent.Action) > maxField {
			t.Errorf("%v: %s", err, cef)
		}
		for _, part := range strings.Split(cef, " ") {
			if len(part) > maxCEF+10 {
				t.Errorf("a field has %d bytes", len(part))
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
