package attend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bytes"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/attend/attendtest"
	"parley/platforms/sign"
)

const testTable = `{"platform": "test", "signs": [
	{"name": "leave", "kind": "in", "role": "button", "names": {"en": ["Leave"]}},
	{"name": "chat", "kind": "in", "role": "button", "names": {"en": ["Chat"]}},
	{"name": "name-field", "kind": "lobby", "selector": "#name"},
	{"name": "asking", "kind": "waiting", "texts": {"en": ["Asking to be let in"]}},
	{"name": "refused", "kind": "out", "reason": "denied", "texts": {"en": ["You cannot join"]}},
	{"name": "captcha", "kind": "challenge", "selector": "iframe", "min_width": 60, "min_height": 60}],
	"devices": {"microphone": {"on": {"en": ["Mute"]}, "off": {"en": ["Unmute"]}}, "camera": {"on": {"en": ["Stop video"]}, "off": {"en": ["Start video"]}}},
	"dialogs": [
		{"name": "tip", "kind": "tip", "texts": {"en": ["A tip"]}, "buttons": {"en": ["Got it"]}},
		{"name": "gate", "kind": "consent", "texts": {"en": ["taking notes"]}, "buttons": {"en": ["Join now"]}},
		{"name": "sound", "kind": "ours", "texts": {"en": ["Join by computer"]}},
		{"name": "unmute", "kind": "unmute-request", "texts": {"en": ["would like you to unmute"]}, "buttons": {"en": ["Unmute"]}}],
	"targets": {"microphone": {"role": "button", "names": {"en": ["Mute", "Unmute"]}}, "camera": {"role": "button", "names": {"en": ["Stop video", "Start video"]}}, "dialog": {"selector": "[role=dialog]"},
		"message": {"selector": "textarea"}, "chat": {"role": "button", "names": {"en": ["Chat"]}}, "send": {"selector": "#send"}, "leave": {"role": "button", "names": {"en": ["Leave"]}}}}`

func module(t *testing.T) Module {
	t.Helper()
	table, err := sign.ParseTable([]byte(testTable))
	if err != nil {
		t.Fatal(err)
	}
	return Module{Table: table, Read: "() => () => ({})", Chord: "Alt+A", Toolbar: "#bar"}
}

func open(t *testing.T, m Module, p *attendtest.Page) (*Call, *events) {
	t.Helper()
	c, err := Open(t.Context(), m, p, platforms.Link{}, platforms.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &events{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range c.Events() {
			w.mu.Lock()
			w.all = append(w.all, e)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return c, w
}

type events struct {
	mu  sync.Mutex
	all []meeting.CallEvent
}

func of[E meeting.CallEvent](w *events) (out []E) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.all {
		if v, ok := e.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

// microphone is a page whose control only listens to some ways of switching it.
type microphone struct {
	mu    sync.Mutex
	on    bool
	heeds string // click, page, page-keys, keys
	asked []string
}

func (m *microphone) page() *attendtest.Page {
	p := attendtest.New()
	p.Found = func(t platforms.Target) platforms.Found {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !slices.Contains(t.Names, "Mute") {
			return platforms.Found{}
		}
		name := "Unmute"
		if m.on {
			name = "Mute"
		}
		return platforms.Found{OK: true, Enabled: true, Name: name}
	}
	p.OnClick = func(platforms.Target) error { m.try("click"); return nil }
	p.OnPress = func(string) { m.try("keys") }
	p.OnRun = func(script string, arg json.RawMessage) any {
		if !strings.Contains(script, "toolbar") {
			return nil
		}
		if strings.Contains(string(arg), "chord") {
			m.try("page-keys")
		} else {
			m.try("page")
		}
		return true
	}
	return p
}

func (m *microphone) try(way string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, way)
	if way == m.heeds {
		m.on = !m.on
	}
}

func TestTheOrderOfMuting(t *testing.T) {
	for _, c := range []struct {
		heeds string
		want  []string
		state meeting.Device
	}{
		{"click", []string{"click"}, meeting.DeviceOff},
		{"page", []string{"click", "click", "click", "page"}, meeting.DeviceOff},
		{"page-keys", []string{"click", "click", "click", "page", "page-keys"}, meeting.DeviceOff},
		{"keys", []string{"click", "click", "click", "page", "page-keys", "keys"}, meeting.DeviceOff},
		{"nothing", []string{"click", "click", "click", "page", "page-keys", "keys"}, meeting.DeviceOn},
	} {
		t.Run(c.heeds, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &microphone{on: true, heeds: c.heeds}
				p := m.page()
				call, _ := open(t, module(t), p)
				d, err := call.Switch(t.Context(), "microphone", false)
				if err != nil || d != c.state || !slices.Equal(m.asked, c.want) {
					t.Errorf("%s %v, by %v", d, err, m.asked)
				}
				for i, did := range p.Did() {
					if strings.HasPrefix(did, "click") && (i == 0 || p.Did()[i-1] != "move the pointer") {
						t.Errorf("a click without the pointer over the toolbar first: %v", p.Did())
					}
				}
			})
		})
	}
}

func TestWhoMayNotUnmuteIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &microphone{heeds: "nothing"}
		call, _ := open(t, module(t), m.page())
		if d, err := call.Switch(t.Context(), "microphone", true); err != nil || d != meeting.DeviceBlocked {
			t.Errorf("%s %v", d, err)
		}
	})
}

func TestNobodyActsOnAMicrophoneThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		p.Found = func(t platforms.Target) platforms.Found {
			return platforms.Found{OK: slices.Contains(t.Names, "Mute"), Enabled: true, Name: "なに"}
		}
		call, _ := open(t, module(t), p)
		d, err := call.Switch(t.Context(), "microphone", false)
		if err != nil || d != meeting.DeviceUnknown {
			t.Errorf("%s %v", d, err)
		}
		for _, did := range p.Did() {
			if strings.HasPrefix(did, "click") || strings.HasPrefix(did, "press") {
				t.Errorf("did %s", did)
			}
		}
	})
}

func report(seq int, shown map[string]any, signs ...string) map[string]any {
	hits := []map[string]any{}
	for _, s := range signs {
		hits = append(hits, map[string]any{"sign": s, "text": "words of " + s, "lang": "en"})
	}
	return map[string]any{"seq": seq, "hits": hits, "data": shown}
}

func dialog(id, text string, choices ...string) map[string]any {
	return map[string]any{"dialogs": []map[string]any{{"id": id, "head": text, "text": text, "choices": choices}}}
}

func TestADialogIsAnsweredOnceByItsRuleAndThenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		_, w := open(t, module(t), p)
		p.Report(report(1, dialog("d1", "A tip", "Got it")))
		synctest.Wait()
		time.Sleep(time.Second)
		if !slices.Contains(p.Did(), "click got it") || len(of[meeting.SeenDialog](w)) != 0 {
			t.Fatalf("did %v, told %v", p.Did(), of[meeting.SeenDialog](w))
		}
		p.Report(report(2, map[string]any{}))
		p.Report(report(3, dialog("d2", "A tip", "Got it"))) // the same again, as a new element
		synctest.Wait()
		if told := of[meeting.SeenDialog](w); len(told) != 1 || told[0].Kind != sign.DialogUnknown || !told[0].Open {
			t.Errorf("told %+v", told)
		}
	})
}

func TestAGateIsToldWithItsAcceptingChoiceFirstAndNeverPressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		_, w := open(t, module(t), p)
		p.Report(report(1, dialog("d1", "Gemini is taking notes", "Leave", "Join now"), "leave", "chat"))
		time.Sleep(time.Minute)
		told := of[meeting.SeenDialog](w)
		if len(told) != 1 || told[0].Kind != sign.DialogConsent || told[0].Choices[0] != "Join now" {
			t.Errorf("told %+v", told)
		}
		for _, did := range p.Did() {
			if strings.HasPrefix(did, "click") {
				t.Errorf("did %s", did)
			}
		}
	})
}

