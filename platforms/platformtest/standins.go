package platformtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/testkit/standin"
)

// Outcome is what a module made of one scenario on a stand-in.
type Outcome struct {
	Scenario string
	Mutation standin.Mutation
	// Wrong is everything that was not as the scenario expects; empty when the module survived.
	Wrong []string
	// False are the moments at which the module said that it is in the meeting and was not. One is one too many.
	False []string
	// In are the signs by which it said that it is in, the first time.
	In []string
	// Places are those that it said it is at, in order, with the reason of an end.
	Places []string
	// Truth is where the visit really ended, and what was done on the page.
	Truth string
	Took  time.Duration
}

// Survived says whether everything was as expected.
func (o Outcome) Survived() bool { return len(o.Wrong) == 0 && len(o.False) == 0 }

// LinkOf is a stand-in's link as the platform's parser makes it.
func LinkOf(t testing.TB, s *standin.Server) platforms.Link {
	t.Helper()
	standins, err := platforms.ParseStandins(s.Setting())
	if err != nil {
		t.Fatal(err)
	}
	link, err := platforms.Origins{Standins: standins}.Parse(s.Link())
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// attempt is one module on one stand-in.
type attempt struct {
	ctx    context.Context
	server *standin.Server
	call   meeting.Call
	joined chan error

	mu      sync.Mutex
	out     Outcome
	place   meeting.Place
	reason  string
	dialogs []string
	faults  []string
	devices []string
	chats   []string
	people  int
	news    chan struct{}
	done    chan struct{}
	answers sync.WaitGroup // dialogs that are being answered
	steps   sync.WaitGroup // of the scenario, that wait for the module
}

// tellTime is how long a step waits for a module that has not told where it is.
const tellTime = 20 * time.Second

// pacedSteps takes out of a scenario's steps those that take away what the module has to tell first: a wait that ends, a
// call that ends. On a busy machine they would come before there was time to see it. Such a step goes on by itself, once
// the module has told its place or was given long enough.
func pacedSteps(all []standin.Step, through []string) (paced, left []standin.Step) {
	for _, s := range all {
		ends := slices.Contains([]string{"admit", "deny"}, s.Do) && s.On == "asked" && slices.Contains(through, "waiting") ||
			slices.Contains([]string{"remove", "end"}, s.Do) && s.On == "in" && slices.Contains(through, "in")
		if ends && s.Match == "" {
			paced = append(paced, s)
		} else {
			left = append(left, s)
		}
	}
	return paced, left
}

// pace does a step when its time has come and the module has told where it is.
func (a *attempt) pace(s standin.Step) {
	place, began := meeting.PlaceWaiting, func(v standin.Visitor) bool { return v.Tries > 0 && v.Screen != "prejoin" }
	if s.On == "in" {
		place, began = meeting.PlaceIn, func(v standin.Visitor) bool { return v.Screen == "in" }
	}
	if _, err := a.server.Await(a.ctx, func(st standin.State) bool { v, there := st.Newest(); return there && began(v) }); err != nil {
		return // it never came so far: the attempt says what did
	}
	select {
	case <-time.After(time.Duration(s.AfterMS) * time.Millisecond):
	case <-a.ctx.Done():
		return
	}
	a.until(tellTime, func() bool { return through(a.out.Places, []string{string(place)}) })
	if err := a.server.Do(a.ctx, s.Action); err != nil && a.ctx.Err() == nil {
		a.change(func() { a.out.Places = append(a.out.Places, "step: "+clipped(err.Error())) })
	}
}

// attemptOn starts a stand-in, opens the module on it and has it join.
func attemptOn(t *testing.T, p platforms.Platform, k standin.Kind, s standin.Scenario, m standin.Mutation) *attempt {
	t.Helper()
	through := fair(t, k, s, m).Through
	paced, left := pacedSteps(s.Steps, through)
	s.Steps = left
	server, err := standin.New(k, standin.Options{Scenario: s, Mutation: m, Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	link := LinkOf(t, server)
	page := OpenPage(t, p, link)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	call, err := p.Open(ctx, page, link, platforms.Options{Log: Quiet})
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{
		ctx: ctx, server: server, call: call, joined: make(chan error, 1), news: make(chan struct{}), done: make(chan struct{}),
		out: Outcome{Scenario: s.Name, Mutation: m}, place: meeting.PlaceUnknown,
	}
	go a.watch(s.Expect.Answer)
	for _, step := range paced {
		a.steps.Go(func() { a.pace(step) })
	}
	go func() {
		short, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		err := call.Join(short, meeting.JoinRequest{Name: ourName})
		a.took(err)
		a.joined <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-a.joined
		a.steps.Wait()
		if err := call.Close(); err != nil {
			t.Error(err)
		}
		<-a.done
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// took notes how joining ended: an end that is an error counts as being out.
func (a *attempt) took(err error) {
	var end *meeting.EndError
	if !errors.As(err, &end) {
		if err != nil && a.ctx.Err() == nil {
			a.change(func() { a.out.Places = append(a.out.Places, "join: "+clipped(err.Error())) })
		}
		return
	}
	a.change(func() {
		a.place, a.reason = meeting.PlaceOut, string(end.Reason)
		a.out.Places = append(a.out.Places, "out("+a.reason+")")
	})
}

func clipped(s string) string {
	if r := []rune(s); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return s
}

// answer chooses in a dialog, as the agent would.
func (a *attempt) answer(id, choice string) {
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	answerer, ok := a.call.(meeting.DialogAnswerer)
	if !ok {
		a.wrong("the module answers no dialogs")
		return
	}
	if err := answerer.AnswerDialog(ctx, id, choice); err != nil && a.ctx.Err() == nil {
		a.wrong("the dialog was not answered: %v", err)
	}
}

func (a *attempt) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.news)
	a.news = make(chan struct{})
}

// gateGrace is how long a gate may stand before being in is a lie: a page may show it late, and it must be looked at.
const gateGrace = 4 * time.Second

// watch takes the module's events and compares each "in" with the truth.
func (a *attempt) watch(answer string) {
	defer close(a.done)
	defer a.answers.Wait()
	for e := range a.call.Events() {
		truth, _ := a.server.State().Newest()
		a.change(func() {
			switch e := e.(type) {
			case meeting.SeenPlace:
				a.note(e, truth)
			case meeting.SeenDialog:
				if e.Open {
					a.dialogs = append(a.dialogs, e.Kind)
				}
				if answer != "" && e.Open && slices.Contains(e.Choices, answer) {
					a.answers.Go(func() { a.answer(e.ID, answer) })
				}
			case meeting.SeenFault:
				if !e.Mended {
					a.faults = append(a.faults, e.Kind)
				}
			case meeting.SeenDevice:
				a.devices = append(a.devices, string(e.Microphone))
			case meeting.SeenChat:
				a.chats = append(a.chats, e.Text)
			case meeting.SeenPeople:
				a.people = e.Count
			}
		})
	}
}

func (a *attempt) note(e meeting.SeenPlace, truth standin.Visitor) {
	a.place, a.reason = e.Place, e.Reason
	said := string(e.Place)
	if e.Place == meeting.PlaceOut {
		said += "(" + e.Reason + ")"
	}
	if n := len(a.out.Places); n == 0 || a.out.Places[n-1] != said {
		a.out.Places = append(a.out.Places, said)
	}
	if e.Place != meeting.PlaceIn {
		// A call that goes on is no door, whatever is said in it. What the page shows may have changed a moment ago.
		if (e.Place == meeting.PlaceWaiting || e.Place == meeting.PlaceLobby) && a.out.In != nil && truth.Screen == "in" && time.Since(truth.Since) > 5*time.Second {
			a.out.Wrong = append(a.out.Wrong, fmt.Sprintf("said %q by %v in the call", e.Place, e.Signs))
		}
		return
	}
	if a.out.In == nil {
		a.out.In = slices.Clone(e.Signs)
	}
	late := time.Duration(a.out.Mutation.DialogMS)*time.Millisecond + gateGrace
	switch {
	case truth.Screen != "in":
		// What the page shows may have changed a moment ago: the module saw what was there before.
		if time.Since(truth.Since) > 3*time.Second || !slices.ContainsFunc(truth.Stays, func(s standin.Stay) bool { return s.Screen == "in" }) {
			a.out.False = append(a.out.False, fmt.Sprintf("said \"in\" by %v at the screen %q", e.Signs, truth.Screen))
		}
	case truth.Gate != "" && time.Since(truth.GateSince) > late:
		a.out.False = append(a.out.False, fmt.Sprintf("said \"in\" by %v before the gate %q", e.Signs, truth.Gate))
	}
}

// close notes how it really was, and how long it took. Where PARLEY_TEST_EVIDENCE names a folder, a picture of what went
// wrong is kept there.
func (a *attempt) close(began time.Time) Outcome {
	truth, _ := a.server.State().Newest()
	a.mu.Lock()
	defer a.mu.Unlock()
	var acts []string
	for _, act := range truth.Acts {
		if act.Do == "note" {
			acts = append(acts, act.Text)
			continue
		}
		acts = append(acts, act.Do)
	}
	a.out.Truth = fmt.Sprintf("%s after %v", truth.Screen, slices.Compact(acts))
	a.out.Took = time.Since(began)
	if dir := os.Getenv("PARLEY_TEST_EVIDENCE"); dir != "" && !a.out.Survived() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if png, err := a.call.Picture(ctx); err == nil {
			name := fmt.Sprintf("%s-%d.png", strings.ReplaceAll(a.out.Scenario, " ", "-"), a.out.Mutation.Seed)
			_ = os.WriteFile(filepath.Join(dir, name), png, 0o600) // evidence is a help, not a result
		}
	}
	return a.out
}

// until waits for what the module says; it tells whether that came.
func (a *attempt) until(limit time.Duration, ok func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		a.mu.Lock()
		is, news := ok(), a.news
		a.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-news:
		case <-timer.C:
			return false
		case <-a.ctx.Done():
			return false
		}
	}
}

