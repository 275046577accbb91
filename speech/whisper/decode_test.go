package whisper

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// A small language: text tokens 0 to 9, then the special ones.
var small = Config{
	Layout: Layout, Name: "small", Width: 64, Heads: 1, Layers: 1, Vocabulary: 20, AudioFrames: 1500, TextTokens: 100, AlignHeads: 1,
	EndOfText: 10, Start: 11, Transcribe: 14, NoSpeech: 15, NoTimestamps: 16,
	Languages: map[string]int{"en": 12, "de": 13}, SuppressFirst: []int{0, 10},
}

var smallWords = vocabulary(" ", " one", " two", " three", ".", " four", " five", " [", "noise", "]")

const eot = 10

// said is one token that the model says: where it looks (in frames), how sure it is.
type said struct {
	id   int
	look int
	sure float64 // log probability; 0 means -0.05
}

// script is an engine that says what it is told. It checks that it is fed as a decoder must be.
type script struct {
	t        *testing.T
	text     []said
	noSpeech float64
	lang     int
	wide     int // frames
	fed      []int
	steps    int
	fail     error
}

func (s *script) heads() int  { return 1 }
func (s *script) frames() int { return s.wide }

func (s *script) step(ctx context.Context, tokens []int) ([]float32, [][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if s.steps++; s.fail != nil && s.steps > 2 {
		return nil, nil, s.fail
	}
	s.fed = append(s.fed, tokens...)
	scores := make([]float32, small.Vocabulary)
	set := func(id int, p float64) {
		rest := math.Log((1 - p) / float64(len(scores)-1))
		for i := range scores {
			scores[i] = float32(rest)
		}
		scores[id] = float32(math.Log(p))
	}
	rows := make([][]float32, len(tokens))
	for i := range rows {
		rows[i] = make([]float32, s.wide)
	}
	if len(s.fed) == 1 {
		set(small.NoSpeech, max(s.noSpeech, 1e-6))
		scores[s.lang] = float32(math.Log(max(1-s.noSpeech, 1e-6))) - 1
		return scores, rows, nil
	}
	// Behind the prompt of four comes the text; each row belongs to the token it predicts.
	for i := range rows {
		if k := len(s.fed) - len(tokens) + i - 3; k >= 0 && k < len(s.text) && s.text[k].look < s.wide {
			rows[i][s.text[k].look] = 1
		}
	}
	k := len(s.fed) - 4
	next := said{id: eot}
	if k < len(s.text) {
		next = s.text[k]
	}
	if next.sure == 0 {
		next.sure = -0.05
	}
	set(next.id, math.Exp(next.sure))
	return scores, rows, nil
}

func seconds(s float64) []int16 {
	pcm := make([]int16, int(s*SampleRate))
	for i := range pcm {
		pcm[i] = int16(5000 * (1 - i%2*2))
	}
	return pcm
}

func say(frames int, ids ...int) []said {
	var all []said
	for i, id := range ids {
		all = append(all, said{id: id, look: frames * (i + 1) / (len(ids) + 1)})
	}
	return all
}

func run(t *testing.T, s *script, r Request) transcript {
	t.Helper()
	s.t = t
	if s.wide == 0 {
		s.wide = len(r.PCM)/FrameSamples + 250
	}
	if s.lang == 0 {
		s.lang = 12
	}
	got, err := decode(context.Background(), small, s, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.tokens) != len(got.probs) {
		t.Fatalf("%d tokens, %d probabilities", len(got.tokens), len(got.probs))
	}
	return got
}

func TestATextIsDecodedToItsEnd(t *testing.T) {
	s := &script{text: say(90, 1, 2, 3, 4)}
	got := run(t, s, Request{PCM: seconds(2)})
	if !slices.Equal(got.tokens, []int{1, 2, 3, 4}) || got.lang != "en" || got.truncated || got.rest != 0 {
		t.Errorf("%+v", got)
	}
	if want := []int{11, 12, 14, 16, 1, 2, 3, 4}; !slices.Equal(s.fed, want) {
		t.Errorf("fed %v, want %v", s.fed, want)
	}
	if math.Abs(got.logProb+0.05) > 0.03 || len(got.look.rows) != 5 {
		t.Errorf("log probability %v, %d rows", got.logProb, len(got.look.rows))
	}
}

func TestTheLanguageIsFoundOrTaken(t *testing.T) {
	for _, c := range []struct {
		name, ask string
		heard     int
		want      string
		fed       int
	}{{"found", "", 13, "de", 13}, {"taken", "en", 13, "en", 12}} {
		s := &script{text: say(90, 1), lang: c.heard}
		if got := run(t, s, Request{PCM: seconds(1), Lang: c.ask}); got.lang != c.want || s.fed[1] != c.fed || got.langProb < 0.8 || got.langProb > 1 || (c.ask != "") != (got.langProb == 1) {
			t.Errorf("%s: %s (%v), fed %v", c.name, got.lang, got.langProb, s.fed)
		}
	}
	_, err := decode(context.Background(), small, &script{wide: 10}, Request{PCM: seconds(1), Lang: "xx"})
	if !errors.Is(err, ErrLanguage) {
		t.Errorf("unknown: %v", err)
	}
	english := small
	english.Languages = nil
	if _, err := decode(context.Background(), english, &script{wide: 10}, Request{PCM: seconds(1), Lang: "de"}); !errors.Is(err, ErrLanguage) {
		t.Errorf("German of a model that knows English only: %v", err)
	}
	if p, err := english.prompt("en"); err != nil || !slices.Equal(p, []int{16}) {
		t.Errorf("prompt %v, %v", p, err)
	}
}

func TestSurelyNoSpeechEndsAtOnce(t *testing.T) {
	s := &script{text: say(90, 1, 2), noSpeech: 0.95}
	if got := run(t, s, Request{PCM: seconds(1)}); len(got.tokens) != 0 || s.steps != 1 || got.noSpeech < 0.9 {
		t.Errorf("%+v after %d steps", got, s.steps)
	}
	s = &script{text: say(90, 1, 2), noSpeech: 0.8}
	if got := run(t, s, Request{PCM: seconds(1)}); len(got.tokens) != 2 {
		t.Errorf("with some doubt: %+v", got)
	}
}

func TestATextDoesNotBeginWithWhatMayNotBeginIt(t *testing.T) {
	s := &script{text: []said{{id: 0, look: 5}}} // the engine goes on by what it is fed, so it says the space for ever
	got := run(t, s, Request{PCM: seconds(1)})
	if len(got.tokens) == 0 || got.tokens[0] == 0 || got.tokens[0] == eot {
		t.Errorf("%v", got.tokens)
	}
}

func TestAPrefixIsTakenOver(t *testing.T) {
	s := &script{text: say(90, 1, 2, 3, 4)}
	got := run(t, s, Request{PCM: seconds(2), Prefix: []int{1, 2}})
	if !slices.Equal(got.tokens, []int{1, 2, 3, 4}) || got.probs[0] != 1 || got.probs[2] == 1 || len(got.look.rows) != 5 {
		t.Errorf("%+v", got)
	}
	if s.steps != 4 { // start, prompt with prefix, two tokens
		t.Errorf("%d steps", s.steps)
	}
	if got.look.place(0, 100) != 18 || got.look.place(3, 100) != 72 {
		t.Errorf("places %d, %d", got.look.place(0, 100), got.look.place(3, 100))
	}
}

func TestReadingTheSameSoundAgainStops(t *testing.T) {
	again := append(say(90, 1, 2, 3, 4), say(90, 1, 2, 3, 4)...)
	got := run(t, &script{text: again}, Request{PCM: seconds(2)})
	if !slices.Equal(got.tokens, []int{1, 2, 3, 4}) || got.truncated || len(got.look.rows) != 5 {
		t.Errorf("%+v", got.tokens)
	}
	// Said twice indeed: the second time it looks further on.
	twice := append(say(90, 1, 2, 3, 4), say(90, 1, 2, 3, 4)...)
	for i := range 4 {
		twice[4+i].look += 100
	}
	if got := run(t, &script{text: twice}, Request{PCM: seconds(4)}); len(got.tokens) != 8 {
		t.Errorf("%+v", got.tokens)
	}
}

func TestRunningInCirclesStops(t *testing.T) {
	var text []said
	for i := range 40 {
		text = append(text, said{id: 1 + i%2, look: 20 * i})
	}
	got := run(t, &script{text: text}, Request{PCM: seconds(20)})
	if !slices.Equal(got.tokens, []int{1, 2, 1, 2, 1, 2}) || !got.truncated {
		t.Errorf("%v, truncated %v", got.tokens, got.truncated)
	}
}

func TestTheBudgetEndsAText(t *testing.T) {
	var text []said
	for i := range 200 {
		text = append(text, said{id: 1 + (i*i/7+i)%6, look: i})
	}
	s := &script{text: text}
	got := run(t, s, Request{PCM: seconds(1)})
	if len(got.tokens) != 20 || !got.truncated {
		t.Errorf("%d tokens, truncated %v", len(got.tokens), got.truncated)
	}
	// Never more than the model has places for, with the prompt.
	s = &script{text: text}
	got = run(t, s, Request{PCM: seconds(30)})
	if len(s.fed) > small.TextTokens || !got.truncated {
		t.Errorf("fed %d of %d", len(s.fed), small.TextTokens)
	}
}

func TestAnErrorOrTheEndOfTheContextEndsIt(t *testing.T) {
	broken := errors.New("broken")
	_, err := decode(context.Background(), small, &script{text: say(90, 1, 2, 3), wide: 100, fail: broken}, Request{PCM: seconds(1)})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := decode(ctx, small, &script{wide: 100}, Request{PCM: seconds(1)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWhatATextLeftOverIsDecodedToo(t *testing.T) {
	r := Request{PCM: seconds(10), Words: true}
	for i := 200 * FrameSamples; i < 210*FrameSamples; i++ {
		r.PCM[i] = 0
	}
	scripts := [][]said{
		{{id: 1, look: 50}, {id: 2, look: 150}, {id: 4, look: 180}, {id: eot, look: 180}},
		{{id: 3, look: 100}, {id: 4, look: 250}, {id: eot, look: 260}},
	}
	var heard []int
	parts, err := inParts(r, func(r Request) (transcript, error) {
		s := &script{text: scripts[len(heard)], wide: len(r.PCM)/FrameSamples + 250, lang: 13}
		heard = append(heard, len(r.PCM))
		if len(heard) == 2 && r.Lang != "de" {
			t.Errorf("the rest was asked for in %q", r.Lang)
		}
		return decode(context.Background(), small, s, r)
	})
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	got := result(parts, smallWords, r)
	if got.Text != "one two. three." || got.Lang != "de" || got.Truncated || !slices.Equal(got.Tokens, []int{1, 2, 4, 3, 4}) {
		t.Errorf("%+v", got)
	}
	last := 0
	for _, w := range got.Words {
		if w.Start < last || w.End <= w.Start || w.End > len(r.PCM) {
			t.Errorf("%+v after %d", w, last)
		}
		last = w.Start
	}
	if w := got.Words[2]; w.Text != "three." || w.Start < 200*FrameSamples {
		t.Errorf("the rest's word: %+v", w)
	}
	// A text that never comes to its end is given up after some parts.
	parts, err = inParts(Request{PCM: seconds(29)}, func(r Request) (transcript, error) {
		return transcript{rest: SampleRate}, nil
	})
	if err != nil || len(parts) != mostParts || !parts[mostParts-1].truncated {
		t.Errorf("%d parts, %v", len(parts), err)
	}
}

func TestResult(t *testing.T) {
	decoded := func(noSpeech float64, text ...said) []transcript {
		s := &script{text: text, noSpeech: noSpeech}
		return []transcript{run(t, s, Request{PCM: seconds(3)})}
	}
	for _, c := range []struct {
		name  string
		parts []transcript
		want  string
		words string
	}{
		{"plain", decoded(0.1, say(140, 1, 2, 4)...), "one two.", "one|two."},
		{"a noise in it", decoded(0.1, say(140, 1, 7, 8, 9, 2)...), "one two", "one|two"},
		{"nothing but a noise", decoded(0.1, say(140, 7, 8, 9)...), "", ""},
		{"nothing but punctuation", decoded(0.1, say(140, 4, 4)...), "", ""},
		{"guessed and doubted", decoded(0.7, said{1, 10, -2}, said{2, 20, -2}), "", ""},
		{"sure though doubted", decoded(0.7, said{1, 10, -0.1}, said{2, 20, -0.1}), "one two", "one|two"},
		{"surely no speech", decoded(0.95, say(140, 1, 2)...), "", ""},
	} {
		got := result(c.parts, smallWords, Request{PCM: seconds(3), Words: true})
		var words []string
		for _, w := range got.Words {
			words = append(words, w.Text)
			if w.Prob <= 0 || w.Prob > 1 {
				t.Errorf("%s: %+v", c.name, w)
			}
		}
		if got.Text != c.want || strings.Join(words, "|") != c.words {
			t.Errorf("%s: %q, words %q", c.name, got.Text, words)
		}
		if got.Text == "" && c.parts[0].noSpeech != got.NoSpeech {
			t.Errorf("%s: doubt %v", c.name, got.NoSpeech)
		}
	}
	if got := result(decoded(0.1, say(140, 1)...), smallWords, Request{PCM: seconds(3)}); got.Words != nil {
		t.Error("words that nobody asked for")
	}
}

func TestWordsLieWhereTheSoundIs(t *testing.T) {
	pcm := seconds(4)
	clear(pcm[:SampleRate])   // 1 s of silence before
	clear(pcm[3*SampleRate:]) // and behind
	s := &script{text: []said{{1, 80, 0}, {2, 120, 0}, {eot, 148, 0}}}
	got := result([]transcript{run(t, s, Request{PCM: pcm})}, smallWords, Request{PCM: pcm, Words: true})
	if len(got.Words) != 2 || got.Words[0].Start != SampleRate || got.Words[1].End > 3*SampleRate {
		t.Errorf("%+v", got.Words)
	}
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		samples int
		pad     int
		want    int
	}{{SampleRate, 3, 400}, {SampleRate, 0, 600}, {SampleRate + 1, 3, 402}, {29 * SampleRate, 3, 3000}, {MaxSamples, 7, 3000}, {1, 1, 102}} {
		if got := shape(c.samples, time.Duration(c.pad)*time.Second); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
