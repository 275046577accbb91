package pulse

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jfreymuth/pulse/proto"

	"parley/testkit/need"
)

// client starts a foreign program on the server, which ends with the test.
func client(t testing.TB, s *Server, name string, args ...string) int {
	t.Helper()
	need.Program(t, name)
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), s.Env()...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// streams waits until so many streams of others are there.
func streams(t testing.TB, s *Server, playing, recording int, pids ...int) Streams {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found, err := s.CheckStreams(t.Context(), pids...)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Playing) == playing && len(found.Recording) == recording {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("streams: %+v", found)
		}
	}
}

func kinds(problems []Problem) string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return strings.Join(out, "; ")
}

func TestStreamsInTheirPlaces(t *testing.T) {
	s := start(t)
	capture(t, s, CaptureOptions{})
	player(t, s, PlayerOptions{})
	if found := streams(t, s, 0, 0); len(found.Problems) > 0 {
		t.Errorf("on a fresh server: %v", kinds(found.Problems))
	}
	// What a browser does: it takes the defaults.
	a := client(t, s, "pacat", "--playback", "--raw", "/dev/zero")
	b := client(t, s, "pacat", "--record", "--raw", "/dev/null")
	found := streams(t, s, 1, 1, a, b)
	if len(found.Problems) > 0 || found.Playing[0].Device != OutSink || found.Recording[0].Device != MicSource || found.Playing[0].PID != a || found.Playing[0].Percent != 100 {
		t.Errorf("%+v", found)
	}
	if found := streams(t, s, 1, 1, a); kinds(found.Problems) == "" || found.Problems[0].Kind != Stranger {
		t.Errorf("a stranger: %v", kinds(found.Problems))
	}
}

func TestStreamsElsewhereAreBroughtBack(t *testing.T) {
	s := start(t)
	client(t, s, "pacat", "--playback", "--raw", "--device="+MicSink, "/dev/zero")
	client(t, s, "pacat", "--record", "--raw", "--device="+outMonitor, "/dev/null")
	seen := ""
	for end := time.Now().Add(10 * time.Second); !strings.Contains(seen, string(WrongSink)) || !strings.Contains(seen, string(WrongSource)); {
		found, err := s.CheckStreams(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen += kinds(found.Problems)
		if time.Now().After(end) {
			t.Fatalf("seen: %s", seen)
		}
	}
	found := streams(t, s, 1, 1)
	if len(found.Problems) > 0 || found.Playing[0].Device != OutSink || found.Recording[0].Device != MicSource {
		t.Errorf("afterwards: %+v", found)
	}
}

func TestAGuardPutsBackWhatAPageTurnsDown(t *testing.T) {
	s := start(t)
	problems := make(chan Problem, 16)
	g, err := s.Guard(t.Context(), nil, func(p Problem) { problems <- p })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	l, err := s.dial(t.Context(), "a page", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.hangUp(l)
	// As a browser's gain control does.
	if err := l.request("turn down", &proto.SetSourceVolume{SourceIndex: proto.Undefined, SourceName: MicSource, ChannelVolumes: proto.ChannelVolumes{61000}}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case p := <-problems:
		if p.Kind != WrongVolume || p.What != MicSource || p.Percent != 93 || !p.Mended {
			t.Errorf("%+v", p)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody noticed")
	}
	if found, err := s.CheckStreams(t.Context()); err != nil || len(found.Problems) > 0 {
		t.Errorf("afterwards: %v %v", kinds(found.Problems), err)
	}
}

func TestTheLoop(t *testing.T) {
	s := start(t)
	loop, err := s.LoopTest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("speak %v, hear %v", loop.Speak, loop.Hear)
}

func TestABrokenLoopIsNoticed(t *testing.T) {
	need.Program(t, "pactl")
	for _, c := range []struct {
		name string
		args []string
		want error
	}{
		{"our microphone is muted", []string{"set-source-mute", MicSource, "1"}, ErrMute},
		{"the speakers are muted", []string{"set-sink-mute", OutSink, "1"}, ErrDeaf},
		{"what we say comes out of the speakers", []string{"load-module", "module-loopback", "source=" + micMonitor, "sink=" + OutSink, "latency_msec=10"}, ErrEcho},
		{"the meeting comes into the microphone", []string{"load-module", "module-loopback", "source=" + outMonitor, "sink=" + MicSink, "latency_msec=10"}, ErrEcho},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t)
			cmd := exec.Command("pactl", c.args...)
			cmd.Env = append(os.Environ(), s.Env()...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := s.LoopTest(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
