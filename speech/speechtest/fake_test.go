package speechtest

import (
	"context"
	"errors"
	"testing"

	"parley/speech"
)

func TestSuiteOnTheFake(t *testing.T) {
	Run(t, func(t *testing.T) Engine {
		f := NewFake()
		return Engine{
			Transcriber: f, Synthesizer: f, Lines: ToneLines(),
			Absent: func(*testing.T) speech.Transcriber {
				g := NewFake()
				g.Refuse(&speech.Error{Kind: speech.KindUnavailable, Op: "open", Err: errors.New("not here")})
				return g
			},
		}
	})
}

func TestABrokenFakeEndsItsStreams(t *testing.T) {
	f := NewFake()
	s, err := f.Open(t.Context(), speech.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f.Break(speech.Fault{Kind: speech.KindNetwork, Err: errors.New("a moment")})
	f.Break(speech.Fault{Kind: speech.KindQuota, Fatal: true, Err: errors.New("over")})
	var kinds []speech.Kind
	for ev := range s.Events() {
		kinds = append(kinds, ev.(speech.Fault).Kind)
	}
	if len(kinds) != 2 || kinds[1] != speech.KindQuota {
		t.Errorf("%v", kinds)
	}
	if err := s.Write(0, nil); err == nil {
		t.Error("Write after a fatal fault")
	}
	_, err = f.Speak(context.Background(), speech.SpeakRequest{Text: "hello"})
	if err != nil || len(f.Said()) != 1 || f.Said()[0].Text != "hello" {
		t.Errorf("%v %v", f.Said(), err)
	}
}
