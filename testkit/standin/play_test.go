package standin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// stage plays a scenario by hand: at moves the clock on, in milliseconds.
type stage struct {
	t   *testing.T
	p   *play
	now time.Time
	out []effect
}

func newStage(t *testing.T, k Kind, s Scenario) *stage {
	t.Helper()
	if err := s.check(k); err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, p: newPlay(k, s), now: noon}
	st.out = st.p.begin()
	return st
}

func (s *stage) at(ms int, e event) error {
	s.t.Helper()
	until := noon.Add(time.Duration(ms) * time.Millisecond)
	for { // the loop sleeps to the earliest deadline
		d := s.p.deadline()
		if d.IsZero() || d.After(until) {
			break
		}
		s.now = d
		out, err := s.p.tick(d)
		if err != nil {
			s.t.Fatal(err)
		}
		s.out = append(s.out, out...)
	}
	s.now = until
	if e == nil {
		return nil
	}
	out, err := s.p.step(until, e)
	s.out = append(s.out, out...)
	return err
}

func (s *stage) must(ms int, e event) {
	s.t.Helper()
	if err := s.at(ms, e); err != nil {
		s.t.Fatalf("at %d: %v", ms, err)
	}
}

func (s *stage) screen(want string) {
	s.t.Helper()
	v, _ := s.p.state().Newest()
	if v.Screen != want {
		s.t.Errorf("at %v the screen is %q, want %q", s.now.Sub(noon), v.Screen, want)
	}
}

func (s *stage) me() *visitor { return s.p.newest() }

func page1() opened { return opened{1, Address{Path: "/meeting", Lang: "en"}} }

func doing(a Action) did { return did{a} }

func TestAVisitFromDoorToEnd(t *testing.T) {
	k := testKind()
	s := newStage(t, k, Scenario{
		People: []Person{{Name: "Ada", Host: true, Speech: []string{"hello.wav"}}, {Name: "Bo", Extra: true}},
		Steps:  []Step{{On: "asked", AfterMS: 2000, Action: Action{Do: "admit"}}, {On: "in", AfterMS: 500, Action: Action{Do: "say", Who: "Ada", Text: "hi"}}},
	})
	if fmt.Sprint(s.out) != "[{p1 false }]" { // the extra person has no connection
		t.Errorf("%v", s.out)
	}
	s.must(0, page1())
	s.screen("prejoin")
	s.must(100, acted{1, Act{Do: "join", Name: "  "}})
	s.screen("prejoin") // without a name the button does nothing
	s.must(200, acted{1, Act{Do: "join", Name: " Me "}})
	s.screen("waiting")
	if s.me().media() {
		t.Error("sound flows in the lobby")
	}
	s.must(2199, nil)
	s.screen("waiting")
	s.must(2200, nil)
	s.screen("in")
	if v := s.me(); v.name != "Me" || !v.media() || len(s.p.roster(v)) != 3 {
		t.Errorf("%+v", v)
	}
	s.out = nil
	s.must(2300, seatedAt{"v1", true})
	if fmt.Sprint(s.out) != "[{p1 hello.wav 0 0}]" { // she begins once she can be heard
		t.Errorf("%v", s.out)
	}
	s.must(2700, nil)
	s.must(2750, acted{1, Act{Do: "say", Text: "hello"}})
	chat := s.me().chat
	if len(chat) != 2 || chat[0].Name != "Ada" || chat[0].Own || chat[1].Name != "Me" || !chat[1].Own || chat[0].ID >= chat[1].ID {
		t.Errorf("%+v", chat)
	}
	s.must(3000, voiced{"p1", true})
	if !s.p.view(s.me()).People[0].Speaking {
		t.Error("she speaks and nobody sees it")
	}
	s.must(3100, doing(Action{Do: "mute-person", Who: "Ada"}))
	if s.p.view(s.me()).People[0].Speaking {
		t.Error("she is muted and lights up")
	}
	s.must(4000, acted{1, Act{Do: "leave"}})
	s.screen("left")
	if s.me().media() || len(s.p.state().People) != 2 {
		t.Errorf("%+v", s.p.state())
	}
}

