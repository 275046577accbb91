package main

import (
	"testing"

	"parley/internal/settings"
)

func TestTheKeyIsNotUsedWhereItWouldBeLogged(t *testing.T) {
	for _, c := range []struct {
		key, debug, want string
		warned           bool
	}{
		{"", "", "", false},
		{"", "http2debug=2", "", false},
		{"k", "", "k", false},
		{"k", "gctrace=1", "k", false},
		{"k", "gctrace=1,http2debug=2", "", true},
	} {
		env := map[string]string{"ELEVENLABS_API_KEY": c.key, "PARLEY_CONFIG": "/dev/null"}
		v, err := settings.Load(settings.Options{LookupEnv: func(name string) (string, bool) { s := env[name]; return s, s != "" }})
		if err != nil {
			t.Fatal(err)
		}
		if key, warning := cloudKey(v, c.debug); key != c.want || (warning != "") != c.warned {
			t.Errorf("%+v: %q, %q", c, key, warning)
		}
	}
}
