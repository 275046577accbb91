package transcript

import (
	"strings"
	"testing"
	"time"
)

func TestOwnVoice(t *testing.T) {
	const ours = "The release date is the fourth of March, and the beta opens two weeks earlier."
	for _, c := range []struct {
		name     string
		from, to float64
		heard    string
		echo     bool
		fresh    string
	}{
		{"word for word", 1, 4, "the release date is the fourth of March", true, ""},
		{"misheard in places", 1, 4, "the release dates is a fourth of Marsh", true, "a"},
		{"a piece of it", 3, 4, "beta opens two", true, ""},
		{"one word of ours", 3, 4, "March", true, ""},
		{"somebody else", 3, 4, "sorry can I ask something", false, "sorry can i ask something"},
		{"ours, then more of theirs than ours", 3, 6, "two weeks earlier no wait that cannot be right", false, "no wait that cannot be right"},
		{"as much as six in ten is ours", 3, 6, "the beta opens hold on", true, "hold on"},
		{"less than six in ten", 3, 6, "the beta opens hold on please", false, "hold on please"},
		{"ours in another order is not", 3, 6, "earlier weeks opens the fourth", false, "earlier weeks opens"},
		{"within eight seconds after", 12.9, 13.5, "the release date", true, ""},
		{"later than that", 13.1, 14, "the release date", false, "the release date"},
		{"before we spoke", -2, -1, "the release date", false, "the release date"},
		{"no words", 3, 4, "…", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o OwnVoice
			o.Said(0, 5*time.Second, ours)
			e := o.Heard(seconds(c.from), seconds(c.to), c.heard)
			if e.Suspected != c.echo || strings.Join(e.New, " ") != c.fresh {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestWhatWasNeverPlayedIsNoEcho(t *testing.T) {
	var o OwnVoice
	o.Said(0, 2*time.Second, "first we look at the numbers")
	o.Said(2*time.Second, 6*time.Second, "then everybody votes on the budget")
	o.Stopped(time.Second)
	if e := o.Heard(2*time.Second, 3*time.Second, "everybody votes on the budget"); e.Suspected {
		t.Error("a sentence that was cut off before it began is taken for our echo")
	}
	if e := o.Heard(8*time.Second, 9*time.Second, "we look at the numbers"); !e.Suspected {
		t.Error("what was played before the stop is no longer ours within the window")
	}
	if e := o.Heard(10*time.Second, 11*time.Second, "we look at the numbers"); e.Suspected {
		t.Error("the window counts from when we fell silent")
	}
	o.Said(20*time.Second, 24*time.Second, "the auditors come on Tuesday with three people")
	o.StoppedAfter(21*time.Second, "the auditors")
	if e := o.Heard(22*time.Second, 23*time.Second, "with three people"); e.Suspected {
		t.Error("words that were cut off are taken for our echo")
	}
	if e := o.Heard(22*time.Second, 23*time.Second, "auditors come"); !e.Suspected {
		t.Error("the word in the middle of which we stopped was heard")
	}
	o.Forget()
	if e := o.Heard(time.Second, 2*time.Second, "we look at the numbers"); e.Suspected {
		t.Error("forgotten words are still ours")
	}
}

func TestCommonWordsOfALongSpeechAreNoEcho(t *testing.T) {
	var o OwnVoice
	o.Said(0, 60*time.Second, strings.Repeat("we had the first of several things on a list that was not so long and it went well ", 20))
	if e := o.Heard(30*time.Second, 33*time.Second, "and what about the budget that Maria asked for on Monday"); e.Suspected {
		t.Errorf("a question of common words is taken for our echo: %+v", e)
	}
}

func TestOwnVoiceIsBounded(t *testing.T) {
	var o OwnVoice
	for i := range 10000 {
		o.Said(time.Duration(i)*time.Second, time.Duration(i+1)*time.Second, "some words that we said")
	}
	if len(o.said) > ownUtterances || o.n > ownWords {
		t.Errorf("remembers %d utterances, %d words", len(o.said), o.n)
	}
}

func BenchmarkHeard(b *testing.B) {
	var o OwnVoice
	o.Said(0, 100*time.Second, strings.Repeat("these are words that somebody could say in a meeting about nothing ", 150))
	heard := strings.Repeat("an unrelated remark on the weather of tomorrow morning ", 4)
	for b.Loop() {
		o.Heard(50*time.Second, 60*time.Second, heard)
	}
}
