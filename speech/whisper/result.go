package whisper

import (
	"strings"
)

// result makes text and words of what was decoded, in one part or several.
func result(parts []transcript, tokens *Tokens, r Request) Result {
	out := Result{Lang: parts[0].lang, LangProb: parts[0].langProb, NoSpeech: parts[0].noSpeech}
	weight := 0
	for i := range parts {
		t := &parts[i]
		out.Truncated = out.Truncated || t.truncated
		if unspoken(t.noSpeech, t.logProb) {
			continue
		}
		text, words := t.write(tokens, r)
		if text != "" && out.Text != "" && !noSpaces[t.lang] {
			out.Text += " "
		}
		out.Text += text
		out.Words = append(out.Words, words...)
		out.Tokens = append(out.Tokens, t.tokens...)
		out.LogProb += t.logProb * float64(len(t.tokens))
		weight += len(t.tokens)
	}
	out.LogProb /= float64(max(weight, 1))
	return out
}

// write gives the text of one part and, when asked for, its words.
func (t *transcript) write(tokens *Tokens, r Request) (string, []Word) {
	spans := tokens.words(t.tokens, t.lang)
	texts := make([]string, len(spans))
	for i, s := range spans {
		texts[i] = s.text
	}
	drop := noises(texts)
	var b strings.Builder
	for i, s := range spans {
		if drop[i] {
			continue
		}
		if b.Len() > 0 && (s.spaced || drop[i-1]) {
			b.WriteByte(' ')
		}
		b.WriteString(s.text)
	}
	text := b.String()
	if silent(text) {
		return "", nil
	}
	if !r.Words {
		return text, nil
	}
	pcm := r.PCM[t.from:]
	loud := loudFrames(pcm)
	_, sound := ends(loud)
	if t.rest > 0 {
		sound = t.rest / FrameSamples
	}
	starts := t.look.starts(sound)
	var words []Word
	for i, s := range spans {
		if drop[i] || silent(s.text) {
			continue
		}
		prob := 0.0
		for _, p := range t.probs[s.from:s.to] {
			prob += p
		}
		// The row behind the last token is that of the end; a decode that was broken off has none.
		from, to := starts[s.from], sound
		if s.to < len(starts) {
			to = starts[s.to]
		}
		// The path leaves no gaps, so each pause lies in some word, mostly in the one that follows it.
		for to-from > 1 && !loud[from] {
			from++
		}
		for to-from > 1 && !loud[to-1] {
			to--
		}
		words = append(words, Word{
			Text:  s.text,
			Start: t.from + min(from*FrameSamples, len(pcm)),
			End:   t.from + min(max(to, from+1)*FrameSamples, len(pcm)),
			Prob:  prob / float64(s.to-s.from),
		})
	}
	return text, words
}

// loudFrames tells for each position whether it is less than 30 dB quieter than the loudest: speech rather than pause.
// In a noisy room all of them may be; then nothing is known about pauses.
func loudFrames(pcm []int16) []bool {
	n := (len(pcm) + FrameSamples - 1) / FrameSamples
	energy := make([]float64, n)
	loudest := 0.0
	for i := range energy {
		part := pcm[i*FrameSamples : min((i+1)*FrameSamples, len(pcm))]
		for _, v := range part {
			energy[i] += float64(v) * float64(v)
		}
		energy[i] /= float64(len(part))
		loudest = max(loudest, energy[i])
	}
	loud := make([]bool, n)
	for i, e := range energy {
		loud[i] = e >= loudest/1000
	}
	return loud
}

// ends gives the positions between which the sound lies, at least one.
func ends(loud []bool) (from, to int) {
	to = len(loud)
	for to > 1 && !loud[to-1] {
		to--
	}
	for from+1 < to && !loud[from] {
		from++
	}
	return from, to
}

// Agreed gives the tokens that two successive partials of a growing sound have in common and that may be taken as
// known for the next one: whole words, and not the last of them, which the end of the sound may have cut.
func (t *Tokens) Agreed(before, now []int) []int {
	n := 0
	for n < len(before) && n < len(now) && before[n] == now[n] {
		n++
	}
	spans := t.words(now, "")
	keep := 0
	for i, s := range spans {
		if s.to > n || i+1 >= len(spans) {
			break
		}
		keep = s.from
	}
	return now[:keep:keep]
}
