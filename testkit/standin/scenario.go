package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/internal/ndjson"
)

// Scenario is what happens at a door and behind it. A file holds it as one JSON object with "steps", or as lines: the
// first line is the object without steps, each line after it is a step.
type Scenario struct {
	// Name is what it is called in reports: the symptom that it reproduces, where it is one.
	Name string `json:"name,omitempty"`
	// About says in a sentence what it is for.
	About string `json:"about,omitempty"`
	// Lang is the page's language whatever the browser asks for; empty leaves it to the browser and the address.
	Lang string `json:"lang,omitempty"`
	// Start is the screen that a visit begins with; empty means "prejoin".
	Start string `json:"start,omitempty"`
	// AfterJoin is the screen after the join button: empty means "waiting"; "in" is an open meeting.
	AfterJoin string `json:"after_join,omitempty"`
	// Account is the name of the signed-in visitor; empty means a guest, who is asked for a name.
	Account string `json:"account,omitempty"`
	// Button names the join button by its key in the page's words; empty means the usual one.
	Button string `json:"button,omitempty"`
	// Link is the path and query of the meeting's link, where it is not the usual one.
	Link string `json:"link,omitempty"`
	// Passcode must be given; empty means that none is asked for.
	Passcode string `json:"passcode,omitempty"`
	// ReadyMS is how long the page gets ready before its join button works.
	ReadyMS int `json:"ready_ms,omitempty"`
	// Gate is a dialog that stands before the meeting after being let in: no sound flows until it is answered.
	Gate string `json:"gate,omitempty"`
	// Flags switch on what the page can do beside; "-name" switches off what is usual.
	Flags []string `json:"flags,omitempty"`
	// Count replaces the number of people that the page shows; a negative one shows none.
	Count *int `json:"count,omitempty"`
	// People are in the meeting from the start.
	People []Person `json:"people,omitempty"`
	// Steps are what happens by itself.
	Steps []Step `json:"steps,omitempty"`
	// Expect is what a visitor must make of it.
	Expect Expect `json:"expect,omitzero"`
}

// Person is somebody simulated.
type Person struct {
	Name string `json:"name"`
	Host bool   `json:"host,omitempty"`
	// Muted people have their microphone off.
	Muted bool `json:"muted,omitempty"`
	// Extra people are in the list only: they cannot speak, and need no connection.
	Extra bool `json:"extra,omitempty"`
	// Speech are files that are played one after another once a visitor is in.
	Speech []string `json:"speech,omitempty"`
	// Record is a file for what this person hears (.wav, .ogg).
	Record string `json:"record,omitempty"`
}

// Step is an Action and when it comes.
type Step struct {
	// On is what it waits for: "opened" (the page was loaded), "asked" (the join button was pressed), "in", "said" (the
	// visitor wrote into the chat), "unmuted", "muted", "answered" (a dialog's button was pressed), "left". Empty means
	// "opened".
	On string `json:"on,omitempty"`
	// Match must be in what was said or in the name of the dialog.
	Match string `json:"match,omitempty"`
	// AfterMS is how long after that it happens.
	AfterMS int `json:"after_ms,omitempty"`
	Action
}

// Expect is what a visitor must make of a scenario. The zero value expects nothing.
type Expect struct {
	// Place is where the visitor ends up: "lobby", "waiting", "in", "out" or "unknown"; alternatives are divided by "|".
	Place string `json:"place,omitempty"`
	// Reasons are those that are right for being out; none means that any is.
	Reasons []string `json:"reasons,omitempty"`
	// Through are places that must be seen on the way, in this order.
	Through []string `json:"through,omitempty"`
	// Never are places that must not be seen.
	Never []string `json:"never,omitempty"`
	// Dialog is the kind of dialog that must be reported.
	Dialog string `json:"dialog,omitempty"`
	// NeverDialogs are kinds of dialogs that must not be reported.
	NeverDialogs []string `json:"never_dialogs,omitempty"`
	// Answer is what is chosen in a dialog that is reported and offers it, as an agent would.
	Answer string `json:"answer,omitempty"`
	// Fault is a kind of fault that must be reported ("audio-not-joined").
	Fault string `json:"fault,omitempty"`
	// Acts are what must have been done on the page ("audio").
	Acts []string `json:"acts,omitempty"`
	// Device is a state of the microphone that must be reported.
	Device string `json:"device,omitempty"`
	// Microphone and Camera are what they must be in the end, in truth.
	Microphone *bool `json:"microphone,omitempty"`
	Camera     *bool `json:"camera,omitempty"`
	// Button is the join button that must be pressed, by its key in the page's words.
	Button string `json:"button,omitempty"`
	// People is the number of people that must be reported.
	People int `json:"people,omitempty"`
	// Chat is a text of a message that must be reported.
	Chat string `json:"chat,omitempty"`
	// WithinMS is how long it may take; zero means 45 seconds.
	WithinMS int `json:"within_ms,omitempty"`
	// HoldMS is how long it must stay so afterwards.
	HoldMS int `json:"hold_ms,omitempty"`
}

// places are what a visitor can take itself to be at.
var places = []string{"lobby", "waiting", "in", "out", "unknown"}

// Places are the alternatives of Place.
func (e Expect) Places() []string {
	if e.Place == "" {
		return nil
	}
	return strings.Split(e.Place, "|")
}

// maxScenario and maxSteps bound a file.
const (
	maxScenario = 1 << 20
	maxSteps    = 1000
	maxPeople   = 500
	// maxVoices is how many people may have a connection: a room's seats without the observer's and two visitors'.
	maxVoices = 12
)

// triggers are what a step may wait for.
var triggers = []string{"opened", "asked", "in", "said", "unmuted", "muted", "answered", "left"}

