package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Int is the value of a setting that wholeNumber checked.
func (v *Values) Int(name string) int {
	n, err := strconv.Atoi(v.String(name))
	if err != nil {
		panic("settings: " + name + " is not a number: its check is missing")
	}
	return n
}

// Bool is the value of a setting that yesNo checked.
func (v *Values) Bool(name string) bool { return v.String(name) == "1" }

// Seconds is the value of a setting that seconds checked.
func (v *Values) Seconds(name string) time.Duration {
	f, err := strconv.ParseFloat(v.String(name), 64)
	if err != nil {
		panic("settings: " + name + " is not a number of seconds: its check is missing")
	}
	return time.Duration(f * float64(time.Second))
}

// List is the value split at commas and semicolons, blanks removed.
func (v *Values) List(name string) []string {
	var out []string
	for _, p := range strings.FieldsFunc(v.String(name), func(r rune) bool { return r == ',' || r == ';' }) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func wholeNumber(min, max int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("it is not a whole number")
		}
		if n < min || n > max {
			return fmt.Errorf("it must be between %d and %d", min, max)
		}
		return nil
	}
}

func seconds(min, max float64) func(string) error {
	return func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return errors.New("it is not a number of seconds")
		}
		if !(f >= min && f <= max) {
			return fmt.Errorf("it must be between %g and %g", min, max)
		}
		return nil
	}
}

func yesNo(s string) error {
	if s != "0" && s != "1" {
		return errors.New("it is neither 1 nor 0")
	}
	return nil
}

// announced are the languages of meeting/texts.json.
var announced = []string{"en", "de", "uk", "ru", "sk", "es", "fr", "it", "pl", "pt", "nl", "cs"}

// announceLangs are those that the announcement has texts in (meeting/texts.json).
func announceLangs(s string) error {
	langs := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
	if len(langs) == 0 || len(langs) > 4 {
		return errors.New("it has to name one to four languages")
	}
	for _, l := range langs {
		if !slices.Contains(announced, l) {
			return fmt.Errorf("%q is no language that the announcement is written in", l)
		}
	}
	return nil
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		for _, w := range words {
			if s == w {
				return nil
			}
		}
		return errors.New("it is none of " + strings.Join(words, ", "))
	}
}

func address(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("it is not host:port")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("its port is not a number up to 65535")
	}
	return nil
}

func webURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("it is not an http or https address")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("it must have no user, query or fragment")
	}
	return nil
}

func origins(s string) error {
	for _, o := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' }) {
		if err := webURL(strings.TrimSpace(o)); err != nil {
			return fmt.Errorf("%q: %w", o, err)
		}
	}
	return nil
}

func shortText(max int) func(string) error {
	return func(s string) error {
		if n := len([]rune(s)); n == 0 || n > max {
			return fmt.Errorf("it must have between 1 and %d characters", max)
		}
		return nil
	}
}
