package sign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/meeting"
)

// testTable has a sign of every sort.
const testTable = `{"platform": "test", "hold_ms": 2000, "out_hold_ms": 1000, "lost_ms": 6000, "signs": [
	{"name": "leave", "kind": "in", "role": "button", "names": {"en": ["Leave call"]}},
	{"name": "people", "kind": "in", "role": "button", "names": {"en": ["People"], "de": ["Personen"]}, "unverified": ["de"]},
	{"name": "share", "kind": "in", "selector": "#share"},
	{"name": "name-field", "kind": "lobby", "selector": "#name"},
	{"name": "asking", "kind": "waiting", "texts": {"en": ["Asking to be let in"], "xx": ["Xx asking"]}, "unverified": ["xx"]},
	{"name": "on-hold", "kind": "waiting", "selector": ".hold"},
	{"name": "declined", "kind": "out", "reason": "denied", "texts": {"en": ["denied your request"], "yy": ["Yy denied"]}, "unverified": ["yy"]},
	{"name": "removed", "kind": "out", "reason": "removed", "texts": {"en": ["been removed"]}},
	{"name": "you-left", "kind": "out", "reason": "left", "from": {"waiting": "denied"}, "texts": {"en": ["You left"]}},
	{"name": "end-screen", "kind": "out", "selector": ".end"},
	{"name": "sign-in", "kind": "wall", "reason": "sign-in-required", "texts": {"en": ["Sign in"]}},
	{"name": "captcha", "kind": "challenge", "selector": "iframe.challenge", "min_width": 60, "min_height": 60},
	{"name": "notes", "kind": "gate", "role": "dialog", "texts": {"en": ["taking notes"]}}
]}`