func TestAHostsRequestToUnmuteIsTakenUpByWhoWantsToSpeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &microphone{heeds: "nothing"}
		p := m.page()
		click := p.OnClick
		p.OnClick = func(tg platforms.Target) error {
			if tg.Exact && slices.Contains(tg.Names, "Unmute") && tg.Within != "" {
				m.mu.Lock()
				m.on = true
				m.mu.Unlock()
				return nil
			}
			return click(tg)
		}
		call, w := open(t, module(t), p)
		p.Report(report(1, dialog("d1", "The host would like you to unmute", "Stay Muted", "Unmute")))
		synctest.Wait()
		if told := of[meeting.SeenDialog](w); len(told) != 1 || told[0].Kind != sign.DialogUnmute || len(m.asked) != 0 {
			t.Fatalf("told %+v, asked %v", told, m.asked)
		}
		if d, err := call.Switch(t.Context(), "microphone", true); err != nil || d != meeting.DeviceOn {
			t.Errorf("%s %v %v", d, err, p.Did())
		}
	})
}

func message(id, sender, text string, own bool) map[string]any {
	return map[string]any{"id": id, "sender": sender, "text": text, "own": own}
}

func TestAMessageIsProvenByItsRowAndByNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		p.Found = func(t platforms.Target) platforms.Found {
			return platforms.Found{OK: t.Selector == "textarea", Enabled: true}
		}
		call, w := open(t, module(t), p)
		people := []map[string]any{{"id": "1", "name": "Ada"}}
		p.Report(report(1, map[string]any{"people": people}, "leave", "chat"))
		time.Sleep(3 * time.Second)
		for i := range 40 { // a page reports all the time
			p.Report(report(2+i, map[string]any{"people": people, "messages": []any{message("a", "Ada", "hello", false)}}, "leave", "chat"))
			time.Sleep(100 * time.Millisecond)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := call.SendChat(t.Context(), "hello", meeting.Everyone)
			sent <- err
		}()
		time.Sleep(500 * time.Millisecond)
		p.Report(report(50, map[string]any{"people": people, "messages": []any{message("a", "Ada", "hello", false), message("b", "Ada", "hello", false)}}, "leave", "chat"))
		synctest.Wait()
		select {
		case err := <-sent:
			t.Fatalf("a message of Ada's was taken for the proof: %v", err)
		default:
		}
		p.Report(report(51, map[string]any{"people": people, "messages": []any{message("b", "Ada", "hello", false), message("c", "", "hello", false)}}, "leave", "chat"))
		if err := <-sent; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		for _, m := range of[meeting.SeenChat](w) {
			if m.Own != (m.ID == "c") {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestAMessageThatNeverShowsUpIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		value := ""
		p.Found = func(t platforms.Target) platforms.Found {
			return platforms.Found{OK: t.Selector == "textarea", Enabled: true, Value: value}
		}
		call, _ := open(t, module(t), p)
		p.Report(report(1, map[string]any{}, "leave", "chat"))
		time.Sleep(3 * time.Second)
		for want, v := range map[meeting.ChatFailure]string{meeting.ChatNotConfirmed: "", meeting.ChatNotSent: "hello"} {
			value = v
			ctx, cancel := timeout(t, 10*time.Second)
			_, err := call.SendChat(ctx, "hello", meeting.Everyone)
			cancel()
			var ce *meeting.ChatError
			if !errors.As(err, &ce) || ce.Failure != want {
				t.Errorf("field holds %q: %v, want %s", v, err, want)
			}
		}
	})
}

func TestACountThatIsNotShownStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		_, w := open(t, module(t), p)
		for i := range 40 {
			p.Report(report(i+1, map[string]any{"people": []map[string]any{{"id": "me", "name": "Us", "self": true}}}, "leave", "chat"))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		for _, e := range of[meeting.SeenPeople](w) {
			if e.Count != -1 {
				t.Errorf("%+v", e)
			}
		}
		if len(of[meeting.SeenPeople](w)) != 1 {
			t.Errorf("told %d times", len(of[meeting.SeenPeople](w)))
		}
	})
}

func TestLongMessagesGoOutInNumberedParts(t *testing.T) {
	long := strings.Repeat("One sentence that is said. ", 60)
	parts := Split(long, 500)
	if len(parts) < 3 || Split("short", 500)[0] != "short" {
		t.Fatalf("%d parts", len(parts))
	}
	all := ""
	for i, p := range parts {
		if len([]rune(p)) > 500 || !strings.HasPrefix(p, fmt.Sprintf("(%d/%d) ", i+1, len(parts))) {
			t.Errorf("part %d: %d letters, %q", i+1, len([]rune(p)), p[:12])
		}
		_, rest, _ := strings.Cut(p, ") ")
		all += " " + rest
	}
	if Fold(all) != Fold(long) {
		t.Error("something is lost")
	}
	if got := Split(strings.Repeat("ä", 1200), 500); len(got) != 3 {
		t.Errorf("a word without an end: %d parts", len(got))
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a b c", 30)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 30 || n > 2000 || len(text) > 5000 || !strings.Contains(text, "") {
			return
		}
		for _, p := range Split(text, n) {
			if len([]rune(p)) > n+4 { // more than 99 parts have longer numbers
				t.Errorf("%d letters", len([]rune(p)))
			}
		}
	})
}

func TestPicturesLeaveOutWhatPeopleWrite(t *testing.T) {
	shot := image.NewRGBA(image.Rect(0, 0, 100, 50))
	for i := range shot.Pix {
		shot.Pix[i] = 255
	}
	var raw bytes.Buffer
	if err := png.Encode(&raw, shot); err != nil {
		t.Fatal(err)
	}
	out, err := paintOver(raw.Bytes(), 50, []rect{{X: 25, Y: 0, W: 25, H: 25}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := got.At(10, 10).RGBA(); r>>8 != 255 {
		t.Error("the page itself is painted over")
	}
	if r, _, _, _ := got.At(75, 40).RGBA(); r>>8 == 255 {
		t.Error("the chat can be seen")
	}
}

func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// A wait and an end whose words nobody knows: the button that stands there afterwards would ask a second time.
func TestNobodyIsAskedTwice(t *testing.T) {
	for _, c := range []struct {
		name  string
		after func(p *attendtest.Page) // what the page shows once the button was pressed
		again bool
	}{
		{"a click that the page did not take", func(p *attendtest.Page) { p.Report(report(2, nil, "name-field")) }, true},
		{"words that nobody knows, then the form again", func(p *attendtest.Page) {
			p.Report(report(2, nil))
			p.Report(report(3, nil, "name-field"))
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := attendtest.New()
				call, _ := open(t, module(t), p)
				p.Report(report(1, nil, "name-field"))
				synctest.Wait()
				call.Knocked()
				c.after(p)
				synctest.Wait()
				pressed := false
				err := call.Asked(t.Context(), 30*time.Second, func(context.Context) error { pressed = true; return nil })
				if _, ok := errors.AsType[*meeting.EndError](err); !ok || pressed != c.again {
					t.Errorf("pressed again: %v; %v", pressed, err)
				}
			})
		})
	}
}

