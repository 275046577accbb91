package policy

import (
	"encoding/json"
	"fmt"
)

// Caller says whether somebody can be asked.
type Caller uint8

// The callers. The zero value has nobody.
const (
	// Unattended has no person, or no way to reach one.
	Unattended Caller = iota
	// Attended has a person and a channel to ask through. The service tells this from the token and the
	// channel; a client cannot claim it.
	Attended
)

func (c Caller) String() string {
	if c == Attended {
		return "attended"
	}
	return "unattended"
}

// Request is a call as the policy sees it. Everything but Action and Args comes from the service, not from the
// caller.
type Request struct {
	Action string
	Caller Caller
	Args   Args
	Scope  Scope
	Tabs   Tabs
	// PageHost is the host of the page the call acts on; empty is a blank page or none.
	PageHost string
	// HumanCheck tells that the target is a human-verification control.
	HumanCheck bool
	// Multiline tells that the key or text goes into a field where Enter makes a new line.
	Multiline bool
	// Secrets are the hosts on which the sealed handles among the typed text were read.
	Secrets []string
	// CanMeet and CanHide are the tenant's grants to attend meetings and to record unannounced.
	CanMeet, CanHide bool
}

// Tabs are a run's own tabs.
type Tabs struct {
	Pinned string   // empty: the run is not pinned
	Owned  []string // tabs the run opened itself
}

func (t Tabs) has(id string) bool {
	if id == t.Pinned {
		return true
	}
	for _, o := range t.Owned {
		if id == o {
			return true
		}
	}
	return false
}

// Args are the arguments that conditions look at, by the names the tools use. An argument that is not here is
// of no concern to any condition.
type Args struct {
	URL      string   `json:"url"`
	Format   string   `json:"format"`
	HTML     bool     `json:"html"`
	Body     bool     `json:"body"`
	Key      string   `json:"key"`
	Keys     []string `json:"keys"`
	Submit   bool     `json:"submit"`
	Enter    bool     `json:"pressEnter"`
	Op       string   `json:"action"`
	Tab      string   `json:"tab"`
	Match    string   `json:"match"`
	Profile  string   `json:"profile"`
	SecretID string   `json:"secret_id"`
	Announce string   `json:"announce"`
	Failure  string   `json:"on_announce_failure"`
	Record   *bool    `json:"record"`
	On       *bool    `json:"on"`
	DryRun   bool     `json:"dry_run"`
	Fields   []Field  `json:"fields"`
}

// Field is one entry of a form that is filled in one call.
type Field struct {
	SecretID string `json:"secret_id"`
	Submit   bool   `json:"submit"`
}

// ArgsOf takes what conditions look at from a call's arguments: a JSON object, or a tool's own argument struct.
// An argument of another type than its name has here is an error, and the call must not be made.
func ArgsOf(arguments any) (Args, error) {
	raw, ok := arguments.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(arguments); err != nil {
			return Args{}, fmt.Errorf("arguments for the policy: %w", err)
		}
	}
	var loose map[string]json.RawMessage
	if err := json.Unmarshal(raw, &loose); err != nil {
		return Args{}, fmt.Errorf("arguments for the policy: %w", err)
	}
	// Other tools give these names to lists and numbers that no condition looks at.
	if f := loose["fields"]; len(f) > 0 && f[0] != '[' {
		delete(loose, "fields")
	}
	if f := loose["tab"]; len(f) > 0 && f[0] != '"' && f[0] != 'n' {
		loose["tab"], _ = json.Marshal(string(f)) // an index: 3 is tab "3"
	}
	raw, err := json.Marshal(loose)
	if err != nil {
		return Args{}, fmt.Errorf("arguments for the policy: %w", err)
	}
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return Args{}, fmt.Errorf("arguments for the policy: %w", err)
	}
	return a, nil
}
