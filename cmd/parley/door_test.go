package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/platforms"
	"parley/testkit/need"
	"parley/testkit/standin"
	"parley/testkit/voices"
	"parley/tool"
	"parley/transcript/score"
)

// visit is one attendance at a stand-in, through MCP against a service of its own.
type visit struct {
	*house
	stand *standin.Server
	id    string
}

// newVisit starts a stand-in with a host in it and a service that takes its link for the platform's.
func newVisit(t *testing.T, k standin.Kind, s standin.Scenario) *visit {
	t.Helper()
	if len(s.People) == 0 {
		s.People = []standin.Person{{Name: "Ada Lovelace", Host: true}}
	}
	server, err := standin.New(k, standin.Options{Scenario: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return &visit{house: newHouse(t, "PARLEY_PLATFORM_ORIGINS="+server.Setting()), stand: server}
}

func (v *visit) do(a standin.Action) {
	v.t.Helper()
	if err := v.stand.Do(v.ctx, a); err != nil {
		v.t.Fatal(err)
	}
}

// await waits for the truth.
func (v *visit) await(within time.Duration, what string, ok func(standin.Visitor) bool) standin.Visitor {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, within)
	defer cancel()
	st, err := v.stand.Await(ctx, func(s standin.State) bool {
		n, there := s.Newest()
		return there && ok(n)
	})
	if err != nil {
		v.t.Fatalf("%s: not within %s", what, within)
	}
	n, _ := st.Newest()
	return n
}

// enter asks to join as a guest, is let in, and waits until everything runs.
func (v *visit) enter(more map[string]any) {
	v.t.Helper()
	args := map[string]any{"url": v.stand.Link(), "lang": "en", "wait": false}
	maps.Copy(args, more)
	var st tool.Status
	v.call("meeting_join", args, &st)
	v.id = st.Meeting
	v.await(time.Minute, "it asks to be let in", func(n standin.Visitor) bool { return n.Tries > 0 })
	v.eventually(30*time.Second, "it waits", func() bool { return v.status(v.id).State == tool.Waiting })
	v.do(standin.Action{Do: "admit"})
	if err := v.c.until(v.ctx, v.id, time.Minute, "it attends", func(ev tool.Event) bool { return ev.State == tool.Attending }); err != nil {
		v.t.Fatal(err)
	}
}

// TestEveryDoorFromEndToEnd is the way of a guest through the stand-ins, as an agent goes it: let in, announced before the
// first sample, hearing a played recording, writing and reading the chat, and obeying an objection in Slovak.
func TestEveryDoorFromEndToEnd(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(standinKinds)) {
		t.Run(name, func(t *testing.T) { throughTheDoor(t, standinKinds[name]()) })
	}
}

func throughTheDoor(t *testing.T, k standin.Kind) {
	need.Program(t, "ffmpeg")
	v := newVisit(t, k, standin.Scenario{})
	v.enter(map[string]any{"live_transcript": true})

	// The announcement stood in the chat before the first sample was recorded: two clocks, the page's and the recorder's.
	n := v.await(20*time.Second, "the announcement arrives", func(n standin.Visitor) bool { return len(n.Said) > 0 })
	announced := time.UnixMilli(n.Said[0].At)
	if n.Said[0].To != "" && n.Said[0].To != "everyone" {
		t.Errorf("the announcement went to %q", n.Said[0].To)
	}
	v.eventually(20*time.Second, "it records", func() bool { return v.status(v.id).RecordingSeconds > 0 })
	began := v.ledger("recording-started").At
	if !announced.Before(began) {
		t.Errorf("announced at %s, recorded since %s", announced, began)
	}
	if to := v.ledger("announced").SentTo; to != "everyone" {
		t.Errorf("the ledger says that it was announced to %q", to)
	}

	// A recording is played to it, and its words stand in the transcript, under the name of who spoke.
	v.hears(t)

	// The chat, both ways.
	v.do(standin.Action{Do: "say", Who: "Ada Lovelace", Text: "Is somebody there?"})
	v.eventually(20*time.Second, "it reads the chat", func() bool {
		var read tool.Chat
		v.call("meeting_chat_read", map[string]any{"meeting_id": v.id}, &read)
		return slices.ContainsFunc(read.Messages, func(m tool.ChatMessage) bool {
			return m.Sender == "Ada Lovelace" && m.Text == "Is somebody there?"
		})
	})
	v.call("meeting_chat_send", map[string]any{"meeting_id": v.id, "text": "I am here, and I listen."}, nil)
	v.await(20*time.Second, "what it writes arrives", func(n standin.Visitor) bool {
		return slices.ContainsFunc(n.Said, func(r standin.Row) bool { return r.Text == "I am here, and I listen." })
	})

	// Somebody objects, in Slovak: everything is gone, it says so and leaves.
	file := filepath.Join(v.data, "recordings", "me", v.id+".ogg")
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("there is nothing that could be deleted: %v", err)
	}
	v.do(standin.Action{Do: "say", Who: "Ada Lovelace", Text: "Prosím, nenahrávajte ma"})
	v.eventually(30*time.Second, "it has left", func() bool { return v.status(v.id).State == tool.Ended })
	st := v.status(v.id)
	if st.Reason != "objection" || st.RecordingState != "deleted" {
		t.Errorf("it ended with %q, the recording is %q", st.Reason, st.RecordingState)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), v.id+"*"))
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".deleted") {
		t.Errorf("left of the recording: %v %v", left, err)
	}
	n = v.await(10*time.Second, "the visitor is out", func(n standin.Visitor) bool { return !n.In() })
	if last := n.Said[len(n.Said)-1].Text; len(n.Said) < 3 || !strings.Contains(strings.ToLower(last), "delet") && !strings.Contains(strings.ToLower(last), "vymaz") && !strings.Contains(strings.ToLower(last), "zmaz") {
		t.Errorf("it did not confirm: %d messages", len(n.Said))
	}
	if e := v.ledger("objection"); e.Lang != "sk" || len(e.People) != 1 || e.People[0].Name != "Ada Lovelace" {
		t.Errorf("the ledger's objection: %+v", e)
	}
	if e := v.ledger("deleted"); e.At.Sub(v.ledger("objection").At) > 10*time.Second {
		t.Errorf("the objection came at %s, the receipt at %s", v.ledger("objection").At, e.At)
	}
}