func TestAGateHoldsBackTheSound(t *testing.T) {
	s := newStage(t, testKind(), Scenario{AfterJoin: "in", Gate: "gate"})
	s.must(0, page1())
	s.must(10, acted{1, Act{Do: "join", Name: "Me"}})
	v, _ := s.p.state().Newest()
	if v.Screen != "in" || v.In() || s.me().media() || len(v.Dialogs) != 1 {
		t.Errorf("%+v", v)
	}
	s.must(20, acted{1, Act{Do: "say", Text: "too early"}})
	if len(s.me().chat) != 0 {
		t.Error("a message went through the gate")
	}
	s.must(30, acted{1, Act{Do: "answer", Dialog: v.Dialogs[0].ID, Effect: "accept"}})
	if v, _ := s.p.state().Newest(); !v.In() || !s.me().media() || len(v.Dialogs) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestSoundByHandAndDevicesAreResetAndTheScreenBetween(t *testing.T) {
	k := testKind()
	k.Joining, k.AudioByHand, k.DevicesReset = "joining", true, true
	s := newStage(t, k, Scenario{})
	s.must(0, page1())
	s.must(1, acted{1, Act{Do: "mic", On: false}})
	s.must(2, acted{1, Act{Do: "cam", On: false}})
	s.must(3, acted{1, Act{Do: "join", Name: "Me"}})
	s.must(1000, doing(Action{Do: "admit"}))
	s.screen("joining")
	s.must(2300, nil)
	s.screen("in")
	if v := s.me(); v.media() || !v.mic || !v.cam {
		t.Errorf("%+v", v)
	}
	s.must(2400, acted{1, Act{Do: "audio"}})
	if !s.me().media() {
		t.Error("no sound after the button was pressed")
	}
}

func TestALockedMicrophone(t *testing.T) {
	s := newStage(t, testKind(), Scenario{AfterJoin: "in", Steps: []Step{{On: "unmuted", Action: Action{Do: "toast", Text: "on"}}}})
	s.must(0, page1())
	s.must(1, acted{1, Act{Do: "join", Name: "Me"}})
	s.must(2, doing(Action{Do: "lock"}))
	s.must(3, acted{1, Act{Do: "mic", On: true}})
	if s.me().mic {
		t.Error("a locked microphone went on")
	}
	s.must(4, doing(Action{Do: "ask-unmute"}))
	s.must(5, acted{1, Act{Do: "answer", Dialog: s.me().dialogs[0].ID, Effect: "unmute"}})
	if v := s.me(); !v.mic || v.locked || len(v.toasts) != 1 {
		t.Errorf("%+v", v)
	}
	s.must(4100, nil)
	if len(s.me().toasts) != 0 {
		t.Error("a notice stays")
	}
}

func TestPasscodes(t *testing.T) {
	s := newStage(t, testKind(), Scenario{Passcode: "4711"})
	s.must(0, page1())
	s.must(1, acted{1, Act{Do: "join", Name: "Me", Passcode: "1"}})
	s.screen("prejoin")
	if w := s.p.view(s.me()); !w.Passcode || !w.Wrong {
		t.Errorf("%+v", w)
	}
	s.must(2, acted{1, Act{Do: "join", Name: "Me", Passcode: "4711"}})
	s.screen("waiting")
	s.must(3, opened{2, Address{Passcode: "4711"}})
	if s.p.view(s.me()).Passcode {
		t.Error("the link has the passcode, and one is asked for")
	}
}

func TestActionsThatCannotBe(t *testing.T) {
	s := newStage(t, testKind(), Scenario{People: []Person{{Name: "Bo", Extra: true}}})
	wrong := func(want string, a Action) {
		t.Helper()
		if err := s.at(1, doing(a)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", a.Do, err)
		}
	}
	wrong("nobody has opened the page yet", Action{Do: "admit"})
	s.must(0, page1())
	wrong(`at "prejoin"`, Action{Do: "admit"})
	wrong("in the list only", Action{Do: "speak", Who: "Bo", File: "x"})
	wrong(`nobody is called "Ada"`, Action{Do: "say", Who: "Ada", Text: "x"})
	wrong("is there already", Action{Do: "come", Who: "Bo"})
}

func TestEveryActionCanBeDone(t *testing.T) {
	for name, n := range actions {
		s := newStage(t, testKind(), Scenario{People: []Person{{Name: "Ada"}}})
		s.must(0, page1())
		s.must(1, acted{1, Act{Do: "join", Name: "Me"}})
		a := Action{Do: name, Text: "words", Count: new(3)}
		if n.who {
			a.Who = "Ada"
		}
		if n.sound {
			a.Hz, a.Seconds = 440, 1
		}
		switch name {
		case "come":
			a.Who = "Eve"
		case "screen", "deny", "end":
			a.Kind = "denied"
		case "dialog":
			a.Kind = "tip"
		case "flag":
			a.Kind = "loud"
		case "devices":
			a.Kind = "both"
		case "network":
			a.Kind = "lost"
		case "chat-to":
			a.Kind = "host"
		case "lang":
			a.Kind = "de"
		}
		if err := a.check(testKind(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, err := json.Marshal(s.p.view(s.me()))
		if err != nil {
			t.Fatal(err)
		}
		effects := len(s.out)
		s.must(5, doing(a))
		after, err := json.Marshal(s.p.view(s.me()))
		if err != nil {
			t.Fatal(err)
		}
		// What is seen in the call only, and what changes nothing here, is left out.
		silent := []string{"say", "caption", "hand-person", "share", "rename", "go", "come", "mute-person", "close-dialog"}
		if string(before) == string(after) && len(s.out) == effects && !slices.Contains(silent, name) {
			t.Errorf("%s changed nothing", name)
		}
	}
}

func TestAStepForAPageThatIsGoneIsLeftOut(t *testing.T) {
	s := newStage(t, testKind(), Scenario{Steps: []Step{{On: "asked", AfterMS: 1000, Action: Action{Do: "admit"}}}})
	s.must(0, page1())
	s.must(1, acted{1, Act{Do: "join", Name: "Me"}})
	s.must(2, closed{1})
	s.must(3, opened{2, Address{}})
	s.must(5000, nil)
	s.screen("prejoin")
}

func TestPrivateMessagesAreNotForOthers(t *testing.T) {
	s := newStage(t, testKind(), Scenario{AfterJoin: "in", People: []Person{{Name: "Ada"}}})
	for id := 1; id <= 2; id++ {
		s.must(id*10, opened{id, Address{}})
		s.must(id*10+1, acted{id, Act{Do: "join", Name: fmt.Sprint("Visitor ", id)}})
	}
	s.must(50, acted{1, Act{Do: "to", To: "Ada"}})
	s.must(51, acted{1, Act{Do: "say", Text: "for you alone"}})
	if len(s.p.visitor(1).chat) != 1 || len(s.p.visitor(2).chat) != 0 {
		t.Errorf("%v %v", s.p.visitor(1).chat, s.p.visitor(2).chat)
	}
	if n := len(s.p.roster(s.p.visitor(1))); n != 3 { // two visitors see each other
		t.Errorf("%d people", n)
	}
}

func TestMutationsAreTheirSeeds(t *testing.T) {
	k := testKind()
	different := map[string]bool{}
	langs, drops := map[string]bool{}, map[string]bool{}
	for seed := range uint64(200) {
		a, b := Mutate(k, seed), Mutate(k, seed)
		if a != b {
			t.Fatalf("%v and %v", a, b)
		}
		_, what, _ := strings.Cut(a.String(), ":")
		different[what] = true
		langs[a.Lang], drops[a.Drop] = true, true
	}
	if len(different) < 190 || len(langs) != 3 || len(drops) != 3 {
		t.Errorf("%d mutations, languages %v, without %v", len(different), langs, drops)
	}
}
