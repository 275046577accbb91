package turn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Superseded says what happens to a publish for a turn that its speaker has reopened.
type Superseded string

// What may happen to it.
const (
	SupersededDrop  Superseded = "drop"
	SupersededSpeak Superseded = "speak"
)

// Settings are the numbers of the rules. Begin with Default and change what you need: a zero is taken
// literally, and for several members it means "off".
type Settings struct {
	// TurnHold is how long a final is held for more speech; 0 hands every final over at once. Default 900 ms.
	TurnHold time.Duration
	// TurnHoldComplete is the hold of a question or a complete sentence. Default 300 ms.
	TurnHoldComplete time.Duration
	// TurnLimit ends a turn at the first final that comes this long after it began. Default 30 s.
	TurnLimit time.Duration
	// TurnExtend is how long an unanswered turn can be reopened by its speaker; 0 never. Default 20 s.
	TurnExtend time.Duration
	// SupersededPublish is what happens to a publish for a reopened turn. Default drop.
	SupersededPublish Superseded

	// BargeIn lets others stop our voice by speaking. Default true.
	BargeIn bool
	// BargeInMinWords is how many new words do so. Default 2.
	BargeInMinWords int
	// BargeInMinShown is for how long the page has to show somebody speaking before one word is enough.
	// Default 600 ms.
	BargeInMinShown time.Duration

	// AckOnFinal plays a short clip when somebody's turn ended. Default false.
	AckOnFinal bool
	// AckMinWords is the least a turn has to have for that. The source's default is lost; ours is 4.
	AckMinWords int
	// AckDelay is how long after the turn's end the clip plays. Default 100 ms.
	AckDelay time.Duration
	// AckCooldown is the least time between two clips. Default 8 s.
	AckCooldown time.Duration
	// AckPhrases are what the clips say, in turn. Default: those of AckLang.
	AckPhrases []string
	// AckLang is the language of the clips. Default en.
	AckLang string

	// DraftEnabled lets the agent prepare an answer while the speaker still talks. Nothing happens before it
	// does, so the default is true.
	DraftEnabled bool
	// DraftMaxNewWords is how many words may come after the draft was ready without making it stale. Default 4.
	DraftMaxNewWords int

	// AgentPartials gives the agent the turn while it is being said. Default false.
	AgentPartials bool
	// AgentPartialsInterval is the least time between two of them. Default 1.5 s.
	AgentPartialsInterval time.Duration

	// PrepareChunks synthesizes sentences that a host streams before it publishes them. Default false.
	PrepareChunks bool
	// SpeculativeSpeech speaks them, if the host marks them so. Default false.
	SpeculativeSpeech bool

	// PublishMax is the longest publish, in characters. Default 2000.
	PublishMax int
	// WaitingMax is how many characters of the channel may wait when another publish comes. Default 6000.
	WaitingMax int
	// WaitingMaxAudio is the same in synthesized sound. Default 120 s.
	WaitingMaxAudio time.Duration
}

// Default are the settings of the source document.
func Default() Settings {
	return Settings{
		TurnHold: 900 * time.Millisecond, TurnHoldComplete: 300 * time.Millisecond, TurnLimit: 30 * time.Second,
		TurnExtend: 20 * time.Second, SupersededPublish: SupersededDrop,
		BargeIn: true, BargeInMinWords: 2, BargeInMinShown: 600 * time.Millisecond,
		AckMinWords: 4, AckDelay: 100 * time.Millisecond, AckCooldown: 8 * time.Second, AckLang: "en",
		DraftEnabled: true, DraftMaxNewWords: 4,
		AgentPartialsInterval: 1500 * time.Millisecond,
		PublishMax:            2000, WaitingMax: 6000, WaitingMaxAudio: 120 * time.Second,
	}
}

// Setting is one of the Settings under the name that tools and files use.
type Setting struct {
	Name    string
	Meaning string
	get     func(*Settings) string
	set     func(*Settings, string) error
}

