package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"parley/internal/settings"
	speechsettings "parley/speech/settings"
)

// speechEnv are the speech settings that the service sets for all tenants, by the names that tenants use.
func speechEnv(v *settings.Values) (map[string]string, error) {
	values, err := speechsettings.Parse(v.String("PARLEY_SPEECH_SETTINGS"))
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("PARLEY_SPEECH_SETTINGS: %w", err)}
	}
	for _, s := range speechsettings.All {
		if s.Env == "" || v.From(s.Env) == settings.FromDefault {
			continue
		}
		if err := speechsettings.Check(s.Name, v.String(s.Env)); err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", s.Env, err)}
		}
		values[s.Name] = v.String(s.Env)
	}
	return values, nil
}

// cloudKey is the key to the voice in the cloud. While Go itself writes the headers of requests to standard error there is
// none: it would stand among them.
func cloudKey(v *settings.Values, debug string) (key, warning string) {
	key = v.String("ELEVENLABS_API_KEY")
	if key != "" && strings.Contains(debug, "http2debug") {
		return "", "ELEVENLABS_API_KEY is not used while GODEBUG has http2debug, which would write it to the log"
	}
	return key, ""
}

// paidRecogniser says whose minutes cost. The local one's do not, and there is no other one yet.
func paidRecogniser(engine string) bool { return engine != "local" }

// speechStore keeps what tenants set.
func speechStore(data string) *speechsettings.Store {
	return speechsettings.NewStore(filepath.Join(data, "speech-settings"))
}
