package kokoro

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"parley/speech"
)

// DefaultVoice is used when nobody asks for another: the one its makers rate best.
const DefaultVoice = "af_heart"

// Clause is a stretch of text ready to be said.
type Clause struct {
	Text     string // as it was written
	Phonemes string
	Voice    string
	Speed    float64
	Common   bool // one of our own openers, which may be kept
	Pause    int  // samples of silence after it
}

// maxPhonemes is what the model takes at once, without the zeros around it.
const maxPhonemes = 500

// The pauses after a clause: what a speaker makes at a full stop and at a comma.
const (
	pauseLong  = SampleRate * 24 / 100
	pauseShort = SampleRate * 10 / 100
)

// Planner makes clauses of texts. It is safe for concurrent use.
type Planner struct {
	voices []string
	speak  func(ctx context.Context, lines []string, a Accent) ([]string, error)
	notes  []string
}

// NewPlanner makes phonemes with espeak-ng, or with the word lists where that is not installed. It fails when neither
// is there.
func NewPlanner(voices []string, lexicons ...string) (*Planner, error) {
	if len(voices) == 0 {
		return nil, errors.New("kokoro: no voice is installed")
	}
	p := &Planner{voices: voices}
	e, err := findEspeak()
	if err == nil {
		p.speak = e.phonemes
		return p, nil
	}
	l, lerr := loadLexicon(lexicons...)
	if lerr != nil {
		return nil, fmt.Errorf("kokoro: nothing makes phonemes: espeak-ng is not installed (%w) and %w", err, lerr)
	}
	p.notes = []string{"espeak-ng is not installed: words that the word list does not know are spelled; install espeak-ng"}
	p.speak = func(_ context.Context, lines []string, _ Accent) ([]string, error) { return l.phonemes(lines), nil }
	return p, nil
}

// Notes say what works less well than it could.
func (p *Planner) Notes() []string { return p.notes }

// Voices lists what Request.Voice may name.
func (p *Planner) Voices() []speech.Voice { return Voices(p.voices) }

// Voices describes voices by their ids.
func Voices(ids []string) []speech.Voice {
	var out []speech.Voice
	for _, id := range ids {
		v := speech.Voice{ID: id, Lang: "en-US", Note: "female"}
		if accentOf(id) == British {
			v.Lang = "en-GB"
		}
		if len(id) > 1 && id[1] == 'm' {
			v.Note = "male"
		}
		out = append(out, v)
	}
	return out
}

// accentOf reads the accent off a voice's name: a or b.
func accentOf(voice string) Accent {
	if strings.HasPrefix(voice, "b") {
		return British
	}
	return American
}

// voice chooses the voice of a request.
func (p *Planner) voice(r speech.SpeakRequest) (string, error) {
	lang := strings.ToLower(strings.ReplaceAll(r.Lang, "_", "-"))
	if lang != "" && lang != "en" && !strings.HasPrefix(lang, "en-") {
		return "", input("the local voice speaks English only (en, en-US, en-GB), not %q: leave the language out, or use another voice engine", r.Lang)
	}
	if r.Speed != 0 && !(r.Speed >= 0.5 && r.Speed <= 2) {
		return "", input("speed %v: it lies between 0.5 and 2", r.Speed)
	}
	if r.Voice == "" {
		want := DefaultVoice
		if lang == "en-gb" {
			want = "bf_emma"
		}
		for _, v := range p.voices {
			if v == want {
				return v, nil
			}
		}
		return p.voices[0], nil
	}
	for _, v := range p.voices {
		if v == r.Voice {
			return v, nil
		}
	}
	return "", input("there is no local voice %q; there are %s", r.Voice, strings.Join(p.voices, ", "))
}

func input(format string, args ...any) error {
	return &speech.Error{Kind: speech.KindInput, Op: "speak", Err: fmt.Errorf(format, args...)}
}

// Plan divides a text into clauses. A text without anything to say has none.
func (p *Planner) Plan(ctx context.Context, r speech.SpeakRequest) ([]Clause, error) {
	voice, err := p.voice(r)
	if err != nil {
		return nil, err
	}
	if foreign(r.Text) {
		return nil, input("the local voice speaks English only, and would spell these letters one by one: say it in English, or use another voice engine")
	}
	texts := Split(r.Text)
	return p.clauses(ctx, texts, voice, r.Speed)
}

// foreign says that most letters of a text are of no alphabet that English words are written in.
func foreign(text string) bool {
	latin, other := 0, 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin++
		case unicode.IsLetter(r):
			other++
		}
	}
	return other > latin
}

// Common gives the openers that are worth making ahead, as clauses of a voice.
func (p *Planner) Common(ctx context.Context, voice string) ([]Clause, error) {
	voice, err := p.voice(speech.SpeakRequest{Voice: voice})
	if err != nil {
		return nil, err
	}
	return p.clauses(ctx, aheadList(), voice, 0)
}

// clauses makes phonemes of all texts in one go.
func (p *Planner) clauses(ctx context.Context, texts []string, voice string, speed float64) ([]Clause, error) {
	if speed == 0 {
		speed = 1
	}
	lists := make([][]chunk, len(texts))
	var lines []string
	for i, t := range texts {
		lists[i] = chunks(Normalize(t))
		for _, c := range lists[i] {
			if !c.sign {
				lines = append(lines, c.text)
			}
		}
	}
	said, err := p.speak(ctx, lines, accentOf(voice))
	if err != nil {
		return nil, err
	}
	var out []Clause
	before := "" // text that has nothing to say goes with the clause after it
	for i, t := range texts {
		n := 0
		for _, c := range lists[i] {
			if !c.sign {
				n++
			}
		}
		phonemes := assemble(lists[i], said[:n])
		said = said[n:]
		text := strings.TrimSpace(before + " " + t)
		if phonemes == "" {
			before = text
			continue
		}
		before = ""
		for j, piece := range fit(phonemes) {
			c := Clause{Phonemes: piece, Voice: voice, Speed: speed}
			if j == 0 {
				c.Text = text
				c.Common = text == t && openers[strings.ToLower(t)]
			}
			out = append(out, c)
		}
		out[len(out)-1].Pause = pauseAfter(t)
	}
	if len(out) > 0 {
		last := &out[len(out)-1]
		last.Text = strings.TrimSpace(last.Text + " " + before)
		last.Pause = 0
	}
	return out, nil
}

// pauseAfter is the silence after a clause, by its sign.
func pauseAfter(text string) int {
	text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’)]`, r) })
	switch {
	case strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?"):
		return pauseLong
	case strings.HasSuffix(text, ",") || strings.HasSuffix(text, ";") || strings.HasSuffix(text, ":") || strings.HasSuffix(text, "—"):
		return pauseShort
	}
	return 0
}

// fit divides phonemes that are too many for the model, between words.
func fit(phonemes string) []string {
	var out []string
	runes := []rune(phonemes)
	for len(runes) > maxPhonemes {
		at := maxPhonemes
		for at > maxPhonemes/2 && runes[at] != ' ' {
			at--
		}
		out = append(out, strings.TrimSpace(string(runes[:at])))
		runes = runes[at:]
	}
	return append(out, strings.TrimSpace(string(runes)))
}
