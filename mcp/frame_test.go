package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestRecords(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"{}":                    "{}",
		"{}\n":                  "{}",
		"{}\r\n{\"a\":1}\r\n":   `{}|{"a":1}`,
		"\n\n {} \n\t\n[]\n":    "{}|[]",
		"{\"a\":\"x\u2028y\"}":  "{\"a\":\"x\u2028y\"}", // a line separator of Unicode is no end of a record
		"{\"a\":\"x\\ny\"}\n{}": `{"a":"x\ny"}|{}`,
	} {
		got := string(bytes.Join(records([]byte(in)), []byte("|")))
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCheckRecord(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	for in, want := range map[string]error{
		`{"jsonrpc":"2.0","id":0,"method":"ping"}`:  nil,
		`{"a":{"a":{"a":[{"a":1},{"a":2}]}}}`:       nil,
		`{"a":"\"a\":","b":"{"}`:                    nil,
		`{"a":1,"b":{"c":2,"d":[1,{"e":3}]},"c":4}`: nil,
		`"a"`:                     nil, // valid, and no message: the decoder says so
		`{"a":1,"a":2}`:           errTwice,
		`{"a":1,"\u0061":2}`:      errTwice,
		`{"x":[{"a":{},"a":{}}]}`: errTwice,
		`{"a":1`:                  errNotJSON,
		`{"a":1}}`:                errNotJSON,
		`GET / HTTP/1.1`:          errNotJSON,
		"{\"a\":\"\x01\"}":        errNotJSON,
		`[]`:                      errBatch,
		`[{"jsonrpc":"2.0"}]`:     errBatch,
		deep(maxNesting - 1):      nil,
		deep(maxNesting):          errNesting,
	} {
		if err := checkRecord([]byte(in)); !errors.Is(err, want) {
			t.Errorf("%.60s: %v, want %v", in, err, want)
		}
	}
}

func TestPeekID(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":0}`: "0", `{"id":"a"}`: `"a"`, `{"id":-1}`: "-1", `{"id":null}`: "", `{"id":{}}`: "", `{"id":true}`: "", `{}`: "", `[1]`: "", `x`: "",
	} {
		if got := string(peekID([]byte(in))); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n[1]\n{\"a\":\"\\\"\"}"))
	f.Add([]byte(`{"a":{"a":[[[{"b":"\\"}]]]}}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, r := range records(frame) {
			if bytes.ContainsRune(r, '\n') || len(r) == 0 {
				t.Fatalf("%q is no record", r)
			}
			err := checkRecord(r)
			if (err == nil) && !json.Valid(r) {
				t.Fatalf("%q passed", r)
			}
			if id := peekID(r); id != nil && !json.Valid(id) {
				t.Fatalf("%q has the id %q", r, id)
			}
		}
	})
}
