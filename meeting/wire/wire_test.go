package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func TestMessagesSurviveTheWire(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	start := Start{MeetingID: "m0123456789ab", Link: "http://127.0.0.1/room/x", Secrets: map[string]string{"K": "v"}}
	for _, step := range []error{
		w.Write(KindStart, "", start),
		w.Write(KindCommand, "7", Command{Speak: &Speak{Text: "hallo, привіт"}}),
		w.Write(KindCancel, "7", nil),
		w.Write(KindReport, "", Report{Seq: 3, Chat: &Chat{N: 1, Text: "x"}}),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	r := NewReader(iotest.OneByteReader(&buf))
	m, err := r.Read()
	if err != nil || m.Kind != KindStart {
		t.Fatalf("%v %v", m, err)
	}
	if got, err := Decode[Start](m); err != nil || !reflect.DeepEqual(got, start) {
		t.Errorf("start came as %+v, %v", got, err)
	}
	m, _ = r.Read()
	if c, err := Decode[Command](m); err != nil || m.ID != "7" || c.Name() != "speak" || c.Speak.Text != "hallo, привіт" {
		t.Errorf("command came as %+v (%v)", c, err)
	}
	if m, _ = r.Read(); m.Kind != KindCancel || m.ID != "7" || m.Body != nil {
		t.Errorf("cancel came as %+v", m)
	}
	m, _ = r.Read()
	if rep, _ := Decode[Report](m); rep.Seq != 3 || rep.Name() != "chat" {
		t.Errorf("report came as %+v", rep)
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

func TestWhatOtherVersionsMaySend(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       error
		kind       Kind
	}{
		{"unknown kind", `{"v":1,"kind":"gossip","body":[1]}`, nil, "gossip"},
		{"unknown members", `{"v":1,"kind":"report","color":"red","body":{"seq":1,"weather":{}}}`, nil, KindReport},
		{"next version", `{"v":2,"kind":"start"}`, ErrVersion, ""},
		{"no version", `{"kind":"start"}`, ErrVersion, ""},
	} {
		m, err := NewReader(bytes.NewReader(frame(c.json))).Read()
		if !errors.Is(err, c.want) || m.Kind != c.kind {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
	}
	rep, err := Decode[Report](Message{Kind: KindReport, Body: json.RawMessage(`{"seq":1,"weather":{}}`)})
	if err != nil || rep.Name() != "" {
		t.Errorf("a report of an unknown event is %q, %v", rep.Name(), err)
	}
}

func TestBrokenFrames(t *testing.T) {
	long := make([]byte, 4)
	binary.BigEndian.PutUint32(long, MaxFrame+1)
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"half a head", []byte{0, 0}, io.ErrUnexpectedEOF},
		{"head only", []byte{0, 0, 0, 9}, io.ErrUnexpectedEOF},
		{"cut off", frame(`{"v":1,"kind":"x"}`)[:10], io.ErrUnexpectedEOF},
		{"empty", []byte{0, 0, 0, 0}, ErrEmpty},
		{"too long", long, ErrTooLong},
		{"longest length, no bytes", []byte{0, 16, 0, 0}, io.ErrUnexpectedEOF},
	} {
		if _, err := NewReader(bytes.NewReader(c.in)).Read(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestBoundaryOfLength(t *testing.T) {
	over := len(`{"v":1,"kind":"report","body":{"seq":0,"at_ms":0,"chat":{"n":0,"text":""}}}`)
	fit := Report{Chat: &Chat{Text: strings.Repeat("a", MaxFrame-over)}}
	f, err := Frame(KindReport, "", fit)
	if err != nil || len(f) != MaxFrame+4 {
		t.Fatalf("%d bytes, %v", len(f), err)
	}
	if _, err := NewReader(bytes.NewReader(f)).Read(); err != nil {
		t.Errorf("the longest frame does not come back: %v", err)
	}
	fit.Chat.Text += "a"
	var buf bytes.Buffer
	if err := NewWriter(&buf).Write(KindReport, "", fit); !errors.Is(err, ErrTooLong) || buf.Len() != 0 {
		t.Errorf("one more byte: %v, %d bytes written", err, buf.Len())
	}
}

func TestWritersDoNotMix(t *testing.T) {
	pr, pw := io.Pipe()
	w := NewWriter(pw)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if err := w.Write(KindReport, strings.Repeat("x", i), Report{Chat: &Chat{Text: strings.Repeat("y", 900)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); pw.Close() }()
	r, n := NewReader(pr), 0
	for {
		_, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 400 {
		t.Errorf("%d messages, want 400", n)
	}
}

// Every member of Command and Report must be named, or one side would drop it silently.
func TestEveryMemberHasAName(t *testing.T) {
	check := func(v any, name func(any) string) {
		typ := reflect.TypeOf(v)
		seen := map[string]bool{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Type.Kind() != reflect.Pointer {
				continue
			}
			one := reflect.New(typ).Elem()
			one.Field(i).Set(reflect.New(f.Type.Elem()))
			n := name(one.Interface())
			if n == "" || seen[n] {
				t.Errorf("%s.%s is named %q", typ.Name(), f.Name, n)
			}
			seen[n] = true
		}
	}
	check(Command{}, func(v any) string { return v.(Command).Name() })
	check(Report{}, func(v any) string { return v.(Report).Name() })
}

func frame(s string) []byte {
	f := make([]byte, 4, 4+len(s))
	binary.BigEndian.PutUint32(f, uint32(len(s)))
	return append(f, s...)
}

func FuzzReader(f *testing.F) {
	f.Add(frame(`{"v":1,"id":"1","kind":"command","body":{"leave":{}}}`))
	f.Add(append(frame(`{"v":1,"kind":"report"}`), frame(`{"v":1,"kind":"report","body":{"seq":1}}`)...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for range 100 {
			m, err := r.Read()
			if err != nil {
				return
			}
			if m.V != Version {
				t.Fatalf("version %d came through", m.V)
			}
			// Whatever is accepted can be said again.
			if c, err := Decode[Command](m); err == nil {
				if _, err := Frame(KindCommand, m.ID, c); err != nil && !errors.Is(err, ErrTooLong) {
					t.Fatal(err)
				}
			}
			if rep, err := Decode[Report](m); err == nil {
				_ = rep.Name()
				if _, err := Frame(KindReport, m.ID, rep); err != nil && !errors.Is(err, ErrTooLong) {
					t.Fatal(err)
				}
			}
			_, _ = Decode[Start](m)
			_, _ = Decode[Answer](m)
		}
	})
}