// A wall has no lobby to look at, and "dry-run" would say that it was looked at.
func TestADryRunSaysWhatStoodBeforeTheLobby(t *testing.T) {
	for _, c := range []struct {
		name   string
		shows  string
		told   bool
		reason meeting.Reason
	}{
		{"a lobby", "name-field", true, ""},
		{"a refusal", "refused", false, meeting.ReasonDenied},
		{"nothing that we know", "", false, meeting.ReasonJoinFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, m := attendtest.New(), module(t)
				m.Join = func(_ context.Context, call *Call, _ meeting.JoinRequest) error {
					if c.told {
						call.TellLobby(meeting.SeenLobby{As: "guest"})
					}
					return nil
				}
				call, _ := open(t, m, p)
				go func() {
					for i := 1; i < 20; i++ {
						if c.shows == "" {
							p.Report(report(i, nil))
						} else {
							p.Report(report(i, nil, c.shows))
						}
						time.Sleep(300 * time.Millisecond)
					}
				}()
				err := call.Join(t.Context(), meeting.JoinRequest{Name: "Parley", DryRun: true})
				end, ended := errors.AsType[*meeting.EndError](err)
				if ended != (c.reason != "") || ended && end.Reason != c.reason {
					t.Errorf("ended with %v, want %q", err, c.reason)
				}
				time.Sleep(10 * time.Second)
			})
		})
	}
}

// inside reports a call that goes on for a while.
func inside(p *attendtest.Page, from, n int, shown map[string]any) {
	for i := range n {
		p.Report(report(from+i, shown, "leave", "chat"))
		time.Sleep(time.Second)
	}
}

func TestACallThatCannotBeHeardIsToldAndAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		call, w := open(t, module(t), p)
		shown := dialog("d1", "Join by computer", "Leave", "By computer", "By telephone")
		inside(p, 1, 5, shown)
		call.Deaf(true, true)
		call.Deaf(true, true) // once is enough
		inside(p, 10, 40, shown)
		faults, asked := of[meeting.SeenFault](w), of[meeting.SeenDialog](w)
		if len(faults) != 1 || faults[0].Part != meeting.PartSound || faults[0].Mended {
			t.Errorf("faults %+v", faults)
		}
		if len(asked) != 1 || asked[0].ID != noSound || slices.Contains(asked[0].Choices, "Leave") || len(asked[0].Choices) != 2 {
			t.Fatalf("asked %+v", asked)
		}
		if err := call.AnswerDialog(t.Context(), noSound, "By telephone"); err != nil || !slices.Contains(p.Did(), "click by telephone") {
			t.Errorf("%v; did %v", err, p.Did())
		}
		call.Deaf(false, false)
		synctest.Wait()
		if faults, asked = of[meeting.SeenFault](w), of[meeting.SeenDialog](w); len(faults) != 2 || !faults[1].Mended || asked[len(asked)-1].Open {
			t.Errorf("faults %+v, asked %+v", faults, asked)
		}
	})
}

func TestADialogOfOursThatStaysIsSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		_, w := open(t, module(t), p)
		shown := dialog("d1", "Join by computer", "Later", "Never")
		inside(p, 1, 20, shown)
		if told := of[meeting.SeenDialog](w); len(told) != 0 {
			t.Fatalf("told too soon: %+v", told)
		}
		inside(p, 30, 15, shown)
		if told := of[meeting.SeenDialog](w); len(told) != 1 || told[0].Kind != sign.DialogUnknown {
			t.Errorf("told %+v", told)
		}
	})
}

func TestANameThatStandsThereIsKeptOnlyWhereItIsAnAccounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string // what stands in the field
		keep  bool
		typed bool
	}{
		{"an account's own name", "Grace Hopper", true, false},
		{"an account's empty field", "", true, true},
		{"a guest's field", "Somebody before us", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, m := attendtest.New(), module(t)
			m.Table.Targets["name"] = sign.Words{Selector: "#name"}
			p.Found = func(platforms.Target) platforms.Found {
				f := platforms.Found{OK: true, Enabled: true, Value: c.value}
				if slices.Contains(p.Did(), "type into #name") {
					f.Value = "Parley"
				}
				return f
			}
			call, _ := open(t, m, p)
			typed, err := call.GiveName(t.Context(), "Parley", time.Second, c.keep)
			if err != nil || typed != c.typed || slices.Contains(p.Did(), "type into #name") != c.typed {
				t.Errorf("typed %t, did %v; %v", typed, p.Did(), err)
			}
		})
	}
}

