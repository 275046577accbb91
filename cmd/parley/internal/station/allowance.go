package station

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"unicode/utf8"

	"parley/speech"
)

// allowance is what a voice that costs may still be given of a day's characters. Where that is used up, another voice
// speaks: the meeting should not fall silent for it.
type allowance struct {
	speech.Synthesizer
	instead speech.Synthesizer // nil: nobody
	log     *slog.Logger

	mu    sync.Mutex
	left  int64
	spent int64
	told  bool
}

var errUsedUp = errors.New("the characters that a tenant may give to a voice that costs are used up for today (PARLEY_TTS_DAILY_CHARS)")

// Speak counts the text as given, whatever becomes of it.
func (a *allowance) Speak(ctx context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	n := int64(utf8.RuneCountInString(r.Text))
	a.mu.Lock()
	ok := n <= a.left
	first := !ok && !a.told
	if ok {
		a.left -= n
		a.spent += n
	}
	a.told = a.told || first
	a.mu.Unlock()
	switch {
	case ok:
		return a.Synthesizer.Speak(ctx, r)
	case a.instead == nil:
		return nil, &speech.Error{Kind: speech.KindQuota, Op: "speak", Err: errUsedUp}
	}
	if first {
		a.log.Warn("another voice speaks for the rest of the meeting", "err", errUsedUp)
	}
	return a.instead.Speak(ctx, speech.SpeakRequest{Text: r.Text, Speed: r.Speed}) // voice and model are the other's
}

func (a *allowance) used() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// Spent implements meeting.Spender.
func (v *voice) Spent() (chars int64) {
	for _, s := range v.others {
		if a, ok := s.(*allowance); ok {
			chars += a.used()
		}
	}
	return chars
}