// hears plays a recording to it until the words stand in the transcript.
func (v *visit) hears(t *testing.T) {
	t.Helper()
	prompts, err := voices.Prompts()
	if err == nil {
		prompts, err = voices.Pick(prompts, "demo-abouttotry")
	}
	if err != nil {
		t.Fatal(err)
	}
	words := score.Normalize(prompts[0].Text, "en")
	v.do(standin.Action{Do: "speak", Who: "Ada Lovelace", File: prompts[0].Path})
	best, who := 1.0, ""
	v.eventually(time.Minute, fmt.Sprintf("%d words stand in the transcript", len(words)), func() bool {
		lines, err := (&demo{}).transcript(v.ctx, &v.c.agent, v.id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, score.Normalize(l.Text, "en")...)
			if l.Speaker != nil {
				who = l.Speaker.Name
			}
		}
		best = min(best, score.WER(words, got).Rate())
		return best <= 0.2
	})
	t.Logf("%s: %.0f%% of %d words wrong, said by %s", platforms.Title(v.status(v.id).Platform), 100*best, len(words), who)
	if who != "Ada Lovelace" {
		t.Errorf("the words were said by %q", who)
	}
}

// ledger waits for the first entry of a kind: it is told after what it tells of.
func (v *visit) ledger(what string) (found tool.LedgerEntry) {
	v.t.Helper()
	v.eventually(20*time.Second, "the ledger's "+what, func() bool {
		var l tool.Ledger
		v.call("meeting_consent", map[string]any{"meeting_id": v.id}, &l)
		i := slices.IndexFunc(l.Entries, func(e tool.LedgerEntry) bool { return e.What == what })
		if i >= 0 {
			found = l.Entries[i]
		}
		return i >= 0
	})
	return found
}

