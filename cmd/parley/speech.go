package main

import (
	"fmt"
	"path/filepath"

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

// paidRecogniser says whose minutes cost. The local one's do not, and there is no other one yet.
func paidRecogniser(engine string) bool { return engine != "local" }

// speechStore keeps what tenants set.
func speechStore(data string) *speechsettings.Store {
	return speechsettings.NewStore(filepath.Join(data, "speech-settings"))
}
