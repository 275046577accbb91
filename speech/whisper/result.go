package whisper

import (
	"strings"
)

// result makes text and words of what was decoded, in one part or several.
func result(parts []transcript, tokens *Tokens, r Request) Result {
	out := Result{Lang: parts[0].lang, NoSpeech: parts[0].noSpeech}
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
	begin, sound := soundFrames(pcm)
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
		end := sound
		if s.to < len(starts) {
			end = starts[s.to]
		}
		// The path begins at the first frame, so the first word would begin there even when nobody speaks yet.
		start := max(starts[s.from], min(begin, sound-1))
		words = append(words, Word{
			Text:  s.text,
			Start: t.from + min(start*FrameSamples, len(pcm)),
			End:   t.from + min(max(end, start+1)*FrameSamples, len(pcm)),
			Prob:  prob / float64(s.to-s.from),
		})
	}
	return text, words
}

// soundFrames gives the positions between which it is not much quieter than the speech at its loudest: the silence
// around it would make the first and the last word too long.
func soundFrames(pcm []int16) (from, to int) {
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
	const quiet = 1e-3 // 30 dB below the loudest 20 ms
	for n > 1 && energy[n-1] < loudest*quiet {
		n--
	}
	for from+1 < n && energy[from] < loudest*quiet {
		from++
	}
	return from, n
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
