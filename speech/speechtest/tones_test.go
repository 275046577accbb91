package speechtest

import (
	"strings"
	"testing"
)

func TestTonesAreHeardAsTheyWereSaid(t *testing.T) {
	all := strings.Join(Words, " ")
	pcm := append(make([]int16, 1234), Tone(all)...)
	var got []string
	for _, w := range HearTones(pcm) {
		got = append(got, w.Text)
	}
	if strings.Join(got, " ") != all {
		t.Errorf("%v", got)
	}
	if w := HearTones(pcm)[0]; w.Start < 1100 || w.Start > 1300 || w.End-w.Start < wordTime-160 || w.End-w.Start > wordTime+160 {
		t.Errorf("the first word lies at %d to %d", w.Start, w.End)
	}
	if w := HearTones(Tone("alpha")[:wordTime/3]); len(w) != 0 {
		t.Errorf("a third of a word was heard: %v", w)
	}
}
