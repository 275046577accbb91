package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"
	"testing/iotest"
)

func TestFramesComeBackWhole(t *testing.T) {
	final := Final{Start: 1, End: 2, Upto: 3, Text: "hi", Words: []Word{{Text: "hi", Start: 1, End: 2}}}
	var b []byte
	b = AppendJSON(b, TypeFinal, final)
	b = AppendAudio(b, 1<<40, []int16{1, -1, math.MinInt16, math.MaxInt16})
	b = Append(b, TypeMore, nil)
	b = AppendPiece(b, "é", []int16{7, -7})

	// One byte at a time, as a slow peer would.
	r := NewReader(iotest.OneByteReader(bytes.NewReader(b)))
	next := func(want Type) []byte {
		t.Helper()
		got, body, err := r.Next()
		if err != nil || got != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		return body
	}
	if f, err := Parse[Final](next(TypeFinal)); err != nil || !reflect.DeepEqual(f, final) {
		t.Errorf("final: %+v, %v", f, err)
	}
	if pos, pcm, err := ParseAudio(next(TypeAudio)); err != nil || pos != 1<<40 || !reflect.DeepEqual(pcm, []int16{1, -1, math.MinInt16, math.MaxInt16}) {
		t.Errorf("audio: %d %v %v", pos, pcm, err)
	}
	if body := next(TypeMore); len(body) != 0 {
		t.Errorf("more: %d bytes", len(body))
	}
	if text, pcm, err := ParsePiece(next(TypePiece)); err != nil || text != "é" || !reflect.DeepEqual(pcm, []int16{7, -7}) {
		t.Errorf("piece: %q %v %v", text, pcm, err)
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestReaderTellsAnEndFromACut(t *testing.T) {
	whole := AppendAudio(nil, 0, make([]int16, 100))
	for _, n := range []int{1, 4, 5, 6, len(whole) - 1} {
		_, _, err := NewReader(bytes.NewReader(whole[:n])).Next()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

func TestReaderDoesNotTrustLengths(t *testing.T) {
	over := binary.BigEndian.AppendUint32([]byte{'A'}, MaxBody+1)
	if _, _, err := NewReader(bytes.NewReader(over)).Next(); !errors.Is(err, ErrFrame) {
		t.Errorf("one byte over the bound: %v", err)
	}
	r := NewReader(bytes.NewReader(binary.BigEndian.AppendUint32([]byte{'A'}, MaxBody)))
	if _, _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the bound itself: %v", err)
	}
	if cap(r.buf) > 256<<10 {
		t.Errorf("%d bytes were taken for a body that never came", cap(r.buf))
	}
}

func TestAudioBounds(t *testing.T) {
	at := func(pos uint64, bytes int) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, pos), make([]byte, bytes)...)
	}
	for _, c := range []struct {
		name string
		body []byte
		ok   bool
	}{
		{"no samples", at(0, 0), true},
		{"a second", at(0, 2*MaxAudio), true},
		{"over a second", at(0, 2*MaxAudio+2), false},
		{"half a sample", at(0, 3), false},
		{"no position", make([]byte, 6), false},
		{"the last position", at(math.MaxInt64-MaxAudio, 2), true},
		{"after the last position", at(math.MaxInt64-MaxAudio+1, 2), false},
		{"a negative position", at(math.MaxUint64, 2), false},
	} {
		if _, _, err := ParseAudio(c.body); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAnAnswerThatJSONCannotCarryBecomesAFault(t *testing.T) {
	b := AppendJSON(nil, TypeTurnEnd, TurnEnd{Prob: math.NaN()})
	typ, body, err := NewReader(bytes.NewReader(b)).Next()
	if err != nil || typ != TypeFault {
		t.Fatalf("%q %v", typ, err)
	}
	if f, err := Parse[Fault](body); err != nil || f.Text == "" {
		t.Errorf("%+v %v", f, err)
	}
}

// FuzzReader feeds arbitrary bytes to everything that reads a peer's bytes: nothing panics, memory stays bounded,
// and what was understood comes back the same.
func FuzzReader(f *testing.F) {
	f.Add(AppendAudio(nil, 5, []int16{1, 2, 3}))
	f.Add(AppendPiece(nil, "text", []int16{1}))
	f.Add(AppendJSON(AppendJSON(nil, TypeHello, Hello{Version: 1}), TypeListen, Listen{Lang: "en", From: 7}))
	f.Add(AppendJSON(nil, TypeFinal, Final{Text: "x", Words: []Word{{Text: "x"}}}))
	f.Add([]byte{'A', 0xff, 0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for range 1000 {
			typ, body, err := r.Next()
			if err != nil {
				break
			}
			if len(body) > len(data) {
				t.Fatalf("a body of %d bytes out of %d", len(body), len(data))
			}
			again := body
			switch typ {
			case TypeAudio:
				if pos, pcm, err := ParseAudio(body); err == nil {
					if pos < 0 || pos+int64(len(pcm)) < pos {
						t.Fatalf("position %d", pos)
					}
					again = AppendAudio(nil, pos, pcm)[5:]
				}
			case TypePiece:
				if text, pcm, err := ParsePiece(body); err == nil {
					again = AppendPiece(nil, text, pcm)[5:]
				}
			case TypeHello:
				reparse[Hello](t, typ, body)
			case TypeListen:
				reparse[Listen](t, typ, body)
			case TypeFlush, TypeFlushed:
				reparse[Flush](t, typ, body)
			case TypeSay:
				reparse[Say](t, typ, body)
			case TypeReady:
				reparse[Ready](t, typ, body)
			case TypePartial:
				reparse[Partial](t, typ, body)
			case TypeFinal:
				reparse[Final](t, typ, body)
			case TypeActivity:
				reparse[Activity](t, typ, body)
			case TypeTurnEnd:
				reparse[TurnEnd](t, typ, body)
			case TypeHeard:
				reparse[Heard](t, typ, body)
			case TypeFault:
				reparse[Fault](t, typ, body)
			case TypeState:
				reparse[State](t, typ, body)
			}
			if !bytes.Equal(again, body) {
				t.Fatalf("%q: %x came back as %x", typ, body, again)
			}
		}
	})
}

// reparse checks that what was understood is said again in the same bytes.
func reparse[T any](t *testing.T, typ Type, body []byte) {
	v, err := Parse[T](body)
	if err != nil {
		return
	}
	said := AppendJSON(nil, typ, v)
	_, again, err := NewReader(bytes.NewReader(said)).Next()
	if err != nil {
		t.Fatal(err)
	}
	w, err := Parse[T](again)
	if err != nil || !bytes.Equal(said, AppendJSON(nil, typ, w)) {
		t.Fatalf("%+v came back as %+v, %v", v, w, err)
	}
}
