package whisper

import (
	"context"
	"math"
)

// engine runs the decoder over one piece of speech. Tokens given to step are appended to those of earlier steps; it
// returns the scores for the token after the last one, valid until the next step, and where each of the tokens given
// made the alignment heads look: rows of heads x frames values.
type engine interface {
	step(ctx context.Context, tokens []int) (scores []float32, rows [][]float32, err error)
	// shape of the rows
	heads() int
	frames() int
}

// transcript is what decoding gives before it is made into text and words.
type transcript struct {
	lang      string
	langProb  float64
	tokens    []int
	probs     []float64  // of each token; 1 for the prefix
	look      *attention // a row for each token, and one for the end of the text
	noSpeech  float64
	logProb   float64
	truncated bool
	from      int // the sample of the request at which this part begins
	rest      int // the sample, from there on, behind which the text lacks something; 0: nowhere
}

// decode asks for one token after the other, always the likeliest, until the text ends or a guard stops it.
func decode(ctx context.Context, c Config, e engine, r Request) (transcript, error) {
	out := transcript{lang: r.Lang, langProb: 1, look: &attention{heads: e.heads(), frames: e.frames()}}
	// The first step shows both whether it is speech and which language.
	scores, _, err := e.step(ctx, []int{c.Start})
	if err != nil {
		return out, err
	}
	out.noSpeech = probability(scores, c.NoSpeech)
	switch {
	case out.lang != "":
	case c.Multilingual():
		out.lang, out.langProb = likeliestLanguage(c, scores)
	default:
		out.lang = "en"
	}
	prompt, err := c.prompt(out.lang)
	if err != nil {
		return out, err
	}
	if out.noSpeech >= surelyNoSpeech {
		return out, nil
	}

	sound := (len(r.PCM) + FrameSamples - 1) / FrameSamples
	most := budget(len(r.PCM), out.lang, c.TextTokens-1-len(prompt)-1)
	prefix := r.Prefix[:min(len(r.Prefix), most)]
	out.tokens = append(out.tokens, prefix...)
	for range prefix {
		out.probs = append(out.probs, 1)
	}
	var places []int
	next := append(append([]int(nil), prompt...), prefix...)
	// A row tells where the heads looked to predict the *next* token, so the rows of the prompt but its last are of
	// no use, and the row of the last token belongs to the end of the text.
	skip := len(prompt) - 1
	var sum float64
	for {
		scores, rows, err := e.step(ctx, next)
		if err != nil {
			return out, err
		}
		out.look.rows = append(out.look.rows, rows[skip:]...)
		skip = 0
		for len(places) < len(out.look.rows) {
			places = append(places, out.look.place(len(places), sound))
		}
		id, logp := likeliest(c, scores, len(out.tokens) == 0)
		if id == c.EndOfText {
			break
		}
		if len(out.tokens) >= most {
			out.truncated = true
			break
		}
		out.tokens = append(out.tokens, id)
		out.probs = append(out.probs, math.Exp(logp))
		sum += logp
		if reread(out.tokens, places) && len(out.tokens)-3 >= len(prefix) {
			out.cut(len(out.tokens) - 3)
			break
		}
		if n := looping(out.tokens); n > 0 {
			// Twice may have been said; more often is the model's own doing.
			keep := len(out.tokens)
			for keep > 3*n && sameTail(out.tokens[:keep], n) {
				keep -= n
			}
			out.cut(keep)
			out.truncated = true
			break
		}
		next = []int{id}
	}
	if !out.truncated {
		_, end := ends(loudFrames(r.PCM))
		out.rest = rest(r.PCM, places, end)
	}
	if n := len(out.tokens) - len(prefix); n > 0 {
		// Tokens that a guard has cut are in the sum too: a doubtful end makes the whole doubtful.
		out.logProb = sum / float64(n)
	}
	return out, nil
}

func sameTail(tokens []int, n int) bool {
	for i := 0; i < n; i++ {
		if tokens[len(tokens)-1-i] != tokens[len(tokens)-1-i-n] {
			return false
		}
	}
	return true
}

// cut keeps the first n tokens; the row of the first one dropped becomes that of the end.
func (t *transcript) cut(n int) {
	t.tokens, t.probs = t.tokens[:n], t.probs[:n]
	t.look.rows = t.look.rows[:min(len(t.look.rows), n+1)]
}

// likeliest gives the likeliest token that may come, text or the end of it, and its log probability among these.
func likeliest(c Config, scores []float32, first bool) (int, float64) {
	allowed := scores[:c.EndOfText+1] // the end of the text follows the text tokens
	best := -1
	for i, v := range allowed {
		if (best < 0 || v > allowed[best]) && !(first && c.notFirst(i)) {
			best = i
		}
	}
	return best, -logSum(allowed, allowed[best])
}

func (c Config) notFirst(id int) bool {
	for _, s := range c.SuppressFirst {
		if s == id {
			return true
		}
	}
	return false
}

// logSum is log(sum(exp(v - top))). Terms that are e^-20 of the top and less do not change it and are left out: that
// saves nearly all of the work.
func logSum(scores []float32, top float32) float64 {
	var sum float64
	for _, v := range scores {
		if d := v - top; d > -20 {
			sum += math.Exp(float64(d))
		}
	}
	return math.Log(sum)
}

// probability of one token among all.
func probability(scores []float32, id int) float64 {
	top := scores[0]
	for _, v := range scores {
		top = max(top, v)
	}
	return math.Exp(float64(scores[id]-top) - logSum(scores, top))
}

// likeliestLanguage gives the language with the highest score, and its probability among the languages.
func likeliestLanguage(c Config, scores []float32) (string, float64) {
	best, lang := float32(math.Inf(-1)), ""
	all := make([]float32, 0, len(c.Languages))
	for code, id := range c.Languages {
		v := scores[id]
		all = append(all, v)
		if v > best || v == best && code < lang {
			best, lang = v, code
		}
	}
	return lang, math.Exp(-logSum(all, best))
}

// mostParts bounds how often one request is taken up again.
const mostParts = 4

// inParts decodes a request and, where the text ended before the speech did, what was left over.
func inParts(r Request, one func(Request) (transcript, error)) ([]transcript, error) {
	var parts []transcript
	for from := 0; ; {
		t, err := one(r)
		if err != nil {
			return nil, err
		}
		t.from = from
		parts = append(parts, t)
		if t.rest == 0 {
			return parts, nil
		}
		if len(parts) == mostParts {
			parts[len(parts)-1].truncated = true
			return parts, nil
		}
		from += t.rest
		r.PCM, r.Prefix, r.Lang = r.PCM[t.rest:], nil, t.lang
	}
}
