package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"parley/tenant"
)

// SpeechSettings is a Meetings that keeps how a tenant's meetings hear, answer and speak.
type SpeechSettings interface {
	// SpeechSettings gives every setting as it holds, with its source.
	SpeechSettings(ctx context.Context, t tenant.ID) (SpeechSettingsNow, error)
	// SetSpeech changes some; a nil value removes one. It fails with CodeBadArgument and changes nothing when one cannot
	// be taken. Meetings that run take the turn engine's at once, the rest holds from the next join or call on.
	SetSpeech(ctx context.Context, t tenant.ID, changes map[string]*string) (SpeechSettingsNow, error)
}

// SpeechSettingsNow is what holds.
type SpeechSettingsNow struct {
	Settings []SpeechSetting `json:"settings" doc:"Every setting, with its value and where that comes from. A call's own argument wins over it."`
	Warnings []string        `json:"warnings,omitempty" doc:"What does not work as it is set."`
}

// SpeechSetting is one setting.
type SpeechSetting struct {
	Name    string `json:"name" doc:"Its name, as speech_settings_set takes it."`
	Value   any    `json:"value" doc:"The value that holds."`
	From    string `json:"from" doc:"tenant, env or default."`
	Meaning string `json:"meaning" doc:"What it does."`
}

// SpeechSettingsArgs change settings. What is left out stays as it is; null removes the tenant's own value.
type SpeechSettingsArgs struct {
	Backend          *string  `json:"backend,omitempty" arg:"enum=local|supertonic|elevenlabs" doc:"Who makes the voice."`
	LocalVoice       *string  `json:"local_voice,omitempty" arg:"maxlen=64" doc:"Voice of the local backend."`
	SupertonicVoice  *string  `json:"supertonic_voice,omitempty" arg:"maxlen=64" doc:"Voice of the supertonic backend, such as F1 or M2."`
	ElevenLabsVoice  *string  `json:"elevenlabs_voice,omitempty" arg:"maxlen=64" doc:"Voice of the elevenlabs backend, by its id."`
	ElevenLabsModel  *string  `json:"elevenlabs_model,omitempty" arg:"maxlen=64" doc:"Model of the elevenlabs backend."`
	VADSilence       *float64 `json:"vad_silence_s,omitempty" arg:"min=0.2,max=3" doc:"Pause in seconds that ends a segment of the transcript."`
	MeetingChannel   *bool    `json:"meeting_channel,omitempty" doc:"Whether meetings are channels of hosts that have channels."`
	TranscriptEvents *string  `json:"transcript_events,omitempty" arg:"enum=auto|always|never" doc:"When transcript events are pushed: auto where no channel takes the text."`

	TurnHold         *float64 `json:"turn_hold_ms,omitempty" arg:"min=0,max=10000" doc:"How long a final is held for more speech; 0 hands it over at once."`
	TurnHoldComplete *float64 `json:"turn_hold_complete_ms,omitempty" arg:"min=0,max=10000" doc:"The hold of a question or a complete sentence."`
	TurnLimit        *float64 `json:"turn_limit_s,omitempty" arg:"min=1,max=600" doc:"A turn ends at the first final this long after it began."`
	TurnExtend       *float64 `json:"turn_extend_s,omitempty" arg:"min=0,max=300" doc:"How long a speaker can reopen an unanswered turn; 0 never."`
	Superseded       *string  `json:"superseded_publish,omitempty" arg:"enum=drop|speak" doc:"What happens to an answer to a reopened turn."`
	BargeIn          *bool    `json:"barge_in,omitempty" doc:"Others stop our voice by speaking."`
	BargeInWords     *int     `json:"barge_in_min_words,omitempty" arg:"min=1,max=20" doc:"How many new words do."`
	BargeInShown     *float64 `json:"barge_in_min_s,omitempty" arg:"min=0,max=10" doc:"Shown speaking this long, one word is enough."`
	AckOnFinal       *bool    `json:"ack_on_final,omitempty" doc:"Play a short clip when somebody's turn ended."`
	AckWords         *int     `json:"ack_min_words,omitempty" arg:"min=1,max=100" doc:"The least such a turn has to have."`
	AckDelay         *float64 `json:"ack_delay_ms,omitempty" arg:"min=0,max=5000" doc:"How long after the end the clip plays."`
	AckCooldown      *float64 `json:"ack_cooldown_s,omitempty" arg:"min=0,max=3600" doc:"The least time between two clips."`
	AckPhrases       *string  `json:"ack_phrases,omitempty" arg:"maxlen=2000" doc:"What the clips say, separated by |."`
	AckLang          *string  `json:"ack_lang,omitempty" arg:"maxlen=16" doc:"The language of the clips."`
	DraftEnabled     *bool    `json:"draft_enabled,omitempty" doc:"The agent may prepare an answer while the speaker talks."`
	DraftWords       *int     `json:"draft_max_new_words,omitempty" arg:"min=0,max=100" doc:"More new words than this make a draft stale."`
	AgentPartials    *bool    `json:"agent_partials,omitempty" doc:"The agent gets the turn while it is being said."`
	PartialsInterval *float64 `json:"agent_partials_interval_s,omitempty" arg:"min=0.1,max=60" doc:"The least time between two of them."`
	PrepareChunks    *bool    `json:"channel_prepare_chunks,omitempty" doc:"Synthesize streamed sentences before they are published."`
	Speculative      *bool    `json:"speculative_speech,omitempty" doc:"Speak streamed sentences that the host marks as speculative."`

	// removed are the names that were given as null.
	removed []string
}