// TestALookAtARealLobby runs doctor --live as one would before a meeting: everything up to the button, and no further.
func TestALookAtARealLobby(t *testing.T) {
	for _, c := range []struct {
		name, platform string
		scenario       standin.Scenario
		code           int
		says           []string
	}{
		{"Google Meet's lobby", "meet", standin.Scenario{}, exitOK, []string{"ended          dry-run", "microphone     off", "camera         off", "joins as       guest", "button         Ask to join", "name-field"}},
		{"Zoom's lobby", "zoom", standin.Scenario{}, exitOK, []string{"ended          dry-run", "microphone     off", "joins as       guest", "button         Join"}},
		{"a wall", "meet", standin.Scenario{Start: "refused"}, exitFailed, []string{"ended          refused_by_google", "why            Google turned the guest away"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			need.Browser(t)
			need.Sound(t)
			c.scenario.People = []standin.Person{{Name: "Ada Lovelace", Host: true}}
			server, err := standin.New(standinKinds[c.platform](), standin.Options{Scenario: c.scenario, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Close() })
			t.Setenv("PARLEY_CONFIG", "/dev/null")
			t.Setenv("PARLEY_PLATFORM_ORIGINS", server.Setting())
			var out, errs bytes.Buffer
			said, restore := errorsOfServices(t)
			code := dispatch(t.Context(), &environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}, []string{"doctor", "--live", server.Link()})
			restore()
			t.Logf("%s%s", errs.String(), out.String())
			if raw, err := os.ReadFile(said); err != nil || bytes.Contains(raw, []byte("level=ERROR")) {
				t.Errorf("the service did not end well: %s%v", raw, err)
			}
			if code != c.code {
				t.Errorf("it ended with %d, want %d", code, c.code)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if v, ok := server.State().Newest(); ok && v.Tries > 0 {
				t.Error("somebody was asked to let us in")
			}
			_, kept, _ := strings.Cut(out.String(), "evidence ")
			kept, _, _ = strings.Cut(strings.TrimSpace(kept), "\n")
			pictures, err := filepath.Glob(filepath.Join(kept, "evidence", "*.png"))
			if kept == "" || err != nil || len(pictures) == 0 {
				t.Errorf("no picture in %q", kept)
			}
			if err := os.RemoveAll(kept); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "parley-live-"+strconv.Itoa(os.Getpid())+"-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// errorsOfServices has what services of this process write as errors go to a file, until restore is called.
func errorsOfServices(t *testing.T) (file string, restore func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "errors"))
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = f
	restore = sync.OnceFunc(func() { os.Stderr = was; _ = f.Close() })
	t.Cleanup(restore)
	return f.Name(), restore
}

// TestAMeetingTakesAProfile is a join with a profile that somebody signed in: it is the account's, nobody else may open the
// profile meanwhile, and it is free again afterwards.
func TestAMeetingTakesAProfile(t *testing.T) {
	v := newVisit(t, standinKinds["zoom"](), standin.Scenario{Account: "Grace Hopper"})
	join := map[string]any{"url": v.stand.Link(), "lang": "en", "wait": false, "live_transcript": false, "profile": "work"}
	err := v.c.call(v.ctx, "meeting_join", join, nil)
	if err == nil || !strings.Contains(err.Error(), "profile_unknown") || !strings.Contains(err.Error(), "session_open") {
		t.Fatalf("a profile that nobody has made: %v", err)
	}
	var opened struct {
		Session string `json:"session"`
	}
	v.call("session_open", map[string]any{"profile": "work"}, &opened)
	if err := v.c.call(v.ctx, "meeting_join", join, nil); err == nil || !strings.Contains(err.Error(), "profile_in_use") || !strings.Contains(err.Error(), opened.Session) {
		t.Errorf("a profile that a session has: %v", err)
	}
	v.call("session_close", map[string]any{"session": opened.Session}, nil)

	v.enter(map[string]any{"live_transcript": false, "profile": "work"})
	if st := v.status(v.id); st.JoinedAs != "account" || st.Lobby == nil || st.Lobby.SignedIn == nil || !*st.Lobby.SignedIn {
		t.Errorf("joined as %q, lobby %+v", st.JoinedAs, st.Lobby)
	}
	if err := v.c.call(v.ctx, "session_open", map[string]any{"profile": "work"}, nil); err == nil || !strings.Contains(err.Error(), "meeting "+v.id) {
		t.Errorf("a profile that a meeting has: %v", err)
	}
	var again tool.Status
	v.call("meeting_join", join, &again)
	if again.Meeting != v.id || !again.Existing {
		t.Errorf("the same join again: %s, existing %t", again.Meeting, again.Existing)
	}
	v.call("meeting_leave", map[string]any{"meeting_id": v.id}, nil)
	v.eventually(30*time.Second, "the profile is free again", func() bool {
		return v.c.call(v.ctx, "session_open", map[string]any{"profile": "work"}, &opened) == nil
	})
	v.call("session_close", map[string]any{"session": opened.Session}, nil)
}

func TestMeetingsCanBeSwitchedOff(t *testing.T) {
	need.Sound(t) // a process of its own
	for setting, want := range map[string]bool{"1": true, "0": false} {
		c, err := startClient(t.Context(), filepath.Join(t.TempDir(), "data"), t.TempDir(), 1, "PARLEY_FEATURES_MEETINGS="+setting)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.close)
		tools, err := c.agent.client.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for _, tl := range tools.Tools {
			has = has || strings.HasPrefix(tl.Name, "meeting_")
		}
		if has != want || len(tools.Tools) == 0 {
			t.Errorf("PARLEY_FEATURES_MEETINGS=%s: meeting tools %t among %d", setting, has, len(tools.Tools))
		}
		if err := c.call(t.Context(), "meeting_join", map[string]any{"url": "hello"}, nil); !want && (err == nil || strings.Contains(err.Error(), "bad_link")) {
			t.Error("a meeting was joined")
		}
	}
}

func TestAProfileThatIsSignedOutJoinsAsAGuestAndIsSaid(t *testing.T) {
	v := newVisit(t, standinKinds["zoom"](), standin.Scenario{})
	v.call("session_open", map[string]any{"profile": "work"}, nil)
	v.call("session_close", map[string]any{}, nil)
	v.enter(map[string]any{"live_transcript": false, "profile": "work"})
	st := v.status(v.id)
	if st.JoinedAs != "guest" || !strings.Contains(strings.Join(st.Warnings, " "), "request_human") {
		t.Errorf("joined as %q, warnings %q", st.JoinedAs, st.Warnings)
	}
	v.call("meeting_leave", map[string]any{"meeting_id": v.id}, nil)
}
