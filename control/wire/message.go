package wire

import (
	"encoding/json"
	"net/http"
)

// Request is what a sealed action holds: {"action":"read","args":{…}}. The endpoint's action table judges the arguments.
type Request struct {
	Action string
	Args   json.RawMessage // always an object
}

const maxAction = 64

// ParseRequest reads a plaintext action of at most MaxRequest bytes: exactly these two members, args an object.
func ParseRequest(plain []byte) (Request, error) {
	if len(plain) > MaxRequest {
		return Request{}, ErrTooLong
	}
	m, err := object(plain, "action", "args")
	if err != nil || len(m) != 2 {
		return Request{}, ErrMalformed
	}
	var r Request
	if err := json.Unmarshal(m["action"], &r.Action); err != nil || r.Action == "" || len(r.Action) > maxAction {
		return Request{}, ErrMalformed
	}
	if args := m["args"]; len(args) == 0 || args[0] != '{' {
		return Request{}, ErrMalformed
	}
	r.Args = m["args"]
	return r, nil
}

// Bytes is the request as plaintext; nil Args are the empty object.
func (r Request) Bytes() ([]byte, error) {
	args := r.Args
	if args == nil {
		args = json.RawMessage("{}")
	}
	return json.Marshal(struct {
		Action string          `json:"action"`
		Args   json.RawMessage `json:"args"`
	}{r.Action, args})
}

// Code says why an authenticated action failed. The set is closed.
type Code string

// The codes, with the status each travels with.
const (
	CodeInvalid   Code = "invalid-request"         // 400: unknown action or argument
	CodeDenied    Code = "denied"                  // 403: scope, policy or target
	CodeConflict  Code = "conflict"                // 409: stale revision or policy version; refresh first
	CodeBusy      Code = "browser-management-busy" // 409: sent before any change began; the only one to retry
	CodeTooLarge  Code = "too-large"               // 413: the result exceeds the wire
	CodeRateLimit Code = "rate-limited"            // 429
	CodeFailed    Code = "failed"                  // 500: it may or may not have happened
	CodeTimeout   Code = "timeout"                 // 504: the deadline passed; it may have happened
)

var statuses = map[Code]int{
	CodeInvalid: http.StatusBadRequest, CodeDenied: http.StatusForbidden, CodeConflict: http.StatusConflict, CodeBusy: http.StatusConflict,
	CodeTooLarge: http.StatusRequestEntityTooLarge, CodeRateLimit: http.StatusTooManyRequests,
	CodeFailed: http.StatusInternalServerError, CodeTimeout: http.StatusGatewayTimeout,
}

// Reply is what a sealed reply holds: success has a result, anything else a code. The status in here is the only one
// that counts; HTTP's is for intermediaries.
type Reply struct {
	Result json.RawMessage // of a success; any JSON value
	Code   Code            // empty on success
}

// OK says whether the action succeeded.
func (r Reply) OK() bool { return r.Code == "" }

// Status is 200, or the code's.
func (r Reply) Status() int {
	if r.OK() {
		return http.StatusOK
	}
	return statuses[r.Code]
}

// Bytes is the reply as plaintext: {"kind":"agent-response","status":200,"result":…} or
// {"kind":"agent-response","status":403,"error":"denied"}.
func (r Reply) Bytes() ([]byte, error) {
	if r.OK() {
		result := r.Result
		if result == nil {
			result = json.RawMessage("null")
		}
		return json.Marshal(struct {
			Kind   string          `json:"kind"`
			Status int             `json:"status"`
			Result json.RawMessage `json:"result"`
		}{kindReply, http.StatusOK, result})
	}
	if statuses[r.Code] == 0 {
		return nil, ErrMalformed
	}
	return json.Marshal(struct {
		Kind   string `json:"kind"`
		Status int    `json:"status"`
		Error  Code   `json:"error"`
	}{kindReply, statuses[r.Code], r.Code})
}

// ParseReply reads a plaintext reply. A missing kind, a missing or contradicting status, both or neither of result and
// error are all malformed: a client never guesses that something succeeded.
func ParseReply(plain []byte) (Reply, error) {
	m, err := object(plain, "kind", "status", "result", "error")
	if err != nil || len(m) != 3 {
		return Reply{}, ErrMalformed
	}
	var kind string
	var status int
	if json.Unmarshal(m["kind"], &kind) != nil || kind != kindReply || m["status"] == nil || json.Unmarshal(m["status"], &status) != nil {
		return Reply{}, ErrMalformed
	}
	if result, ok := m["result"]; ok {
		if status != http.StatusOK {
			return Reply{}, ErrMalformed
		}
		return Reply{Result: result}, nil
	}
	var code Code
	if json.Unmarshal(m["error"], &code) != nil || statuses[code] == 0 || statuses[code] != status {
		return Reply{}, ErrMalformed
	}
	return Reply{Code: code}, nil
}

// Retry says whether a client may send the same action again after waiting: only an authenticated busy, which is sent
// before any change begins.
func (r Reply) Retry() bool { return r.Code == CodeBusy }
