// Package settings keeps how a tenant's meetings hear, answer and speak: which value holds, and where it comes from.
package settings

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/turn"
)

// Source is where a value comes from. A call's own argument wins over all of them.
type Source string

// The sources, the strongest first.
const (
	FromTenant  Source = "tenant"
	FromEnv     Source = "env"
	FromDefault Source = "default"
)

// Kind is what a value looks like.
type Kind string

// The kinds.
const (
	Text   Kind = "text"
	Number Kind = "number"
	Switch Kind = "switch" // true or false
)

// Setting is one of the settings.
type Setting struct {
	Name    string
	Meaning string
	Kind    Kind
	Default string
	// Env is the variable that a service sets it by for all tenants; empty: PARLEY_SPEECH_SETTINGS.
	Env   string
	check func(string) error
}

// The names that are not the turn engine's.
const (
	Backend          = "backend"
	LocalVoice       = "local_voice"
	SupertonicVoice  = "supertonic_voice"
	ElevenLabsVoice  = "elevenlabs_voice"
	ElevenLabsModel  = "elevenlabs_model"
	VADSilence       = "vad_silence_s"
	MeetingChannel   = "meeting_channel"
	TranscriptEvents = "transcript_events"
)

// The backends of the voice.
const (
	BackendLocal      = "local"
	BackendSupertonic = "supertonic"
	BackendElevenLabs = "elevenlabs"
)

// All are the settings, in the order in which they are shown.
var All = all()

func all() []Setting {
	list := []Setting{
		{Name: Backend, Kind: Text, Default: BackendLocal, Env: "PARLEY_TTS_DEFAULT_BACKEND", check: oneOf(BackendLocal, BackendSupertonic, BackendElevenLabs),
			Meaning: "who makes the voice: local (embedded), supertonic (an HTTP service), or elevenlabs (a cloud service, which gets the texts)"},
		{Name: LocalVoice, Kind: Text, Default: "af_heart", Env: "PARLEY_TTS_VOICE", check: word, Meaning: "the voice of the local backend"},
		{Name: SupertonicVoice, Kind: Text, Default: "F1", Env: "PARLEY_SUPERTONIC_VOICE", check: word, Meaning: "the voice of the supertonic backend; a prefix supertonic- is taken off"},
		{Name: ElevenLabsVoice, Kind: Text, Default: "JBFqnCBsd6RMkjVDRZzb", Env: "PARLEY_ELEVENLABS_VOICE", check: word, Meaning: "the voice of the elevenlabs backend, by its id"},
		{Name: ElevenLabsModel, Kind: Text, Default: "eleven_v4_turbo", Env: "PARLEY_ELEVENLABS_TTS_MODEL", check: word, Meaning: "the model of the elevenlabs backend"},
		{Name: VADSilence, Kind: Number, Default: "0.5", Env: "PARLEY_LIVE_TRANSCRIPT_VAD_SILENCE_S", check: between(0.2, 3), Meaning: "the pause in seconds that ends a segment of the transcript"},
		{Name: MeetingChannel, Kind: Switch, Default: "true", check: boolean, Meaning: "each meeting is a channel of hosts that have channels"},
		{Name: TranscriptEvents, Kind: Text, Default: "auto", check: oneOf("auto", "always", "never"),
			Meaning: "when transcript events are pushed: auto where no channel takes the text, always, never"},
	}
	def := turn.Default()
	for _, t := range turn.All {
		v, _ := def.Get(t.Name)
		s := Setting{Name: t.Name, Meaning: t.Meaning, Kind: kindOf(v), Default: v, check: func(v string) error {
			set := turn.Default()
			return set.Set(t.Name, v)
		}}
		if t.Name == "ack_phrases" || t.Name == "ack_lang" || t.Name == "superseded_publish" {
			s.Kind = Text
		}
		list = append(list, s)
	}
	return list
}

func kindOf(v string) Kind {
	if v == "true" || v == "false" {
		return Switch
	}
	return Number
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("it is one of %s", strings.Join(words, ", "))
		}
		return nil
	}
}

func word(s string) error {
	if s == "" || len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("it is a name without blanks, of 64 characters at most")
	}
	return nil
}

func between(least, most float64) func(string) error {
	return func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(f) || f < least || f > most {
			return fmt.Errorf("it is a number from %v to %v", least, most)
		}
		return nil
	}
}

func boolean(s string) error {
	if s != "true" && s != "false" {
		return errors.New("it is true or false")
	}
	return nil
}

// Named finds a setting; ok is false when there is none of that name.
func Named(name string) (s Setting, ok bool) {
	i := slices.IndexFunc(All, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return All[i], true
}

// Check says what is wrong with a value; the error names the setting.
func Check(name, value string) error {
	s, ok := Named(name)
	if !ok {
		return fmt.Errorf("%s: there is no such setting", name)
	}
	if err := s.check(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Value is a setting as it holds.
type Value struct {
	Setting
	Value string
	From  Source
}

// Values are all settings as they hold for a tenant.
type Values []Value

// Resolve takes each value from the tenant's own, else the environment's, else the default. What does not pass its
// check (of another version) is passed over.
func Resolve(tenant, env map[string]string) Values {
	out := make(Values, 0, len(All))
	for _, s := range All {
		v := Value{Setting: s, Value: s.Default, From: FromDefault}
		for _, src := range []struct {
			values map[string]string
			from   Source
		}{{tenant, FromTenant}, {env, FromEnv}} {
			if given, ok := src.values[s.Name]; ok && s.check(given) == nil {
				v.Value, v.From = given, src.from
				break
			}
		}
		out = append(out, v)
	}
	return out
}

// Get is a value by name; empty when there is none of that name.
func (v Values) Get(name string) string {
	for _, x := range v {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// Bool is a switch by name.
func (v Values) Bool(name string) bool { return v.Get(name) == "true" }

// Float is a number by name.
func (v Values) Float(name string) float64 {
	f, _ := strconv.ParseFloat(v.Get(name), 64) // checked
	return f
}

// Turn are the turn engine's, by name.
func (v Values) Turn() map[string]string {
	out := map[string]string{}
	for _, t := range turn.All {
		out[t.Name] = v.Get(t.Name)
	}
	return out
}

// Parse reads PARLEY_SPEECH_SETTINGS: name=value; name=value. The error names what is wrong.
func Parse(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			return nil, fmt.Errorf("%q is not name=value", name)
		}
		if s, known := Named(name); known && s.Env != "" {
			return nil, fmt.Errorf("%s: it has a variable of its own, %s", name, s.Env)
		}
		if err := Check(name, value); err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: it stands twice", name)
		}
		out[name] = value
	}
	return out, nil
}