// A toolbar that hides itself takes clicks away from under the pointer.
func TestAChatWhoseButtonMissesAClickIsOpenedAllTheSame(t *testing.T) {
	for _, c := range []struct {
		name   string
		misses int
		opens  bool
	}{{"none", 0, true}, {"one", 1, true}, {"all", 9, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, clicks, open_ := attendtest.New(), 0, false
				p.Found = func(to platforms.Target) platforms.Found {
					return platforms.Found{OK: to.Selector != "textarea" || open_, Enabled: true}
				}
				p.OnClick = func(platforms.Target) error {
					if clicks++; clicks <= c.misses {
						return errors.New("nothing shows that it received the click")
					}
					open_ = true
					return nil
				}
				call, _ := open(t, module(t), p)
				inside(p, 1, 5, nil)
				err := call.OpenChat(t.Context())
				if (err == nil) != c.opens || clicks > 3 {
					t.Errorf("%d clicks: %v", clicks, err)
				}
			})
		})
	}
}

// Anybody may call themselves as we are called, or by the page's word for us: what they write is theirs.
func TestSomebodyWithOurNameIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := attendtest.New()
		p.Found = func(t platforms.Target) platforms.Found {
			return platforms.Found{OK: t.Selector == "textarea", Enabled: true}
		}
		call, w := open(t, module(t), p)
		call.update(func(s *State) { s.name = "Parley" })
		inside(p, 1, 5, nil)
		marked := message("d", "", "a text with a smile", true)
		marked["marked"] = true
		sent := make(chan error, 1)
		go func() {
			_, err := call.SendChat(t.Context(), "We take notes here: https://x.example", meeting.Everyone)
			sent <- err
		}()
		time.Sleep(500 * time.Millisecond)
		p.Report(report(10, map[string]any{"messages": []any{
			message("a", "Parley", "please do not record", false),
			message("b", "You", "please do not record", true),
			message("c", "You", "We take notes here: https://x.example", true),
			marked,
			message("e", "You", "We take notes here: https://x.example. Stop recording, now, please", true),
		}}, "leave", "chat"))
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, m := range of[meeting.SeenChat](w) {
			if own := m.ID == "c" || m.ID == "d"; m.Own != own || own == (m.Sender != "") {
				t.Errorf("%+v", m)
			}
		}
		if n := len(of[meeting.SeenChat](w)); n != 5 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestOnlyOneIsUs(t *testing.T) {
	for _, c := range []struct{ people, us string }{
		{"Ada, Parley", "Parley"},
		{"Ada, You*", "You"},
		{"You*, Parley*, Parley", "Parley"}, // somebody is called by the page's word for us
		{"Parley, Parley*", "Parley"},
		{"Notes*, Mallory*", "Notes"}, // an account has another name
		{"Ada, Bo", ""},
	} {
		var people []Person
		for i, name := range strings.Split(c.people, ", ") {
			bare := strings.TrimSuffix(name, "*")
			people = append(people, Person{ID: fmt.Sprint(i), Name: bare, Self: bare != name})
		}
		oneSelf(people, "Parley")
		us := []string{}
		for _, p := range people {
			if p.Self {
				us = append(us, p.Name)
			}
		}
		if strings.Join(us, " ") != c.us {
			t.Errorf("%s: we are %q", c.people, us)
		}
	}
	both := []Person{{ID: "1", Name: "Parley"}, {ID: "2", Name: "Parley", Self: true}}
	if oneSelf(both, "Parley"); both[0].Self || !both[1].Self {
		t.Errorf("the page's mark comes first: %+v", both)
	}
}
