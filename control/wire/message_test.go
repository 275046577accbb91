package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRequests(t *testing.T) {
	for text, want := range map[string]bool{
		`{"action":"read","args":{}}`:                            true,
		`{"args":{"a":[1]},"action":"read"}`:                     true,
		`{"action":"read"}`:                                      false,
		`{"action":"read","args":null}`:                          false,
		`{"action":"read","args":[]}`:                            false,
		`{"action":"","args":{}}`:                                false,
		`{"action":7,"args":{}}`:                                 false,
		`{"Action":"read","args":{}}`:                            false,
		`{"action":"read","args":{},"x":1}`:                      false,
		`{"action":"read","action":"ai","args":{}}`:              false,
		`{"action":"read","args":{"a":1,"a":2}}`:                 false,
		`{"action":"read","args":{"a":1,"\u0061":2}}`:            false,
		`{"action":"read","args":{}} `:                           true,
		`{"action":"read","args":{}}{}`:                          false,
		`{"action":"read","args":{}`:                             false,
		"{\"action\":\"\xff\",\"args\":{}}":                      false,
		`{"action":"` + strings.Repeat("a", 64) + `","args":{}}`: true,
		`{"action":"` + strings.Repeat("a", 65) + `","args":{}}`: false,
		`{"action":"a","args":{"a":` + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40) + `}}`: false,
		`[]`: false, `null`: false, ``: false,
	} {
		if _, err := ParseRequest([]byte(text)); (err == nil) != want || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseRequest(make([]byte, MaxRequest+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

// TestRepliesAreNeverGuessed: success comes from a status inside the seal and from nothing else.
func TestRepliesAreNeverGuessed(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"agent-response","status":200,"result":null}`:                     "ok",
		`{"kind":"agent-response","status":200,"result":{"completed":true}}`:       "ok",
		`{"kind":"agent-response","status":403,"error":"denied"}`:                  "denied",
		`{"kind":"agent-response","status":409,"error":"browser-management-busy"}`: "browser-management-busy",
		`{"kind":"agent-response","status":409,"error":"conflict"}`:                "conflict",
		`{"kind":"agent-response","result":null}`:                                  "",
		`{"kind":"agent-response","status":null,"result":1}`:                       "",
		`{"kind":"agent-response","status":"200","result":1}`:                      "",
		`{"kind":"agent-response","status":201,"result":1}`:                        "",
		`{"kind":"agent-response","status":500,"result":1}`:                        "",
		`{"kind":"agent-response","status":200,"error":"denied"}`:                  "",
		`{"kind":"agent-response","status":403,"error":"conflict"}`:                "",
		`{"kind":"agent-response","status":403,"error":"something"}`:               "",
		`{"kind":"agent-response","status":403,"error":null}`:                      "",
		`{"kind":"agent-request","status":200,"result":1}`:                         "",
		`{"status":200,"result":1}`:                                                "",
		`{"kind":"agent-response","status":200,"result":1,"error":"denied"}`:       "",
		`{"kind":"agent-response","status":200,"status":403,"error":"denied"}`:     "",
		`{"kind":"agent-response","Status":200,"result":1}`:                        "",
	} {
		r, err := ParseReply([]byte(text))
		got := string(r.Code)
		if err == nil && r.OK() {
			got = "ok"
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestRepliesRoundTripAndOnlyBusyIsRetried(t *testing.T) {
	for code, status := range statuses {
		b, err := Reply{Code: code}.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseReply(b)
		if err != nil || r.Code != code || r.Status() != status || r.Retry() != (code == CodeBusy) {
			t.Errorf("%s: %+v, %v", code, r, err)
		}
	}
	if _, err := (Reply{Code: "made-up"}).Bytes(); err == nil {
		t.Error("an unknown code is sent")
	}
	if b, err := (Reply{}).Bytes(); err != nil {
		t.Error(err)
	} else if r, err := ParseReply(b); err != nil || !r.OK() || r.Retry() || string(r.Result) != "null" || r.Status() != 200 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (Reply{Result: json.RawMessage("{")}).Bytes(); err == nil {
		t.Error("a broken result is sent")
	}
}

func FuzzProof(f *testing.F) {
	f.Add(Prove(&Capability{}, Instance{}, RouteAction, Principal{"a", 1}, time.UnixMilli(1), [NonceSize]byte{}, nil).Header())
	f.Add("")
	f.Fuzz(func(t *testing.T, header string) {
		p, err := ParseProof(header)
		if err == nil && p.Header() != header {
			t.Errorf("%q is written as %q", header, p.Header())
		}
	})
}

func FuzzChallenge(f *testing.F) {
	x := newPair(f)
	f.Add(x.c.Bytes())
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := ParseChallenge(body)
		if err == nil && string(c.Bytes()) != string(body) {
			t.Error("another text is written")
		}
		a, err := ParseAsk(body)
		if err == nil && string(a.Bytes()) != string(body) {
			t.Error("another ask is written")
		}
	})
}

func FuzzAction(f *testing.F) {
	x := newPair(f)
	a, opener, err := SealAction(x.id.Pins(), x.c, RequestID{}, []byte("{}"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Bytes())
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := ParseAction(body)
		if err == nil && string(a.Bytes()) != string(body) {
			t.Error("another text is written")
		}
		keys := *opener.keys
		if _, err := (&Opener{keys: &keys, request: opener.request}).Open(body); err == nil {
			t.Error("a made-up reply opens")
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"action":"read","args":{"sessionId":"x"}}`))
	f.Add([]byte(`{"kind":"agent-response","status":200,"result":null}`))
	f.Add([]byte(`{"kind":"agent-response","status":403,"error":"denied"}`))
	f.Fuzz(func(t *testing.T, plain []byte) {
		if r, err := ParseRequest(plain); err == nil {
			b, err := r.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseRequest(b); err != nil && len(b) <= MaxRequest || err == nil && again.Action != r.Action {
				t.Errorf("%q: %v", b, err)
			}
		}
		if r, err := ParseReply(plain); err == nil {
			if _, err := r.Bytes(); err != nil {
				t.Error(err)
			}
		}
	})
}