func (a *attempt) wrong(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.Wrong = append(a.out.Wrong, fmt.Sprintf(format, args...))
}

// screenWords is where a scenario's door or end says what it is: the key of the page's words.
func screenWords(s standin.Scenario) string {
	kind := s.AfterJoin
	if kind == "" || kind == "in" {
		kind = s.Start
	}
	for _, st := range s.Steps {
		switch {
		case st.Do == "deny" || st.Do == "end" || st.Do == "screen":
			kind = st.Kind
			if kind == "" {
				kind = map[string]string{"deny": "denied", "end": "ended"}[st.Do]
			}
		case st.Do == "remove":
			kind = "removed"
		}
	}
	return strings.ReplaceAll(kind, "-", "_")
}

// fair takes back what nobody can know: on a page whose language no public source shows, a lobby without known words is
// not told by name, nor is the kind of an end. That none of it is the meeting stays.
func fair(t *testing.T, k standin.Kind, s standin.Scenario, m standin.Mutation) standin.Expect {
	t.Helper()
	x := s.Expect
	lang := m.Lang
	if lang == "" {
		lang = s.Lang
	}
	if lang == "" || lang == "en" {
		return x
	}
	words, err := k.Words()
	if err != nil {
		t.Fatal(err)
	}
	seen := words[lang].Seen
	if seen["waiting"] == nil {
		x.Through = slices.DeleteFunc(slices.Clone(x.Through), func(p string) bool { return p == "waiting" })
		if x.Place == "waiting" {
			x.Place = "waiting|unknown|lobby"
		}
	}
	if slices.Contains(x.Places(), "out") && seen[screenWords(s)] == nil {
		// Nothing is waited for, so it is watched for a while instead.
		x.Place, x.Reasons, x.HoldMS = "out|unknown|waiting|lobby", nil, max(x.HoldMS, 12000)
	}
	return x
}

