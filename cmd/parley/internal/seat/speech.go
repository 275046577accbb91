package seat

import (
	"context"
	"errors"
	"maps"
	"strings"

	"parley/meeting/wire"
	"parley/speech/settings"
	"parley/tenant"
	"parley/tool"
)

// speech are a tenant's speech settings as they hold.
func (s *Seat) speech(t tenant.ID) (settings.Values, error) {
	own := map[string]string{}
	if s.o.Speech != nil {
		var err error
		if own, err = s.o.Speech.Get(string(t)); err != nil {
			return nil, err
		}
	}
	return settings.Resolve(own, s.o.SpeechEnv), nil
}

// wireSpeech is what the process of a meeting needs of them.
func (s *Seat) wireSpeech(v settings.Values) wire.Speech {
	w := wire.Speech{RunDir: s.o.SpeechRun, SilenceMS: int64(v.Float(settings.VADSilence) * 1000), Backend: v.Get(settings.Backend),
		NoTracks: s.o.NoTracks, NoChannel: !v.Bool(settings.MeetingChannel), Turn: v.Turn(), Voices: map[string]string{
			settings.BackendLocal: v.Get(settings.LocalVoice), settings.BackendSupertonic: strings.TrimPrefix(v.Get(settings.SupertonicVoice), "supertonic-"),
			settings.BackendElevenLabs: v.Get(settings.ElevenLabsVoice),
		}}
	urls := map[string]string{}
	if s.o.TTSURL != "" {
		urls[settings.BackendSupertonic] = s.o.TTSURL
	}
	if s.o.ElevenLabs != "" {
		urls[settings.BackendElevenLabs] = s.o.ElevenLabsURL
		w.Keys = map[string]string{settings.BackendElevenLabs: s.o.ElevenLabs}
		w.Models = map[string]string{settings.BackendElevenLabs: v.Get(settings.ElevenLabsModel)}
	}
	if len(urls) > 0 {
		w.URLs = urls
	}
	w.Backend, _ = s.instead(w.Backend)
	return w
}

// missing says what a backend lacks here; empty: nothing.
func (s *Seat) missing(backend string) string {
	switch {
	case backend == settings.BackendSupertonic && s.o.TTSURL == "":
		return "PARLEY_TTS_URL, the address of its HTTP service"
	case backend == settings.BackendElevenLabs && s.o.ElevenLabs == "":
		return "ELEVENLABS_API_KEY, the key to its service"
	}
	return ""
}

// instead is the backend that speaks where one is set that is not there, and what it lacks. A voice in the cloud gives way
// to a local service where there is one.
func (s *Seat) instead(set string) (backend, lacks string) {
	switch lacks = s.missing(set); {
	case lacks == "":
		return set, ""
	case set == settings.BackendElevenLabs && s.missing(settings.BackendSupertonic) == "":
		return settings.BackendSupertonic, lacks
	}
	return settings.BackendLocal, lacks
}

// backend refuses one that this service does not have.
func (s *Seat) backend(name string) error {
	switch name {
	case "", settings.BackendLocal, settings.BackendSupertonic, settings.BackendElevenLabs:
		if lacks := s.missing(name); lacks != "" {
			return tool.Fail(tool.CodeSpeechUnavailable, "what", "backend "+name+" needs "+lacks+"; local works")
		}
		return nil
	}
	return tool.Fail(tool.CodeSpeechUnavailable, "what", "there is no backend "+name+"; local, supertonic and elevenlabs are the ones there are")
}

// SpeechSettings gives every setting as it holds.
func (s *Seat) SpeechSettings(_ context.Context, t tenant.ID) (tool.SpeechSettingsNow, error) {
	v, err := s.speech(t)
	if err != nil {
		return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeStore).Because(err)
	}
	return s.now(v), nil
}

// SetSpeech changes some. Meetings that run take the turn engine's at once.
func (s *Seat) SetSpeech(ctx context.Context, t tenant.ID, changes map[string]*string) (tool.SpeechSettingsNow, error) {
	if s.o.Speech == nil {
		return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeStore)
	}
	before, err := s.speech(t)
	if err != nil {
		return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeStore).Because(err)
	}
	own, err := s.o.Speech.Set(string(t), changes)
	var bad *settings.InputError
	switch {
	case errors.As(err, &bad):
		return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeBadArgument, "what", bad.Error())
	case err != nil:
		return tool.SpeechSettingsNow{}, tool.Fail(tool.CodeStore).Because(err)
	}
	v := settings.Resolve(own, s.o.SpeechEnv)
	if turn := v.Turn(); !maps.Equal(before.Turn(), turn) {
		s.tellMeetings(ctx, t, wire.Command{Settings: &wire.Settings{Turn: turn}})
	}
	return s.now(v), nil
}

// tellMeetings passes a command on to all meetings of a tenant that run here. One that ends meanwhile does not miss it.
func (s *Seat) tellMeetings(ctx context.Context, t tenant.ID, c wire.Command) {
	list, err := s.o.Keeper.List(ctx, t, 200)
	if err != nil {
		return // the settings are kept; the next join has them
	}
	for _, st := range list {
		if st.EndedAt.IsZero() {
			_, _ = s.o.Keeper.Command(ctx, t, st.ID, c)
		}
	}
}

// now words settings for a client.
func (s *Seat) now(v settings.Values) tool.SpeechSettingsNow {
	var out tool.SpeechSettingsNow
	for _, x := range v {
		set := tool.SpeechSetting{Name: x.Name, Value: x.Value, From: string(x.From), Meaning: x.Meaning}
		switch x.Kind {
		case settings.Number:
			set.Value = v.Float(x.Name)
		case settings.Switch:
			set.Value = v.Bool(x.Name)
		}
		out.Settings = append(out.Settings, set)
	}
	if other, lacks := s.instead(v.Get(settings.Backend)); lacks != "" {
		out.Warnings = append(out.Warnings, "backend "+v.Get(settings.Backend)+" is set, but the service has no "+lacks+": "+other+" speaks instead")
	}
	return out
}

var _ tool.SpeechSettings = (*Seat)(nil)