func table(t testing.TB) *Table {
	t.Helper()
	tab, err := ParseTable([]byte(testTable))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

var words = map[string]string{"asking": "en", "declined": "en", "removed": "en", "you-left": "en", "sign-in": "en", "notes": "en", "leave": "en", "people": "en"}

// look reads "leave people/de !blank".
func look(s string) Look {
	var l Look
	for _, f := range strings.Fields(s) {
		if h, ok := strings.CutPrefix(f, "!"); ok {
			l.Health = Health(h)
			continue
		}
		name, lang, ok := strings.Cut(f, "/")
		if !ok {
			lang = words[name]
		}
		l.Hits = append(l.Hits, Hit{Sign: name, Lang: lang, Text: "words of " + name})
	}
	return l
}

// TestDecisions plays looks at their times (in ms) and says what is decided after each.
func TestDecisions(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"lobby, waiting, admitted after the hold", `
			0 name-field          -> lobby
			1000 asking           -> waiting
			5000 leave people     -> waiting
			6900 leave people     -> waiting
			7000 leave people     -> in`},
		{"the hold ends by time alone", `
			0 asking              -> waiting
			1000 leave people     -> waiting
			1300 leave people     -> waiting
			2999 .                -> waiting
			3000 .                -> in`},
		{"one look is not enough, however old", `
			0 asking              -> waiting
			1000 leave people     -> waiting
			3500 .                -> waiting
			3600 leave people     -> in`},
		{"a lobby that shows the call's controls is a lobby", `
			0 leave people share asking      -> waiting
			9000 leave people share asking   -> waiting
			20000 leave people share on-hold -> waiting
			40000 leave people share name-field -> lobby
			60000 leave people share name-field -> lobby`},
		{"one lobby sign in between begins the hold anew", `
			0 asking              -> waiting
			1000 leave people     -> waiting
			2900 leave people asking -> waiting
			3000 leave people     -> waiting
			4900 leave people     -> waiting
			5000 leave people     -> in`},
		{"one in-call sign is none", `
			0 asking              -> waiting
			1000 leave            -> waiting
			2000 leave            -> waiting
			4000 leave            -> unknown
			9000 leave            -> unknown`},
		{"unverified words count beside others, not alone", `
			0 asking              -> waiting
			1000 people/de share  -> waiting
			3500 people/de share  -> in`},
		{"two structural signs are enough", `
			0 leave share         -> unknown
			2500 leave share      -> in`},
		{"denied by its words", `
			0 asking              -> waiting
			1000 declined         -> waiting
			1999 declined         -> waiting
			2000 declined         -> out denied
			9000 leave people     -> out denied`},
		{"a denial beats what is left of the lobby and a challenge on the same page", `
			0 asking              -> waiting
			1000 declined asking captcha leave people -> waiting
			2000 declined asking captcha leave people -> out denied`},
		{"a denial that flashes by is none", `
			0 asking              -> waiting
			1000 declined         -> waiting
			1500 asking           -> waiting
			2500 asking           -> waiting`},
		{"unverified words of a denial do not decide alone", `
			0 asking              -> waiting
			1000 declined/yy      -> waiting
			2600 declined/yy      -> unknown
			9000 declined/yy      -> unknown`},
		{"but with the end's own screen beside them", `
			0 asking              -> waiting
			1000 declined/yy end-screen -> waiting
			2000 declined/yy end-screen -> out denied`},
		{"an end screen without words is no end", `
			0 asking              -> waiting
			1000 end-screen       -> waiting
			9000 end-screen       -> unknown
			60000 end-screen      -> unknown`},
		{"blank, crashed and failed are never an end", `
			0 asking              -> waiting
			1000 !blank           -> waiting
			2500 !blank           -> unknown
			60000 !blank          -> unknown
			61000 asking          -> waiting
			62000 !crashed        -> unknown
			90000 !failed         -> unknown`},
		{"a moment of blankness is a page that moves on", `
			0 asking              -> waiting
			1000 !blank           -> waiting
			1400 leave people     -> waiting
			3400 leave people     -> in
			5000 !blank           -> in
			6000 leave people     -> in`},
		{"words of an end while the controls stand are a notice", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 leave people removed -> in
			9000 leave people removed -> in
			9100 removed          -> in
			10100 removed         -> out removed`},
		{"a toolbar that hides is still a call", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000                  -> in
			8900                  -> in
			8950 leave people     -> in
			9000                  -> in
			15000                 -> unknown`},
		{"words mean something else at the door", `
			0 asking              -> waiting
			1000 you-left         -> waiting
			2000 you-left         -> out denied`},
		{"and inside", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 you-left         -> in
			4000 you-left         -> out left`},
		{"also when a blank page came between", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 !blank           -> in
			5000 !blank           -> unknown
			5100 you-left         -> unknown
			6100 you-left         -> out left`},
		{"a sign-in form at the door, after it stood", `
			0 sign-in             -> unknown
			1900 sign-in          -> unknown
			2000 sign-in          -> out sign-in-required`},
		{"the same words inside are not for us", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 leave people sign-in -> in
			9000 leave people sign-in captcha -> in
			10000 leave people sign-in captcha -> in challenge`},
		{"a challenge at the door", `
			0 name-field          -> lobby
			1000 name-field captcha -> lobby
			2000 captcha          -> lobby challenge
			3000 leave people     -> lobby challenge
			5000 leave people     -> in`},
		{"a challenge that flashes by", `
			0 name-field          -> lobby
			1000 name-field captcha -> lobby
			1900 name-field       -> lobby
			2100 name-field captcha -> lobby`},
		{"a consent gate holds us back although all controls are there", `
			0 asking              -> waiting
			1000 leave people share notes -> waiting
			2000 leave people share notes -> waiting consent-gate
			9000 leave people share notes -> waiting consent-gate
			9100 leave people share -> waiting consent-gate
			11100 leave people share -> in`},
		{"a gate inside is reported and we stay in", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 leave people notes -> in
			4000 leave people notes -> in consent-gate
			4100 leave people     -> in consent-gate
			5100 leave people     -> in`},
		{"put back into the lobby", `
			0 leave people        -> unknown
			2000 leave people     -> in
			3000 asking           -> in
			4900 asking           -> in
			5000 asking           -> waiting`},
		{"an observer that falls silent", `
			0 leave people        -> unknown
			2000 leave people     -> in
			5999 .                -> in
			6000 .                -> in
			7500 .                -> unknown
			8000 leave people     -> unknown
			10000 leave people    -> in`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := New(table(t), 0)
			start := time.Unix(1000, 0)
			before, shown := 0, ""
			for line := range strings.Lines(c.script) {
				left, want, ok := strings.Cut(strings.TrimSpace(line), "->")
				if !ok {
					continue
				}
				at, signs, _ := strings.Cut(strings.TrimSpace(left), " ")
				ms, err := strconv.Atoi(at)
				if err != nil {
					t.Fatal(err)
				}
				silence := strings.TrimSpace(signs) == "."
				for ; !silence && before > 0 && before+1000 < ms; before += 1000 { // the observer repeats itself every second
					e.See(start.Add(time.Duration(before+1000)*time.Millisecond), look(shown))
				}
				before, shown = ms, signs
				if silence {
					before = 0
				}
				now := start.Add(time.Duration(ms) * time.Millisecond)
				if silence {
					e.Tick(now)
				} else {
					e.See(now, look(signs))
				}
				d := e.Decided()
				got := strings.TrimSpace(string(d.Place) + " " + string(d.Reason) + d.HeldBy)
				if got != strings.TrimSpace(want) {
					t.Fatalf("%s: decided %q (leaning %+v)", strings.TrimSpace(line), got, e.leaning)
				}
			}
		})
	}
}