// ParseScenario reads a scenario and checks it for a kind of page.
func ParseScenario(k Kind, r io.Reader) (Scenario, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxScenario+1))
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	if len(raw) > maxScenario {
		return Scenario{}, fmt.Errorf("scenario: over %d bytes", maxScenario)
	}
	s, err := readScenario(raw)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	if err := s.check(k); err != nil {
		return Scenario{}, fmt.Errorf("scenario %q:\n%w", s.Name, err)
	}
	return s, nil
}

func readScenario(raw []byte) (Scenario, error) {
	var s Scenario
	if err := strict(raw, &s); err == nil {
		return s, nil
	} else if bytes.Count(bytes.TrimSpace(raw), []byte("\n")) == 0 || json.Valid(raw) {
		return Scenario{}, err
	}
	lines := bufio.NewReader(bytes.NewReader(raw))
	for n := 1; ; n++ {
		line, err := ndjson.Read(lines, maxScenario)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var into any = &s
		var step Step
		if n > 1 {
			into = &step
		}
		if err := strict(line, into); err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
		if n > 1 {
			s.Steps = append(s.Steps, step)
		}
	}
}

// strict decodes one value and knows every field of it.
func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func (s Scenario) check(k Kind) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("  "+format, args...)) }
	known := func(what, value string, among []string) {
		if value != "" && !slices.Contains(among, value) {
			bad("%s %q: the stand-in of %s knows %s", what, value, k.Name, strings.Join(among, ", "))
		}
	}
	langs, err := k.Languages()
	if err != nil {
		return err
	}
	known("lang", s.Lang, langs)
	known("start", s.Start, k.screens())
	known("after_join", s.AfterJoin, k.screens())
	known("gate", s.Gate, k.Dialogs)
	for _, f := range s.Flags {
		known("flag", strings.TrimPrefix(f, "-"), k.Flags)
	}
	if s.ReadyMS < 0 {
		bad("ready_ms: %d is negative", s.ReadyMS)
	}
	voices, names := 0, map[string]bool{}
	for i, p := range s.People {
		switch {
		case p.Name == "":
			bad("people[%d]: no name", i)
		case names[p.Name]:
			bad("people[%d]: %q stands twice; steps could not tell them apart", i, p.Name)
		case p.Extra && (len(p.Speech) > 0 || p.Record != ""):
			bad("people[%d]: extra people neither speak nor record", i)
		}
		names[p.Name] = true
		if !p.Extra {
			voices++
		}
	}
	if voices > maxVoices || len(s.People) > maxPeople {
		bad("people: at most %d, of them %d without \"extra\"", maxPeople, maxVoices)
	}
	if len(s.Steps) > maxSteps {
		bad("steps: at most %d", maxSteps)
	}
	for i, st := range s.Steps {
		known(fmt.Sprintf("steps[%d].on", i), st.On, triggers)
		if st.AfterMS < 0 || st.AfterMS > int(time.Hour/time.Millisecond) {
			bad("steps[%d].after_ms: %d is not between 0 and an hour", i, st.AfterMS)
		}
		if st.Do == "come" && st.Who != "" {
			names[st.Who] = true
		}
	}
	for i, st := range s.Steps {
		if err := st.Action.check(k, names); err != nil {
			bad("steps[%d]: %w", i, err)
		}
	}
	for _, p := range slices.Concat(s.Expect.Places(), s.Expect.Through, s.Expect.Never) {
		known("expect", p, places)
	}
	if s.Link != "" && !strings.HasPrefix(s.Link, "/") {
		bad("link %q: it begins with a slash", s.Link)
	}
	return errors.Join(errs...)
}

// screens are all that a visit can show.
func (k Kind) screens() []string {
	return append([]string{"prejoin", "waiting", "in", "blank"}, k.Screens...)
}

// Load reads a scenario by the name of one that comes with the kind, or from a file. Paths of speech and recordings in a
// file are relative to it.
func Load(k Kind, name string) (Scenario, error) {
	if k.Scenarios != nil && !strings.ContainsAny(name, `/\`) {
		for _, ext := range []string{".json", ".ndjson"} {
			f, err := k.Scenarios.Open(name + ext)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return Scenario{}, err
			}
			defer f.Close()
			return named(k, name, f)
		}
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\.`) {
		all, _ := Names(k)
		return Scenario{}, fmt.Errorf("no scenario is called %q; there are %s", name, strings.Join(all, ", "))
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	s, err := named(k, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), f)
	if err != nil {
		return s, err
	}
	return s, s.beside(filepath.Dir(name))
}

func named(k Kind, name string, r io.Reader) (Scenario, error) {
	s, err := ParseScenario(k, r)
	if s.Name == "" {
		s.Name = name
	}
	return s, err
}

// beside makes the paths in a scenario relative to a folder, and looks whether what is to be played is there.
func (s *Scenario) beside(dir string) error {
	var errs []error
	at := func(p *string, read bool) {
		if *p == "" {
			return
		}
		if !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
		if _, err := os.Stat(*p); read && err != nil {
			errs = append(errs, fmt.Errorf("scenario %q: speech: %w", s.Name, err))
		}
	}
	for i := range s.People {
		at(&s.People[i].Record, false)
		for j := range s.People[i].Speech {
			at(&s.People[i].Speech[j], true)
		}
	}
	for i := range s.Steps {
		at(&s.Steps[i].File, true)
	}
	return errors.Join(errs...)
}

// Names are the scenarios that come with a kind, sorted.
func Names(k Kind) ([]string, error) {
	if k.Scenarios == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(k.Scenarios, ".")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".json" || ext == ".ndjson" {
			all = append(all, strings.TrimSuffix(e.Name(), ext))
		}
	}
	slices.Sort(all)
	return all, nil
}
