// Package audit keeps one hash-chained record of what was asked of the service, by whom, and how it was decided.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Record is one line. It says who, what, the decision with its rules, and the outcome; never what was said, typed,
// read or shown. Its texts are names and ids of the service's own making.
type Record struct {
	At        time.Time
	Stage     string // refused, authorized, completed, failed
	Tenant    string
	Token     string // the token's public id
	Transport string
	Tool      string
	Meeting   string
	Effect    string   // allow, confirm, deny
	Rules     []string // the decisive ones, or those that were waived
	Approved  bool     // a person said yes
	Code      string   // of a failure
	Took      time.Duration
	Replayed  bool
	Agent     *Agent // of a call on the control endpoint; nil otherwise, and of a caller that nobody knows
}

// Agent says which local agent did what on the control endpoint. Its identity was verified.
type Agent struct {
	Action     string `json:"action"`
	Scope      string `json:"scope"`
	Outcome    string `json:"outcome"` // authorized, completed, denied, failed, or a phase of a prepared credential
	Session    string `json:"session,omitempty"`
	Principal  string `json:"principal_id"`
	Generation uint64 `json:"credential_generation"`
	Trace      string `json:"trace,omitempty"`
}

// entry is a record as it stands in the file; hash comes last and covers all before it.
type entry struct {
	Seq       int64    `json:"seq"`
	Prev      string   `json:"prev"`
	At        string   `json:"at"`
	Stage     string   `json:"stage"`
	Tenant    string   `json:"tenant,omitempty"`
	Token     string   `json:"token,omitempty"`
	Transport string   `json:"transport,omitempty"`
	Tool      string   `json:"tool,omitempty"`
	Meeting   string   `json:"meeting_id,omitempty"`
	Effect    string   `json:"effect,omitempty"`
	Rules     []string `json:"rules,omitempty"`
	Approved  bool     `json:"approved,omitempty"`
	Code      string   `json:"code,omitempty"`
	TookMS    float64  `json:"took_ms,omitempty"`
	Replayed  bool     `json:"replayed,omitempty"`
	Agent     *Agent   `json:"agent,omitempty"`
	Lost      int64    `json:"lost_bytes,omitempty"` // of a line that a crash had torn
	Hash      string   `json:"hash,omitempty"`
}

const timeForm = "2006-01-02T15:04:05.000000Z"

// genesis is the prev of the very first record.
var genesis = strings.Repeat("0", 2*sha256.Size)

// maxField bounds a text; a longer one is cut, since it is no name of ours.
const maxField = 128

// name keeps what a name or id is made of. Anything else, such as a text somebody put in its place, is blotted out.
func name(s string) string {
	if len(s) > maxField {
		s = s[:maxField]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._:-@/", r):
			return r
		}
		return '_'
	}, s)
}

func (r Record) entry(seq int64, prev string) entry {
	e := entry{Seq: seq, Prev: prev, At: r.At.UTC().Format(timeForm), Stage: name(r.Stage), Tenant: name(r.Tenant), Token: name(r.Token),
		Transport: name(r.Transport), Tool: name(r.Tool), Meeting: name(r.Meeting), Effect: name(r.Effect), Approved: r.Approved, Code: name(r.Code),
		TookMS: float64(r.Took.Microseconds()) / 1000, Replayed: r.Replayed}
	if a := r.Agent; a != nil {
		e.Agent = &Agent{Action: name(a.Action), Scope: name(a.Scope), Outcome: name(a.Outcome), Session: name(a.Session), Principal: name(a.Principal), Generation: a.Generation, Trace: name(a.Trace)}
	}
	for i, id := range r.Rules {
		if i == 32 {
			break
		}
		e.Rules = append(e.Rules, name(id))
	}
	return e
}

// line writes an entry with its hash, which covers the bytes of the line before it.
func (e entry) line() (text []byte, hash string, err error) {
	e.Hash = ""
	body, err := json.Marshal(e)
	if err != nil {
		return nil, "", fmt.Errorf("an audit record: %w", err)
	}
	body = body[:len(body)-1]
	sum := sha256.Sum256(body)
	hash = hex.EncodeToString(sum[:])
	return append(body, `,"hash":"`+hash+"\"}\n"...), hash, nil
}

// parse reads a line without its line end and checks its hash.
func parse(text []byte) (entry, error) {
	var e entry
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return entry{}, fmt.Errorf("it is no record: %w", err)
	}
	tail := `,"hash":"` + e.Hash + `"}`
	if len(e.Hash) != 2*sha256.Size || !strings.HasSuffix(string(text), tail) {
		return entry{}, fmt.Errorf("it does not end in its hash")
	}
	sum := sha256.Sum256(text[:len(text)-len(tail)])
	if hex.EncodeToString(sum[:]) != e.Hash {
		return entry{}, fmt.Errorf("it was changed: its hash is another")
	}
	return e, nil
}
