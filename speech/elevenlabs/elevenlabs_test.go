package elevenlabs_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/audio"
	"parley/speech"
	"parley/speech/elevenlabs"
	"parley/speech/speechtest"
	standin "parley/testkit/elevenlabs"
)

func open(t *testing.T, o elevenlabs.Options) (*elevenlabs.Engine, *standin.Server) {
	t.Helper()
	s := standin.New()
	o.URL = s.URL + "/"
	if o.Key == "" {
		o.Key = standin.Key
	}
	if o.Retry == 0 {
		o.Retry = time.Millisecond
	}
	e, err := elevenlabs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(); s.Close() })
	return e, s
}

func TestSuite(t *testing.T) {
	speechtest.RunSynthesizer(t, func(t *testing.T) speech.Synthesizer {
		e, _ := open(t, elevenlabs.Options{})
		return e
	})
}

// all says a text and gives its length and the sentences that came.
func all(ctx context.Context, e *elevenlabs.Engine, r speech.SpeakRequest) (length time.Duration, pieces int, err error) {
	c, err := e.Speak(ctx, r)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	n := 0
	for {
		p, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			return time.Duration(n) * time.Second / audio.SpeakRate, pieces, nil
		}
		if err != nil {
			return 0, pieces, err
		}
		n += len(p.PCM)
		pieces++
	}
}

func TestWhatIsAskedFor(t *testing.T) {
	e, s := open(t, elevenlabs.Options{})
	long, _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Good morning. It is late.", Voice: standin.Voice, Lang: "de-AT", Speed: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	if d := long - standin.Length("Good morning.") - standin.Length("It is late."); d.Abs() > time.Millisecond {
		t.Errorf("it is %v long", long)
	}
	reqs := s.Requests()
	want := standin.Request{Voice: standin.Voice, Format: "pcm_24000", Logging: "false", Text: "Good morning.", Model: "eleven_v4_turbo", Lang: "de", Speed: 1.2}
	if len(reqs) != 2 || reqs[0] != want {
		t.Errorf("requests: %+v", reqs)
	}
	if _, _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Guten Tag.", Model: "eleven_multilingual_v2", Lang: "de"}); err != nil {
		t.Errorf("a model that takes no language: %v", err)
	}
}

func TestTheAwkwardSides(t *testing.T) {
	const text = "A secret word. And another one."
	for name, c := range map[string]struct {
		change func(*standin.Behaviour)
		key    string
		r      speech.SpeakRequest
		want   speech.Kind // empty: it is said
		asked  int         // requests; 0: not counted
	}{
		"busy for a while":            {func(b *standin.Behaviour) { b.Busy = 2 }, "", speech.SpeakRequest{}, "", 4},
		"busy, and says how long":     {func(b *standin.Behaviour) { b.Busy, b.RetryAfter = 1, "0" }, "", speech.SpeakRequest{}, "", 3},
		"busy all the time":           {func(b *standin.Behaviour) { b.Busy = 99 }, "", speech.SpeakRequest{}, speech.KindBusy, 4},
		"fails once":                  {func(b *standin.Behaviour) { b.Fails, b.Status = 1, 502 }, "", speech.SpeakRequest{}, "", 3},
		"fails":                       {func(b *standin.Behaviour) { b.Fails, b.Status = 99, 500 }, "", speech.SpeakRequest{}, speech.KindUnavailable, 4},
		"breaks off once":             {func(b *standin.Behaviour) { b.Cuts = 1 }, "", speech.SpeakRequest{}, "", 3},
		"breaks off":                  {func(b *standin.Behaviour) { b.Cuts = 99 }, "", speech.SpeakRequest{}, speech.KindNetwork, 4},
		"a slow first byte":           {func(b *standin.Behaviour) { b.Slow = 50 * time.Millisecond }, "", speech.SpeakRequest{}, "", 2},
		"no sound":                    {func(b *standin.Behaviour) { b.Empty = true }, "", speech.SpeakRequest{}, speech.KindUnavailable, 4},
		"a proxy's page":              {func(b *standin.Behaviour) { b.Kind, b.Body = "text/html; charset=utf-8", "<html>Log in" }, "", speech.SpeakRequest{}, speech.KindInternal, 1},
		"a page that is called sound": {func(b *standin.Behaviour) { b.Kind, b.Body = "audio/pcm", "<!DOCTYPE html><title>Log in</title>" }, "", speech.SpeakRequest{}, speech.KindInternal, 1},
		"another format":              {func(b *standin.Behaviour) { b.Kind, b.Body = "audio/pcm", "RIFF\x24\x00\x00\x00WAVEfmt " }, "", speech.SpeakRequest{}, speech.KindInternal, 1},
		"MP3 without a head":          {func(b *standin.Behaviour) { b.Kind, b.Body = "audio/mpeg", "\xff\xfb\x90\x00" }, "", speech.SpeakRequest{}, speech.KindInternal, 1},
		"a wrong key":                 {func(*standin.Behaviour) {}, "another", speech.SpeakRequest{}, speech.KindAuth, 0},
		"no credit":                   {func(b *standin.Behaviour) { b.Quota = true }, "", speech.SpeakRequest{}, speech.KindQuota, 1},
		"payment required":            {func(b *standin.Behaviour) { b.Fails, b.Status = 1, 402 }, "", speech.SpeakRequest{}, speech.KindQuota, 1},
		"the plan does not have it":   {func(b *standin.Behaviour) { b.Fails, b.Status = 1, 403 }, "", speech.SpeakRequest{}, speech.KindAuth, 1},
		"no such voice":               {func(*standin.Behaviour) {}, "", speech.SpeakRequest{Voice: "x/../y"}, speech.KindInput, 1},
		"no such model":               {func(*standin.Behaviour) {}, "", speech.SpeakRequest{Model: "x"}, speech.KindInput, 1},
		"something else than it was":  {func(b *standin.Behaviour) { b.Fails, b.Status = 1, 422 }, "", speech.SpeakRequest{}, speech.KindInput, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := open(t, elevenlabs.Options{Key: c.key})
			s.Change(c.change)
			c.r.Text = text
			_, pieces, err := all(t.Context(), e, c.r)
			switch {
			case c.want == "" && (err != nil || pieces != 2):
				t.Errorf("%d sentences, %v", pieces, err)
			case c.want != "" && (err == nil || speech.KindOf(err) != c.want):
				t.Errorf("%v, want %s", err, c.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error quotes the text: %v", err)
			}
			if n := len(s.Requests()); c.asked > 0 && n != c.asked {
				t.Errorf("it was asked %d times, want %d", n, c.asked)
			}
		})
	}
}

func TestOneThatHangsIsGivenUp(t *testing.T) {
	for name, change := range map[string]func(*standin.Behaviour){
		"in the middle":         func(b *standin.Behaviour) { b.Hangs = true },
		"before the first byte": func(b *standin.Behaviour) { b.Slow = time.Hour },
	} {
		e, s := open(t, elevenlabs.Options{Limit: 200 * time.Millisecond})
		s.Change(change)
		if _, _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Hello."}); speech.KindOf(err) != speech.KindUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheKeyGoesNowhereElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another place was asked, with the key %v", r.Header.Get("xi-api-key") != "")
	}))
	defer other.Close()
	e, s := open(t, elevenlabs.Options{})
	s.Change(func(b *standin.Behaviour) { b.Redirect = other.URL })
	if _, _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Hello."}); speech.KindOf(err) != speech.KindInput {
		t.Error(err)
	}
	if _, err := elevenlabs.New(elevenlabs.Options{}); err == nil {
		t.Error("an engine without a key")
	}
}