// through says whether places were seen in this order; the module need not report the first ones when it starts late.
func through(seen, want []string) bool {
	for _, s := range seen {
		place, _, _ := strings.Cut(s, "(")
		if len(want) > 0 && place == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// nothingTime is how long a module must say nothing until that is an answer.
const nothingTime = 12 * time.Second

// Play has a module join a scenario and compares what it says with what the scenario expects.
func Play(t *testing.T, p platforms.Platform, k standin.Kind, s standin.Scenario, m standin.Mutation) Outcome {
	t.Helper()
	began := time.Now()
	a := attemptOn(t, p, k, s, m)
	x := fair(t, k, s, m)
	within := time.Duration(x.WithinMS) * time.Millisecond
	if within == 0 {
		within = 75 * time.Second
	}
	places := x.Places()
	if slices.Contains(places, string(meeting.PlaceUnknown)) && x.WithinMS == 0 && len(s.Steps) == 0 { // nothing happens that could still be told
		within = nothingTime + 3*time.Second
	}
	there := func() bool {
		// A module that has said nothing yet has not said that it does not know.
		said := len(a.out.Places) > 0 || time.Since(began) > nothingTime
		return said && slices.Contains(places, string(a.place)) && through(a.out.Places, x.Through)
	}
	arrived := a.until(within, func() bool {
		// One false "in" is one too many: nothing that comes later makes it good.
		return len(a.out.False) > 0 || there() && (x.Dialog == "" || slices.Contains(a.dialogs, x.Dialog)) && (x.Device == "" || slices.Contains(a.devices, x.Device)) && (x.Fault == "" || slices.Contains(a.faults, x.Fault)) &&
			(x.People == 0 || a.people == x.People) && (x.Chat == "" || slices.Contains(a.chats, x.Chat))
	})
	if arrived && x.HoldMS > 0 {
		select {
		case <-time.After(time.Duration(x.HoldMS) * time.Millisecond):
		case <-a.ctx.Done():
		}
	}
	a.judge(x, there)
	for _, d := range []struct {
		what string
		want *bool
		is   func(standin.Visitor) bool
	}{
		{"microphone", x.Microphone, func(v standin.Visitor) bool { return v.Microphone }},
		{"camera", x.Camera, func(v standin.Visitor) bool { return v.Camera }},
	} {
		if d.want != nil && !a.truly(func(v standin.Visitor) bool { return *d.want == d.is(v) }) {
			a.wrong("the %s is on: %v, in truth", d.what, !*d.want)
		}
	}
	for _, must := range x.Acts {
		if !a.truly(func(v standin.Visitor) bool {
			return slices.ContainsFunc(v.Acts, func(act standin.Act) bool { return act.Do == must })
		}) {
			a.wrong("%q was not done on the page", must)
		}
	}
	truth, _ := a.server.State().Newest()
	if x.Button != "" && !slices.ContainsFunc(truth.Acts, func(act standin.Act) bool { return act.Do == "join" && act.Button == x.Button }) {
		a.wrong("the button %q was not pressed", x.Button)
	}
	return a.close(began)
}

// truly waits a while for what must be true in the end.
func (a *attempt) truly(ok func(standin.Visitor) bool) bool {
	ctx, cancel := context.WithTimeout(a.ctx, tellTime)
	defer cancel()
	_, err := a.server.Await(ctx, func(st standin.State) bool { v, there := st.Newest(); return there && ok(v) })
	return err == nil
}

// judge compares what the module said with what is expected; there is asked with the lock held.
func (a *attempt) judge(x standin.Expect, there func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	bad := func(format string, args ...any) { a.out.Wrong = append(a.out.Wrong, fmt.Sprintf(format, args...)) }
	for _, kind := range a.dialogs {
		if slices.Contains(x.NeverDialogs, kind) {
			bad("a dialog was reported as %q", kind)
		}
	}
	if x.Place != "" && !there() {
		bad("expected %s by way of %v", x.Place, x.Through)
	}
	if a.place == meeting.PlaceOut && len(x.Reasons) > 0 && slices.Contains(x.Places(), "out") && !slices.Contains(x.Reasons, a.reason) {
		bad("out for %q; right would be %v", a.reason, x.Reasons)
	}
	for _, n := range x.Never {
		if through(a.out.Places, []string{n}) {
			bad("said %q, which it never was", n)
		}
	}
	if x.Dialog != "" && !slices.Contains(a.dialogs, x.Dialog) {
		bad("no dialog of kind %q was told, only %v", x.Dialog, a.dialogs)
	}
	if x.Fault != "" && !slices.Contains(a.faults, x.Fault) {
		bad("no fault %q was told, only %v", x.Fault, a.faults)
	}
	if x.Device != "" && !slices.Contains(a.devices, x.Device) {
		bad("the microphone was never %q, only %v", x.Device, slices.Compact(slices.Clone(a.devices)))
	}
	if x.People > 0 && a.people != x.People {
		bad("%d people, told %d", x.People, a.people)
	}
	if x.Chat != "" && !slices.Contains(a.chats, x.Chat) {
		bad("a message was not told")
	}
}

// Round is a whole visit on a mutated page: the lobby is not taken for the meeting, the meeting is entered, both write, the
// microphone goes on and off, and leaving is confirmed.
func Round(t *testing.T, p platforms.Platform, k standin.Kind, m standin.Mutation) Outcome {
	t.Helper()
	began := time.Now()
	s := standin.Scenario{
		Name: "a whole visit", Expect: standin.Expect{Through: []string{"waiting", "in"}},
		People: []standin.Person{{Name: "Ada Lovelace", Host: true}, {Name: "Grace Hopper"}},
		Steps:  []standin.Step{{On: "asked", AfterMS: 5000, Action: standin.Action{Do: "admit"}}},
	}
	a := attemptOn(t, p, k, s, m)
	in := false
	if a.until(60*time.Second, func() bool { in = a.place == meeting.PlaceIn; return in || a.place == meeting.PlaceOut }); !in {
		a.wrong("was never in")
	} else {
		a.visit(fair(t, k, standin.Scenario{Expect: standin.Expect{Through: []string{"waiting", "in"}}}, m))
	}
	truth, _ := a.server.State().Newest()
	if truth.Name != ourName {
		a.wrong("the name that was given is not the one that arrived")
	}
	return a.close(began)
}

// visit is what is done in the call.
func (a *attempt) visit(x standin.Expect) {
	ctx, cancel := context.WithTimeout(a.ctx, 90*time.Second)
	defer cancel()
	a.mu.Lock()
	waited := through(a.out.Places, x.Through)
	a.mu.Unlock()
	if !waited {
		a.wrong("waiting was not told")
	}
	is := func(what string, ok func(standin.Visitor) bool) {
		short, cancel := context.WithTimeout(ctx, tellTime)
		defer cancel()
		if _, err := a.server.Await(short, func(st standin.State) bool { v, there := st.Newest(); return there && ok(v) }); err != nil {
			a.wrong("%s", what)
		}
	}
	const said = "This meeting is being noted down."
	if _, err := a.call.SendChat(ctx, said, meeting.Everyone); err != nil {
		a.wrong("writing: %s", clipped(err.Error()))
	}
	is("what was written did not arrive", func(v standin.Visitor) bool {
		return len(v.Said) == 1 && v.Said[0].Text == said && v.Said[0].To == "everyone"
	})
	const answer = "Thank you, notetaker."
	if err := a.server.Do(ctx, standin.Action{Do: "say", Who: "Ada Lovelace", Text: answer}); err != nil {
		a.wrong("%v", err)
	}
	if !a.until(tellTime, func() bool { return slices.Contains(a.chats, answer) }) {
		a.wrong("her message was not told")
	}
	for _, on := range []bool{true, false} {
		if d, err := a.call.SetMicrophone(ctx, on); err != nil {
			a.wrong("microphone on %v: %s: %s", on, d, clipped(err.Error()))
		}
		is(fmt.Sprintf("the microphone is not on %v, in truth", on), func(v standin.Visitor) bool { return v.Microphone == on })
	}
	if err := a.call.Leave(ctx); err != nil {
		a.wrong("leaving: %s", clipped(err.Error()))
	}
	is("the visitor has not left, in truth", func(v standin.Visitor) bool { return v.Screen != "in" })
}

// Scenarios plays every scenario that comes with a kind, or those named, each as a test of its own.
func Scenarios(t *testing.T, p platforms.Platform, k standin.Kind, names ...string) {
	Browser(t)
	if len(names) == 0 {
		var err error
		if names, err = standin.Names(k); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s, err := standin.Load(k, name)
			if err != nil {
				t.Fatal(err)
			}
			o := Play(t, p, k, s, standin.Mutation{})
			o.report(t)
		})
	}
}

