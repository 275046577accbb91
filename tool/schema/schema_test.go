package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

type inner struct {
	ID string `json:"id" arg:"required" doc:"An id."`
}

type args struct {
	Text  string   `json:"text" arg:"required,maxlen=5" doc:"What to say."`
	Mode  string   `json:"mode,omitempty" arg:"enum=chat|host,default=chat"`
	Tries int      `json:"tries,omitempty" arg:"min=1,max=3,default=2"`
	Pause *float64 `json:"pause_s,omitempty" arg:"min=0.5"`
	On    bool     `json:"on,omitempty" arg:"default=true"`
	Kinds []string `json:"kinds,omitempty" arg:"enum=a|b,max=2,default=a|b"`
	In    *inner   `json:"in,omitempty"`
}

func TestSchemaIsWrittenInDeclaredOrder(t *testing.T) {
	s := Of(reflect.TypeFor[args]())
	want := `{"type":"object","properties":{` +
		`"text":{"type":"string","description":"What to say.","maxLength":5},` +
		`"mode":{"type":"string","enum":["chat","host"],"default":"chat"},` +
		`"tries":{"type":"integer","default":2,"minimum":1,"maximum":3},` +
		`"pause_s":{"type":"number","minimum":0.5},` +
		`"on":{"type":"boolean","default":true},` +
		`"kinds":{"type":"array","default":["a","b"],"maxItems":2,"items":{"type":"string","enum":["a","b"]}},` +
		`"in":{"type":"object","properties":{"id":{"type":"string","description":"An id."}},"required":["id"],"additionalProperties":false}},` +
		`"required":["text"],"additionalProperties":false}`
	if got := string(s.Input()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if out := string(s.Output()); strings.Contains(out, "additionalProperties") || !json.Valid([]byte(out)) {
		t.Error(out)
	}
}

func TestDecode(t *testing.T) {
	s := Of(reflect.TypeFor[args]())
	var a args
	if err := s.Decode([]byte(`{"text":"hällo","pause_s":0.5,"mode":null,"in":{"id":"x"}}`), &a); err != nil {
		t.Fatal(err)
	}
	if a.Text != "hällo" || a.Mode != "chat" || a.Tries != 2 || *a.Pause != 0.5 || !a.On || len(a.Kinds) != 2 || a.In.ID != "x" {
		t.Errorf("%+v", a)
	}
	a = args{}
	if err := s.Decode([]byte(`{"text":"","on":false,"kinds":[]}`), &a); err != nil || a.On || len(a.Kinds) != 0 {
		t.Errorf("%+v %v", a, err)
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	s := Of(reflect.TypeFor[args]())
	for in, want := range map[string]string{
		``:                                   `"text" is missing`,
		`{"text":null}`:                      `"text" is missing`,
		`[]`:                                 `a list, want an object`,
		`{"text":5}`:                         `"text" is a number, want text`,
		`{"text":"sixsix"}`:                  `has 6 characters, at most 5`,
		`{"text":"a","mode":"x"}`:            `"mode" is "x", want one of chat, host`,
		`{"text":"a","tries":0}`:             `"tries" is 0, want between 1 and 3`,
		`{"text":"a","tries":4}`:             `between 1 and 3`,
		`{"text":"a","tries":1.5}`:           `want a whole number`,
		`{"text":"a","tries":"2"}`:           `"tries" is text, want a number`,
		`{"text":"a","pause_s":0.49}`:        `at least 0.5`,
		`{"text":"a","pause_s":1e999}`:       `out of range`,
		`{"text":"a","on":"yes"}`:            `"on" is text, want true or false`,
		`{"text":"a","kinds":"a"}`:           `want a list`,
		`{"text":"a","kinds":["c"]}`:         `"kinds[0]" is "c", want one of a, b`,
		`{"text":"a","kinds":["a","a","a"]}`: `has 3 entries, want at most 2`,
		`{"text":"a","in":{}}`:               `"in.id" is missing`,
		`{"text":"a","in":{"id":"","x":1}}`:  `no argument "in.x"; there are id`,
		`{"text":"a","extra":1}`:             `no argument "extra"; there are text, mode`,
		`{"text":"a","text":"b"}`:            `"text" stands twice`,
		`{"text":"a"`:                        `not valid JSON`,
		`{"text":"a"} {}`:                    `followed by something else`,
		strings.Repeat("[", 70) + strings.Repeat("]", 70): `deeper than 64`,
	} {
		var a args
		if err := s.Decode([]byte(in), &a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	var long *TooLong
	if err := s.Decode([]byte(`{"text":"sixsix"}`), new(args)); !errors.As(err, &long) || long.Max != 5 {
		t.Error(err)
	}
}

func TestCanonicalForgetsOrderAndSpace(t *testing.T) {
	a, err1 := Canonical([]byte(`{"b": 1, "a": [1,  {"d":2,"c":3}]}`))
	b, err2 := Canonical([]byte(`{"a":[1,{"c":3,"d":2}],"b":1}`))
	if err1 != nil || err2 != nil || string(a) != string(b) {
		t.Error(string(a), string(b), err1, err2)
	}
}

func FuzzDecode(f *testing.F) {
	s := Of(reflect.TypeFor[args]())
	f.Add([]byte(`{"text":"a","in":{"id":"x"},"kinds":["a"],"pause_s":1}`))
	f.Add([]byte(`{"text":"a","tries":1e2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a args
		if err := s.Decode(raw, &a); err != nil {
			return
		}
		if a.Tries < 1 || a.Tries > 3 || len([]rune(a.Text)) > 5 {
			t.Errorf("%q: %+v", raw, a)
		}
		if _, err := Canonical(raw); err != nil {
			t.Error(err)
		}
	})
}

func TestTerseArgumentsAreCheckedAndNotExplained(t *testing.T) {
	type args struct {
		A string `json:"a,omitempty" arg:"terse,maxlen=3" doc:"What it means."`
		B int    `json:"b,omitempty" arg:"terse,min=1,max=3,default=2" doc:"How many."`
		C string `json:"c,omitempty" arg:"terse,enum=x|y" doc:"Which."`
		D int    `json:"d,omitempty" arg:"brief,min=1,max=3,default=2" doc:"How many."`
		E int    `json:"e,omitempty" arg:"unlisted,min=1" doc:"Like a's."`
	}
	s := Of(reflect.TypeFor[args]())
	want := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"string","enum":["x","y"]},"d":{"type":"integer","description":"How many"}}}`
	if got := string(s.Input()); got != want {
		t.Error(got)
	}
	var a args
	if err := s.Decode([]byte(`{"a":"long"}`), &a); err == nil {
		t.Error("a long text was taken")
	}
	if err := s.Decode([]byte(`{"e":5}`), &a); err != nil || a.E != 5 || a.D != 2 {
		t.Error(err, a)
	}
	if err := s.Decode([]byte(`{"f":5}`), &a); err == nil {
		t.Error("an argument that is not declared was taken")
	}
}
