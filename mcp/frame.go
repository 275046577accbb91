package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
)

// maxFrame bounds one message on stdio and WebSocket.
const maxFrame = 2 << 20

// maxNesting bounds how deep a message may nest.
const maxNesting = 64

// Reasons why a record is no message.
var (
	errNotJSON = errors.New("this is not valid JSON")
	errBatch   = errors.New("batches are not supported: send one message at a time")
	errNesting = errors.New("the message nests too deep")
	errTwice   = errors.New("a member stands twice in one object")
)

// records splits what arrived in one frame into messages: at LF, with a CR before it taken off and blank
// lines left out. It shares memory with frame.
func records(frame []byte) [][]byte {
	var out [][]byte
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// checkRecord refuses what readers do not agree on: broken JSON, batches, members that stand twice, endless nesting.
func checkRecord(record []byte) error {
	if !json.Valid(record) {
		return errNotJSON
	}
	if record[0] == '[' {
		return errBatch
	}
	return checkMembers(record)
}

// checkMembers walks valid JSON.
func checkMembers(b []byte) error {
	type level struct {
		object bool
		key    bool // the next text is a key
		seen   map[string]bool
	}
	var stack []level
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if len(stack) == maxNesting {
				return errNesting
			}
			stack = append(stack, level{object: b[i] == '{', key: b[i] == '{'})
		case '}', ']':
			stack = stack[:len(stack)-1]
		case ',':
			top := &stack[len(stack)-1]
			top.key = top.object
		case '"':
			end := i + 1
			for b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			if n := len(stack); n > 0 && stack[n-1].key {
				top := &stack[n-1]
				top.key = false
				name := string(b[i+1 : end])
				if bytes.IndexByte(b[i:end], '\\') >= 0 {
					if err := json.Unmarshal(b[i:end+1], &name); err != nil {
						return errNotJSON
					}
				}
				if top.seen == nil {
					top.seen = map[string]bool{}
				}
				if top.seen[name] {
					return errTwice
				}
				top.seen[name] = true
			}
			i = end
		}
	}
	return nil
}

// peekID finds the id of something that is no good message, for the answer that says so; nil where there is none.
func peekID(record []byte) json.RawMessage {
	var e struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(record, &e) != nil || !validID(e.ID) {
		return nil
	}
	return e.ID
}

// validID tells whether an id is a text or a number.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}
