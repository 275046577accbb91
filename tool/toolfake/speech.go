package toolfake

import (
	"context"

	"parley/speech/settings"
	"parley/tenant"
	"parley/tool"
)

// SpeechSettings implements tool.SpeechSettings.
func (f *Meetings) SpeechSettings(_ context.Context, t tenant.ID) (tool.SpeechSettingsNow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.speech(t), nil
}

// SetSpeech implements tool.SpeechSettings.
func (f *Meetings) SetSpeech(_ context.Context, t tenant.ID, changes map[string]*string) (tool.SpeechSettingsNow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, v := range changes {
		if v == nil {
			delete(f.set[t], name)
			continue
		}
		if err := settings.Check(name, *v); err != nil {
			return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeBadArgument, "what", err.Error())
		}
		if f.set == nil {
			f.set = map[tenant.ID]map[string]string{}
		}
		if f.set[t] == nil {
			f.set[t] = map[string]string{}
		}
		f.set[t][name] = *v
	}
	return f.speech(t), nil
}

func (f *Meetings) speech(t tenant.ID) tool.SpeechSettingsNow {
	var out tool.SpeechSettingsNow
	for _, v := range settings.Resolve(f.set[t], nil) {
		out.Settings = append(out.Settings, tool.SpeechSetting{Name: v.Name, Value: v.Value, From: string(v.From), Meaning: v.Meaning})
	}
	return out
}

var _ tool.SpeechSettings = (*Meetings)(nil)
