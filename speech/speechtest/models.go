package speechtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"parley/speech"
	"parley/speech/server"
	"parley/speech/whisper"
)

// Models are models for a server.Server that understand the tone language, in no time.
func Models() *server.Models {
	return &server.Models{
		Ear:     func() server.Ear { return ear{} },
		TurnEnd: func(context.Context, []int16) (float64, error) { return 0.9, nil },
		Small:   Decoder{Lang: "en"},
		Large:   Decoder{},
		Knows:   func(lang string) bool { return lang == "en" || lang == "de" },
	}
}

type ear struct{}

func (ear) Prob(_ context.Context, pcm []int16) (float64, error) {
	if Loud(pcm) {
		return 0.99, nil
	}
	return 0.01, nil
}

func (ear) Reset() {}

// Decoder writes the tone language down.
type Decoder struct {
	Lang string        // the only language it knows; empty means any, and English when it is to find out
	Slow time.Duration // how long a decode takes
}

// Decode hears the words.
func (d Decoder) Decode(ctx context.Context, r whisper.Request) (whisper.Result, error) {
	if d.Slow > 0 {
		select {
		case <-time.After(d.Slow):
		case <-ctx.Done():
			return whisper.Result{}, ctx.Err()
		}
	}
	lang := r.Lang
	if lang == "" {
		lang = "en"
	}
	if d.Lang != "" && lang != d.Lang {
		return whisper.Result{}, fmt.Errorf("%w: %s", whisper.ErrLanguage, lang)
	}
	res := whisper.Result{Lang: lang}
	var texts []string
	for _, w := range HearTones(r.PCM) {
		texts = append(texts, w.Text)
		res.Tokens = append(res.Tokens, indexOf(w.Text))
		if r.Words {
			res.Words = append(res.Words, whisper.Word{Text: w.Text, Start: w.Start, End: w.End, Prob: 1})
		}
	}
	if len(texts) > 0 {
		res.Text = strings.Join(texts, " ") + "."
	} else {
		res.NoSpeech = 1
	}
	return res, nil
}

// Agreed gives what two lists begin with in common.
func (Decoder) Agreed(before, now []int) []int {
	n := 0
	for n < len(before) && n < len(now) && before[n] == now[n] {
		n++
	}
	return now[:n]
}

// Voice is a voice whose every clause is a second of a hum.
type Voice struct{}

// Voices lists one voice.
func (Voice) Voices() []speech.Voice { return []speech.Voice{{ID: "hum", Lang: "en"}} }

// Plan divides at commas and full stops.
func (Voice) Plan(_ context.Context, r speech.SpeakRequest) ([]server.Clause, error) {
	switch {
	case r.Voice != "" && r.Voice != "hum":
		return nil, &speech.Error{Kind: speech.KindInput, Op: "speak", Err: fmt.Errorf("no voice %q: there is hum", r.Voice)}
	case r.Lang != "" && !strings.HasPrefix(r.Lang, "en"):
		return nil, &speech.Error{Kind: speech.KindInput, Op: "speak", Err: fmt.Errorf("the voice hums in English, not in %q", r.Lang)}
	}
	var out []server.Clause
	for _, part := range strings.FieldsFunc(r.Text, func(c rune) bool { return c == '.' || c == ',' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, server.Clause{Text: part, Phonemes: part, Voice: "hum", Speed: 1})
		}
	}
	return out, nil
}

// Say hums, each clause in its own pitch.
func (Voice) Say(ctx context.Context, c server.Clause) ([]int16, error) {
	h := fnv.New32a()
	h.Write([]byte(c.Phonemes))
	period := 100 + int(h.Sum32()%100)
	pcm := make([]int16, 24000)
	for i := range pcm {
		pcm[i] = int16(i%period) * 50
	}
	return pcm, ctx.Err()
}

// Notes are none.
func (Voice) Notes() []string { return nil }