func (o Outcome) report(t *testing.T) {
	t.Helper()
	t.Logf("%s in %v: %s; in truth %s", o.Scenario, o.Took.Round(100*time.Millisecond), strings.Join(o.Places, " → "), o.Truth)
	for _, f := range o.False {
		t.Errorf("FALSE ADMITTED: %s", f)
	}
	for _, w := range o.Wrong {
		t.Errorf("%s", w)
	}
}

// traps are scenarios that a mutated page must not turn into being in, besides the whole visit. Those that a kind does
// not have are left out.
var traps = []string{
	"lobby-looks-like-a-call", "denied-by-a-person", "refused-by-google", "bot-wall", "no-answer", "sign-in-wall", "sign-in-text", "wrong-code", "removed",
	"ended-for-all", "gate-notes", "the-chat-speaks-of-ends", "unknown-lobby-text", "captions-speak-of-ends",
	"names-speak-of-ends", "notices-speak-of-doors", "put-back-to-waiting",
}

// FreshMutations is Mutations over fifty seeds that nobody knew before, of which nine in ten must survive.
// PARLEY_TEST_SEED repeats a run from its first seed, PARLEY_TEST_SEEDS says how many.
func FreshMutations(t *testing.T, p platforms.Platform, k standin.Kind) []Outcome {
	first, n := rand.Uint64N(1<<32), 50
	for name, set := range map[string]func(uint64){"PARLEY_TEST_SEED": func(v uint64) { first = v }, "PARLEY_TEST_SEEDS": func(v uint64) { n = int(v) }} {
		if raw := os.Getenv(name); raw != "" {
			v, err := strconv.ParseUint(raw, 10, 32)
			if err != nil {
				t.Fatalf("%s is a number: %v", name, err)
			}
			set(v)
		}
	}
	t.Logf("PARLEY_TEST_SEED=%d", first)
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, first+uint64(i))
	}
	return Mutations(t, p, k, seeds, n*9/10)
}