// changes are the settings that are given, as text.
func (a SpeechSettingsArgs) changes() map[string]*string {
	out := map[string]*string{}
	v, t := reflect.ValueOf(a), reflect.TypeOf(a)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || v.Field(i).IsNil() {
			continue
		}
		raw, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			continue // a number, a text or a switch: it can be written
		}
		text := string(raw)
		if s, ok := v.Field(i).Interface().(*string); ok {
			text = *s
		}
		out[name] = &text
	}
	for _, name := range a.removed {
		out[name] = nil
	}
	return out
}

// nulls are the members of an object that are null.
func nulls(raw json.RawMessage) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil // whoever reads the arguments says what is wrong
	}
	var out []string
	for name, v := range object {
		if string(bytes.TrimSpace(v)) == "null" {
			out = append(out, name)
		}
	}
	return out
}

// speechTable are the tools of speech settings.
func speechTable(s SpeechSettings) []Tool {
	set := New(Spec[SpeechSettingsArgs, SpeechSettingsNow]{
		Tool: Tool{
			Name: "speech_settings_set", Title: "Change speech settings", Idempotent: true,
			Doc: "Change how this tenant's meetings hear, answer and speak: the voice, the pause that ends a segment, how turns are held, who may interrupt. Null removes a value, so that the service's own holds again. Answers with everything as it is then.",
		},
		Run: func(ctx context.Context, c Caller, a SpeechSettingsArgs) (SpeechSettingsNow, error) {
			changes := a.changes()
			if len(changes) == 0 {
				return SpeechSettingsNow{}, Fail(CodeBadArgument, "what", "nothing is given: name at least one setting")
			}
			return s.SetSpeech(ctx, c.Tenant.ID, changes)
		},
		Render: renderSpeechSettings,
	})
	decode := set.decode
	set.decode = func(c Caller, raw json.RawMessage) (any, error) {
		v, err := decode(c, raw)
		if err != nil {
			return nil, err
		}
		a := v.(SpeechSettingsArgs)
		a.removed = nulls(raw)
		return a, nil
	}
	return []Tool{
		New(Spec[struct{}, SpeechSettingsNow]{
			Tool: Tool{
				Name: "speech_settings_get", Title: "Speech settings", ReadOnly: true, Ephemeral: true, Idempotent: true,
				Doc: "How this tenant's meetings hear, answer and speak: every setting with its value and where that comes from (tenant, env, default).",
			},
			Run: func(ctx context.Context, c Caller, _ struct{}) (SpeechSettingsNow, error) {
				return s.SpeechSettings(ctx, c.Tenant.ID)
			},
			Render: renderSpeechSettings,
		}),
		set,
	}
}

func renderSpeechSettings(n SpeechSettingsNow, t *Text) {
	for _, s := range n.Settings {
		raw, err := json.Marshal(s.Value)
		if err != nil {
			continue // a number, a text or a switch
		}
		t.Line("%s = %s (%s): %s", s.Name, raw, s.From, s.Meaning)
	}
	for _, w := range n.Warnings {
		t.Line("warning: %s", w)
	}
}
