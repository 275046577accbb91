// Package bridge connects a client that only starts stdio servers with a service elsewhere: it carries
// records between stdin, stdout and a WebSocket.
package bridge

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultIdleExit is after how long without any message the bridge ends.
const DefaultIdleExit = time.Hour

// Config is where to connect to.
type Config struct {
	URL      string // ws:// or wss://
	Token    string
	IdleExit time.Duration // zero: never
}

// FromEnv reads PARLEY_URL, PARLEY_TOKEN and PARLEY_IDLE_EXIT_SEC. Its errors never quote the token, nor an
// address that may hold one.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{Token: strings.TrimSpace(getenv("PARLEY_TOKEN")), IdleExit: DefaultIdleExit}
	var errs []error
	address, err := checkURL(strings.TrimSpace(getenv("PARLEY_URL")))
	c.URL = address
	errs = append(errs, err)
	if c.Token == "" {
		errs = append(errs, errors.New("PARLEY_TOKEN is missing: it is the token of the service"))
	} else if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		errs = append(errs, errors.New("PARLEY_TOKEN has a character that no token has"))
	}
	if text := strings.TrimSpace(getenv("PARLEY_IDLE_EXIT_SEC")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1e9 {
			errs = append(errs, errors.New("PARLEY_IDLE_EXIT_SEC is no number of seconds (0 is never)"))
		}
		c.IdleExit = time.Duration(n) * time.Second
	}
	return c, errors.Join(errs...)
}

// checkURL takes ws and wss addresses; one without a path gets the service's.
func checkURL(s string) (string, error) {
	if s == "" {
		return "", errors.New("PARLEY_URL is missing: it is the address of the service, such as ws://127.0.0.1:7360")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "":
		return "", errors.New("PARLEY_URL is no address")
	case u.Scheme != "ws" && u.Scheme != "wss":
		return "", fmt.Errorf("PARLEY_URL begins with %s://, want ws:// or wss://", u.Scheme)
	case u.User != nil || u.Query().Has("token"):
		return "", errors.New("PARLEY_URL holds credentials: the token belongs in PARLEY_TOKEN")
	case u.Fragment != "":
		return "", errors.New("PARLEY_URL has a fragment, which means nothing here")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	return u.String(), nil
}