func TestEvidenceIsKeptAndBounded(t *testing.T) {
	e := New(table(t), 0)
	now := time.Unix(0, 0)
	for i := range 100 {
		s := "asking"
		if i%2 == 1 {
			s = "leave people"
		}
		e.See(now.Add(time.Duration(i)*time.Millisecond), look(s))
		e.See(now.Add(time.Duration(i)*time.Millisecond), look(s)) // the same again is no news
	}
	ev := e.Evidence()
	if len(ev) != keptEvidence || ev[len(ev)-1].Leans != meeting.PlaceIn || !slices.Equal(ev[len(ev)-1].Signs, []string{"leave", "people"}) {
		t.Errorf("%d, last %+v", len(ev), ev[len(ev)-1])
	}
	e.See(now.Add(time.Hour), look("removed"))
	d, _ := e.See(now.Add(time.Hour+time.Second), look("removed"))
	if d.Text != "words of removed" || !slices.Equal(d.Signs, []string{"removed"}) {
		t.Errorf("%+v", d)
	}
}

func TestTablesAreChecked(t *testing.T) {
	for name, c := range map[string]string{
		"no json":             `{`,
		"no name":             `{"signs":[{"kind":"in","selector":"a"}]}`,
		"kind":                `{"signs":[{"name":"x","kind":"maybe","selector":"a"}]}`,
		"nothing to look for": `{"signs":[{"name":"x","kind":"in"}]}`,
		"structural end":      `{"signs":[{"name":"x","kind":"out","selector":".end","reason":"removed"}]}`,
		"no reason":           `{"signs":[{"name":"x","kind":"out","texts":{"en":["ended"]}}]}`,
		"unknown reason":      `{"signs":[{"name":"x","kind":"out","texts":{"en":["ended"]},"reason":"bored"}]}`,
		"small challenge":     `{"signs":[{"name":"x","kind":"challenge","selector":"iframe","reason":"captcha"}]}`,
		"twice":               strings.Replace(testTable, `"name": "share"`, `"name": "leave"`, 1),
		"one in-call sign":    `{"signs":[{"name":"x","kind":"in","selector":"a","weight":9}]}`,
		"short word":          strings.Replace(testTable, `"been removed"`, `"x"`, 1),
		"absent language":     strings.Replace(testTable, `["yy"]`, `["zz"]`, 1),
	} {
		if _, err := ParseTable([]byte(c)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestDevicesHaveFourStates(t *testing.T) {
	r := DeviceRule{On: map[string][]string{"en": {"Mute microphone", "Turn off microphone"}, "de": {"Stummschalten"}}, Off: map[string][]string{"en": {"Unmute microphone", "Turn on microphone"}, "de": {"Stummschaltung aufheben"}},
		Attr: "data-state", States: map[string]meeting.Device{"on": meeting.DeviceOn, "off": meeting.DeviceOff, "blocked": meeting.DeviceBlocked}}
	for _, c := range []struct {
		name, attr     string
		found, enabled bool
		want           meeting.Device
	}{
		{"", "", false, false, meeting.DeviceUnknown},
		{"Mute microphone", "on", true, true, meeting.DeviceOn},
		{"Unmute microphone", "off", true, true, meeting.DeviceOff},
		{"Unmute  MICROPHONE (ctrl + d)", "", true, true, meeting.DeviceOff},
		{"Turn off microphone (ctrl + d)", "", true, true, meeting.DeviceOn},
		{"Stummschalten", "", true, true, meeting.DeviceOn},
		{"Stummschaltung aufheben", "", true, true, meeting.DeviceOff},
		{"Mute microphone", "off", true, true, meeting.DeviceUnknown},
		{"Unmute microphone", "on", true, true, meeting.DeviceUnknown},
		{"Something", "", true, true, meeting.DeviceUnknown},
		{"Something", "off", true, true, meeting.DeviceOff},
		{"Something", "strange", true, true, meeting.DeviceUnknown},
		{"Unmute microphone", "off", true, false, meeting.DeviceBlocked},
		{"Unmute microphone", "blocked", true, true, meeting.DeviceBlocked},
		{"Mute microphone", "on", true, false, meeting.DeviceOn},
		{"", "", true, false, meeting.DeviceBlocked},
	} {
		got := r.Read(Control{Found: c.found, Enabled: c.enabled, Name: c.name, Attrs: map[string]string{"data-state": c.attr}})
		if got != c.want {
			t.Errorf("%q %q enabled %v: %s, want %s", c.name, c.attr, c.enabled, got, c.want)
		}
	}
}

// play runs random looks and checks what must hold at every step.
func play(t *testing.T, tab *Table, next func() (step time.Duration, l Look, tick bool)) {
	t.Helper()
	e := New(tab, 0)
	now := time.Unix(0, 0)
	var inSince, lastLook time.Time // since when every look was that of a call
	hold := tab.Hold()
	for range 200 {
		step, l, tick := next()
		now = now.Add(step)
		var d Decision
		var changed bool
		before := e.Decided()
		if tick {
			d, changed = e.Tick(now)
		} else {
			bare := tab.judge(meeting.PlaceLobby, nil, Look{Health: l.Health, Hits: slices.DeleteFunc(slices.Clone(l.Hits), func(h Hit) bool { return h.Sign == "removed" || h.Sign == "you-left" || h.Sign == "declined" })})
			if bare.Place == meeting.PlaceIn {
				if inSince.IsZero() || now.Sub(lastLook) >= maxSilence {
					inSince = now
				}
			} else {
				inSince = time.Time{}
			}
			lastLook = now
			d, changed = e.See(now, l)
		}
		if dl := e.Deadline(); !dl.IsZero() && dl.Before(now.Add(-maxSilence)) {
			t.Fatalf("a deadline long gone: %v at %v", dl, now)
		}
		if !changed {
			continue
		}
		if before.Place == meeting.PlaceOut {
			t.Fatal("an end was taken back")
		}
		switch d.Place {
		case meeting.PlaceIn:
			if before.Place != meeting.PlaceIn && (inSince.IsZero() || now.Sub(inSince) < hold) {
				t.Fatalf("in after %v of %v", now.Sub(inSince), hold)
			}
			if len(d.Signs) < 2 {
				t.Fatalf("in by %v", d.Signs)
			}
		case meeting.PlaceOut:
			if !d.Reason.Known() || len(d.Signs) == 0 {
				t.Fatalf("out without a reason: %+v", d)
			}
			if d.Reason == meeting.ReasonDenied && !slices.ContainsFunc(d.Signs, func(s string) bool { return s == "declined" || s == "you-left" }) {
				t.Fatalf("denied by %v", d.Signs)
			}
		}
	}
}

func TestRandomLooksKeepThePromises(t *testing.T) {
	tab := table(t)
	var all []string
	for _, s := range tab.Signs {
		all = append(all, s.Name, s.Name)
	}
	all = append(all, "people/de", "declined/yy", "asking/xx", "!blank", "!failed", "!crashed", "nonsense")
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var now []string
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			play(t, tab, func() (time.Duration, Look, bool) {
				if r.IntN(4) == 0 { // pages change now and then
					now = nil
					for range r.IntN(5) {
						now = append(now, all[r.IntN(len(all))])
					}
					if r.IntN(3) == 0 {
						now = []string{"leave", "people"}
					}
				}
				return time.Duration(r.IntN(900)) * time.Millisecond, look(strings.Join(now, " ")), r.IntN(3) == 0
			})
		})
	}
}

func FuzzEngine(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0xff, 9, 200, 4, 4, 4})
	tab := table(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		i := 0
		b := func() int {
			if i >= len(raw) {
				return 0
			}
			i++
			return int(raw[i-1])
		}
		play(t, tab, func() (time.Duration, Look, bool) {
			var l Look
			for range b() % 5 {
				s := tab.Signs[b()%len(tab.Signs)]
				l.Hits = append(l.Hits, Hit{Sign: s.Name, Lang: []string{"", "en", "de", "yy"}[b()%4]})
			}
			if b()%7 == 6 {
				l.Health = []Health{Blank, Crashed, Failed, Silent}[b()%4]
			}
			return time.Duration(b()*20) * time.Millisecond, l, b()%5 == 4
		})
	})
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte(testTable))
	f.Fuzz(func(t *testing.T, raw []byte) { _, _ = ParseTable(raw) })
}
