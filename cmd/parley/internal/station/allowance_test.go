package station

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"parley/speech"
)

// named notes what it was asked for.
type named struct {
	name  string
	asked []speech.SpeakRequest
}

func (n *named) Speak(_ context.Context, r speech.SpeakRequest) (speech.Clip, error) {
	n.asked = append(n.asked, r)
	return nil, errors.New(n.name)
}

func (n *named) Voices(context.Context) ([]speech.Voice, error) { return nil, nil }

func TestAVoiceThatCostsHasItsDaysCharacters(t *testing.T) {
	cloud, own := &named{name: "cloud"}, &named{name: "own"}
	a := &allowance{Synthesizer: cloud, instead: own, log: slog.New(slog.DiscardHandler), left: 10}
	v := &voice{others: map[string]speech.Synthesizer{"cloud": a, "own": own}}
	for _, c := range []struct{ text, who string }{{"seven!!", "cloud"}, {"four", "own"}, {"drü", "cloud"}, {"x", "own"}} {
		if _, err := a.Speak(t.Context(), speech.SpeakRequest{Text: c.text, Voice: "v", Model: "m"}); err == nil || err.Error() != c.who {
			t.Errorf("%q is said by %v, want %s", c.text, err, c.who)
		}
	}
	if v.Spent() != 10 {
		t.Errorf("%d characters are counted", v.Spent())
	}
	if r := own.asked[0]; r.Voice != "" || r.Model != "" || r.Text != "four" {
		t.Errorf("the other voice was asked for %+v", r)
	}
	a.instead = nil
	if _, err := a.Speak(t.Context(), speech.SpeakRequest{Text: "x"}); speech.KindOf(err) != speech.KindQuota {
		t.Errorf("with no other voice: %v", err)
	}
}
