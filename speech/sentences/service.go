package sentences

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"parley/speech"
)

// maxText is how long one text may be, in bytes, as for the local engine.
const maxText = 10_000

// Check refuses what no service of this kind is asked for.
func Check(r speech.SpeakRequest) error {
	switch {
	case len(r.Text) > maxText:
		return Fail(speech.KindInput, fmt.Errorf("a text of %d bytes: at most %d are said at once; send it in parts", len(r.Text), maxText))
	case r.Speed != 0 && !(r.Speed >= 0.5 && r.Speed <= 2):
		return Fail(speech.KindInput, fmt.Errorf("speed %v: it lies between 0.5 and 2", r.Speed))
	}
	return nil
}

// Address is the address of a service, ready to put a path behind it.
func Address(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("the address of the service is not an http or https address")
	}
	return strings.TrimSuffix(address, "/"), nil
}

// Client sends what somebody says to the address that was set, and to no other: it follows no redirect.
func Client(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Fail is an error of speaking.
func Fail(k speech.Kind, err error) error { return &speech.Error{Kind: k, Op: "speak", Err: err} }

// Reach words that a service did not answer in time, or why it was not reached: kind and what are of that case. The
// address is in none of it, and the end of the caller's context stays as it is.
func Reach(ctx context.Context, err error, kind speech.Kind, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Fail(speech.KindUnavailable, errors.New("the service did not answer in time"))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return Fail(kind, fmt.Errorf("%s: %w", what, err))
}