// Mutations runs a module over mutated pages: for each seed a whole visit and one trap. It tells who survived and which
// signs carried each, fails at any false "in", and when fewer than want survive.
func Mutations(t *testing.T, p platforms.Platform, k standin.Kind, seeds []uint64, want int) []Outcome {
	Browser(t)
	all, err := standin.Names(k)
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for _, name := range traps {
		if slices.Contains(all, name) {
			has = append(has, name)
		}
	}
	var outcomes []Outcome
	survived := 0
	for _, seed := range seeds {
		m := standin.Mutate(k, seed)
		var both []Outcome
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			o := Round(t, p, k, m)
			t.Log(o)
			both = append(both, o)
		})
		t.Run(fmt.Sprintf("seed-%d-trap", seed), func(t *testing.T) {
			s, err := standin.Load(k, has[seed%uint64(len(has))])
			if err != nil {
				t.Fatal(err)
			}
			o := Play(t, p, k, s, m)
			t.Log(o)
			both = append(both, o)
		})
		ok := len(both) == 2
		for _, o := range both {
			ok = ok && o.Survived()
			for _, f := range o.False {
				t.Errorf("FALSE ADMITTED: %s: %s: %s", m, o.Scenario, f)
			}
		}
		if ok {
			survived++
		}
		outcomes = append(outcomes, both...)
	}
	t.Log("\n" + Survivals(outcomes))
	t.Logf("%d of %d seeds survived", survived, len(seeds))
	if survived < want {
		t.Errorf("%d of %d seeds survived, %d are wanted", survived, len(seeds), want)
	}
	return outcomes
}

// String is one line of a report.
func (o Outcome) String() string {
	verdict := "survived"
	if !o.Survived() {
		verdict = "FAILED: " + strings.Join(append(slices.Clone(o.False), o.Wrong...), "; ")
	}
	return fmt.Sprintf("%s | %s | %s | in by %s | in truth %s | %s", o.Mutation, o.Scenario, strings.Join(o.Places, " → "), strings.Join(o.In, ", "), o.Truth, verdict)
}

// Survivals is what came of mutations, a line each, and how often each sign carried an "in".
func Survivals(all []Outcome) string {
	var b strings.Builder
	carried := map[string]int{}
	for _, o := range all {
		b.WriteString(o.String() + "\n")
		for _, s := range o.In {
			carried[s]++
		}
	}
	var signs []string
	for s := range carried {
		signs = append(signs, s)
	}
	slices.SortFunc(signs, func(x, y string) int {
		if d := carried[y] - carried[x]; d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	for _, s := range signs {
		fmt.Fprintf(&b, "%4d times in by %s\n", carried[s], s)
	}
	return b.String()
}