// All lists every setting that a person or an agent may change.
var All = []Setting{
	number("turn_hold_ms", "how long a final is held for more speech; 0 = not at all", time.Millisecond, 0, 10*time.Second, func(s *Settings) *time.Duration { return &s.TurnHold }),
	number("turn_hold_complete_ms", "the hold of a question or a complete sentence", time.Millisecond, 0, 10*time.Second, func(s *Settings) *time.Duration { return &s.TurnHoldComplete }),
	number("turn_limit_s", "a turn ends at the first final this long after it began", time.Second, time.Second, 10*time.Minute, func(s *Settings) *time.Duration { return &s.TurnLimit }),
	number("turn_extend_s", "how long its speaker can reopen an unanswered turn; 0 = never", time.Second, 0, 5*time.Minute, func(s *Settings) *time.Duration { return &s.TurnExtend }),
	{"superseded_publish", "what happens to an answer to a reopened turn: drop or speak",
		func(s *Settings) string { return string(s.SupersededPublish) },
		func(s *Settings, v string) error { s.SupersededPublish = Superseded(v); return nil }},
	toggle("barge_in", "others stop our voice by speaking", func(s *Settings) *bool { return &s.BargeIn }),
	count("barge_in_min_words", "how many new words do", 1, 20, func(s *Settings) *int { return &s.BargeInMinWords }),
	number("barge_in_min_s", "shown speaking this long, one word is enough", time.Second, 0, 10*time.Second, func(s *Settings) *time.Duration { return &s.BargeInMinShown }),
	toggle("ack_on_final", "play a short clip when somebody's turn ended", func(s *Settings) *bool { return &s.AckOnFinal }),
	count("ack_min_words", "the least such a turn has to have", 1, 100, func(s *Settings) *int { return &s.AckMinWords }),
	number("ack_delay_ms", "how long after the end the clip plays", time.Millisecond, 0, 5*time.Second, func(s *Settings) *time.Duration { return &s.AckDelay }),
	number("ack_cooldown_s", "the least time between two clips", time.Second, 0, time.Hour, func(s *Settings) *time.Duration { return &s.AckCooldown }),
	{"ack_phrases", "what the clips say, separated by |",
		func(s *Settings) string { return strings.Join(s.AckPhrases, "|") },
		func(s *Settings, v string) error {
			s.AckPhrases = nil
			for p := range strings.SplitSeq(v, "|") {
				if p = strings.TrimSpace(p); p != "" {
					s.AckPhrases = append(s.AckPhrases, p)
				}
			}
			return nil
		}},
	{"ack_lang", "the language of the clips",
		func(s *Settings) string { return s.AckLang },
		func(s *Settings, v string) error { s.AckLang = v; return nil }},
	toggle("draft_enabled", "the agent may prepare an answer while the speaker talks", func(s *Settings) *bool { return &s.DraftEnabled }),
	count("draft_max_new_words", "more new words than this make a draft stale", 0, 100, func(s *Settings) *int { return &s.DraftMaxNewWords }),
	toggle("agent_partials", "the agent gets the turn while it is being said", func(s *Settings) *bool { return &s.AgentPartials }),
	number("agent_partials_interval_s", "the least time between two of them", time.Second, 100*time.Millisecond, time.Minute, func(s *Settings) *time.Duration { return &s.AgentPartialsInterval }),
	toggle("channel_prepare_chunks", "synthesize streamed sentences before they are published", func(s *Settings) *bool { return &s.PrepareChunks }),
	toggle("speculative_speech", "speak streamed sentences that the host marks as speculative", func(s *Settings) *bool { return &s.SpeculativeSpeech }),
}

func number(name, meaning string, unit, least, most time.Duration, at func(*Settings) *time.Duration) Setting {
	return Setting{name, meaning,
		func(s *Settings) string { return strconv.FormatFloat(float64(*at(s))/float64(unit), 'f', -1, 64) },
		func(s *Settings, v string) error {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil || !(f*float64(unit) >= float64(least) && f*float64(unit) <= float64(most)) {
				return fmt.Errorf("want a number from %v to %v", float64(least)/float64(unit), float64(most)/float64(unit))
			}
			*at(s) = time.Duration(f * float64(unit))
			return nil
		}}
}

func count(name, meaning string, least, most int, at func(*Settings) *int) Setting {
	return Setting{name, meaning,
		func(s *Settings) string { return strconv.Itoa(*at(s)) },
		func(s *Settings, v string) error {
			n, err := strconv.Atoi(v)
			if err != nil || n < least || n > most {
				return fmt.Errorf("want a whole number from %d to %d", least, most)
			}
			*at(s) = n
			return nil
		}}
}

func toggle(name, meaning string, at func(*Settings) *bool) Setting {
	return Setting{name, meaning,
		func(s *Settings) string { return strconv.FormatBool(*at(s)) },
		func(s *Settings, v string) error {
			b, err := strconv.ParseBool(v)
			if err != nil {
				return errors.New("want true or false")
			}
			*at(s) = b
			return nil
		}}
}

// Get is the value of a setting as text; ok is false when there is none of that name.
func (s Settings) Get(name string) (value string, ok bool) {
	for _, a := range All {
		if a.Name == name {
			return a.get(&s), true
		}
	}
	return "", false
}

// Set changes one setting from text. The error names it and says what it may be; nothing is changed then.
func (s *Settings) Set(name, value string) error {
	for _, a := range All {
		if a.Name != name {
			continue
		}
		changed := *s
		if err := a.set(&changed, strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("setting %s: %w, not %q", name, err, value)
		}
		if err := changed.Check(); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
		*s = changed
		return nil
	}
	return fmt.Errorf("setting %s: there is none of that name", name)
}

// SetAll changes settings by name. A name that is not known, or a value that cannot be taken, is left out: it is of
// another version.
func (s *Settings) SetAll(values map[string]string) {
	for _, a := range All { // in this order: phrases come before the language that may have none of its own
		if v, ok := values[a.Name]; ok {
			_ = s.Set(a.Name, v)
		}
	}
}

// Check says what is wrong with the settings, nil when nothing is.
func (s Settings) Check() error {
	switch {
	case s.SupersededPublish != SupersededDrop && s.SupersededPublish != SupersededSpeak:
		return fmt.Errorf("superseded_publish is %q; want drop or speak", string(s.SupersededPublish))
	case s.TurnHold < 0 || s.TurnHoldComplete < 0 || s.TurnExtend < 0 || s.AckDelay < 0 || s.AckCooldown < 0:
		return errors.New("a time is negative")
	case s.TurnLimit <= 0:
		return errors.New("turn_limit_s has to be above 0")
	case s.AgentPartials && s.AgentPartialsInterval <= 0:
		return errors.New("agent_partials_interval_s has to be above 0")
	case s.PublishMax <= 0 || s.WaitingMax <= 0 || s.WaitingMaxAudio <= 0:
		return errors.New("the limits on waiting text have to be above 0")
	case len(s.AckPhrases) > 20:
		return errors.New("ack_phrases: at most 20")
	}
	for _, p := range s.AckPhrases {
		if len(p) > 100 {
			return errors.New("ack_phrases: each at most 100 bytes")
		}
	}
	if _, ok := languages[base(s.AckLang)]; !ok && len(s.AckPhrases) == 0 {
		return fmt.Errorf("ack_lang %q has no phrases of its own; give ack_phrases", s.AckLang)
	}
	return nil
}
