package supertonic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/audio"
	"parley/speech"
	"parley/speech/speechtest"
	"parley/speech/supertonic"
	standin "parley/testkit/supertonic"
)

func open(t *testing.T, o supertonic.Options) (*supertonic.Engine, *standin.Server) {
	t.Helper()
	s := standin.New()
	o.URL = s.URL + "/"
	e, err := supertonic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(); s.Close() })
	return e, s
}

func TestSuite(t *testing.T) {
	for name, change := range map[string]func(*standin.Behaviour){
		"vendor":  func(*standin.Behaviour) {},
		"streams": func(b *standin.Behaviour) { b.Streams = true },
		"stereo":  func(b *standin.Behaviour) { b.Rate, b.Channels = 48000, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			speechtest.RunSynthesizer(t, func(t *testing.T) speech.Synthesizer {
				e, s := open(t, supertonic.Options{})
				s.Change(change)
				return e
			})
		})
	}
}

func all(ctx context.Context, e *supertonic.Engine, r speech.SpeakRequest) (time.Duration, error) {
	c, err := e.Speak(ctx, r)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	n := 0
	for {
		p, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			return time.Duration(n) * time.Second / audio.SpeakRate, nil
		}
		if err != nil {
			return 0, err
		}
		n += len(p.PCM)
	}
}

func TestWhatIsAskedFor(t *testing.T) {
	e, s := open(t, supertonic.Options{})
	long, err := all(t.Context(), e, speech.SpeakRequest{Text: "Good morning. It is late.", Voice: "supertonic-M2", Lang: "de", Speed: 1.5})
	if err != nil {
		t.Fatal(err)
	}
	want := standin.Length("Good morning.") + standin.Length("It is late.")
	if d := long - want; d.Abs() > 20*time.Millisecond {
		t.Errorf("it is %v long, want %v", long, want)
	}
	reqs := s.Requests()
	if len(reqs) != 2 || reqs[0] != (standin.Request{Model: "supertonic-3", Input: "Good morning.", Voice: "M2", Lang: "de", Format: "wav", Speed: 1.5}) {
		t.Errorf("requests: %+v", reqs)
	}
}

func TestAServiceThatLoadsIsAskedAgain(t *testing.T) {
	e, s := open(t, supertonic.Options{Retry: time.Millisecond})
	s.Change(func(b *standin.Behaviour) { b.NotReady = 3 })
	if _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Hello."}); err != nil {
		t.Error(err)
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
	limited, s2 := open(t, supertonic.Options{Retry: time.Millisecond, Limit: 50 * time.Millisecond})
	s2.Change(func(b *standin.Behaviour) { b.NotReady = 1 << 30 })
	if _, err := all(t.Context(), limited, speech.SpeakRequest{Text: "Hello."}); speech.KindOf(err) != speech.KindUnavailable {
		t.Errorf("one that loads for ever: %v", err)
	}
}

func TestErrorsByKind(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*standin.Behaviour)
		r      speech.SpeakRequest
		want   speech.Kind
	}{
		"voice":     {func(*standin.Behaviour) {}, speech.SpeakRequest{Text: "Secret.", Voice: "nobody"}, speech.KindInput},
		"model":     {func(*standin.Behaviour) {}, speech.SpeakRequest{Text: "Secret.", Model: "m"}, speech.KindInput},
		"key":       {func(b *standin.Behaviour) { b.Fails = http.StatusUnauthorized }, speech.SpeakRequest{Text: "Secret."}, speech.KindAuth},
		"busy":      {func(b *standin.Behaviour) { b.Fails = http.StatusTooManyRequests }, speech.SpeakRequest{Text: "Secret."}, speech.KindBusy},
		"synthesis": {func(b *standin.Behaviour) { b.Fails, b.Code = 500, "synthesis_failed" }, speech.SpeakRequest{Text: "Secret."}, speech.KindInternal},
		"down":      {func(b *standin.Behaviour) { b.Fails = 502 }, speech.SpeakRequest{Text: "Secret."}, speech.KindUnavailable},
		"no sound":  {func(b *standin.Behaviour) { b.Body = []byte("<html>Secret.</html>") }, speech.SpeakRequest{Text: "Secret."}, speech.KindInternal},
		"breaks":    {func(b *standin.Behaviour) { b.Breaks = true }, speech.SpeakRequest{Text: "Secret."}, speech.KindInternal},
		"hangs":     {func(b *standin.Behaviour) { b.Hangs = true }, speech.SpeakRequest{Text: "Secret."}, speech.KindUnavailable},
		"long":      {func(*standin.Behaviour) {}, speech.SpeakRequest{Text: strings.Repeat("Secret. ", 2000)}, speech.KindInput},
		"speed":     {func(*standin.Behaviour) {}, speech.SpeakRequest{Text: "Secret.", Speed: 9}, speech.KindInput},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := open(t, supertonic.Options{Limit: 2 * time.Second})
			s.Change(c.change)
			_, err := all(t.Context(), e, c.r)
			if err == nil || speech.KindOf(err) != c.want {
				t.Fatalf("%v, of the kind %s, want %s", err, speech.KindOf(err), c.want)
			}
			if strings.Contains(err.Error(), "Secret") {
				t.Errorf("the error quotes the text: %v", err)
			}
		})
	}
	gone, s := open(t, supertonic.Options{})
	s.Close()
	if _, err := all(t.Context(), gone, speech.SpeakRequest{Text: "Secret."}); speech.KindOf(err) != speech.KindUnavailable || strings.Contains(err.Error(), s.URL) {
		t.Errorf("a service that is not there: %v", err)
	}
}

// What somebody says goes to the address that was set, and to no other.
func TestARedirectionIsNotFollowed(t *testing.T) {
	e, s := open(t, supertonic.Options{})
	other := standin.New()
	defer other.Close()
	s.Change(func(b *standin.Behaviour) { b.Redirect = other.URL + "/v1/audio/speech" })
	if _, err := all(t.Context(), e, speech.SpeakRequest{Text: "Hello."}); err == nil {
		t.Error("it was followed")
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

func TestABadAddressIsRefused(t *testing.T) {
	for _, u := range []string{"", "localhost:7788", "ftp://x", "http://"} {
		if _, err := supertonic.New(supertonic.Options{URL: u}); err == nil {
			t.Errorf("%q was taken", u)
		}
	}
}
