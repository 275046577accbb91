//go:build accept

package livekit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/meeting"
	"parley/platforms"
	"parley/platforms/platformtest"
	"parley/testkit/need"
)

// patience is how long the real thing may take for a step.
const patience = time.Minute

// built makes the foreign conference once a machine: the first time it takes minutes, and needs npm and registries. It
// fails the test when it cannot be had.
var built = sync.OnceValues(func() (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, "parley", "testkit-livekit")
	if made := os.Getenv("PARLEY_TEST_LIVEKIT"); made != "" {
		return made, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	out, err := exec.Command("../../testkit/livekit/build", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the foreign conference cannot be built: %w\n%s", err, out)
	}
	return dir, nil
})

// house is LiveKit's server with LiveKit's page, as a child process.
type house struct {
	program string
	origin  string
	stop    func()
	next    int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	need.Program(t, "npm", "ffmpeg")
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{program: filepath.Join(dir, "parley-livekit")}
	c := start(t, h.program, "serve", "--listen", "127.0.0.1:0", "--page", filepath.Join(dir, "page"), "--room", "x")
	h.stop = c.stop
	select {
	case line := <-c.lines:
		link, _, ok := strings.Cut(line, "/rooms/")
		if !ok {
			t.Fatalf("no link: %q", line)
		}
		h.origin = link
	case <-time.After(patience):
		t.Fatal("LiveKit does not start")
	}
	return h
}

func (h *house) link(t *testing.T, room string) platforms.Link {
	t.Helper()
	link, err := (platforms.Origins{LiveKit: platforms.OriginList{h.origin}}).Parse(h.origin + "/rooms/" + room)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// stage is a room of its own.
func (h *house) stage(t *testing.T) *stage {
	h.next++
	return &stage{house: h, link: h.link(t, fmt.Sprint("room-", h.next))}
}

// child is a process of the testkit, which ends with the test.
type child struct {
	in    io.WriteCloser
	lines chan string
	stop  func()
}

func start(t *testing.T, program string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(program, args...)
	var complaint bytes.Buffer // LiveKit's library tells every step of its connection
	cmd.Stderr = &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{in: in, lines: make(chan string, 1024)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	c.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		<-read
		_ = cmd.Wait() // it was told to end
		kill.Stop()
		if text := complaint.String(); t.Failed() {
			t.Logf("%s: …%s", args[0], text[max(0, len(text)-2000):])
		}
	})
	t.Cleanup(c.stop)
	return c
}

// stage is one LiveKit meeting with guests in it.
type stage struct {
	house *house
	link  platforms.Link
}

func (s *stage) Link() platforms.Link { return s.link }

func (s *stage) Host(t *testing.T, name string) platformtest.Participant {
	t.Helper()
	return s.enter(t, name)
}

func (s *stage) Guest(t *testing.T, name string) platformtest.Participant {
	t.Helper()
	p := s.enter(t, name)
	if err := p.order(map[string]any{"on": true}); err != nil {
		t.Fatal(err)
	}
	return p
}

// participant is a guest made with LiveKit's library, and what it has seen.
type participant struct {
	*child
	t     *testing.T
	stage *stage
	name  string

	mu     sync.Mutex
	people map[string]*meeting.Person // by identity
	chat   map[string]int             // identity + text → how often
	played int
	joined bool
	over   bool
	news   chan struct{}
}

func (s *stage) enter(t *testing.T, name string) *participant {
	t.Helper()
	p := &participant{t: t, stage: s, name: name, people: map[string]*meeting.Person{}, chat: map[string]int{}, news: make(chan struct{})}
	p.child = start(t, s.house.program, "guest", s.link.URL, "--name", name, "--orders")
	go p.listen()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.until(ctx, func() bool { return p.joined }); err != nil {
		t.Fatalf("a guest of the test: %v", err)
	}
	return p
}

func (p *participant) listen() {
	for line := range p.lines {
		var e struct {
			Event, ID, Name, Text string
			On                    *bool
			People                []struct {
				ID, Name string
				Self     bool
			}
		}
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		p.mu.Lock()
		switch e.Event {
		case "joined":
			p.joined = true
		case "people":
			for _, q := range e.People {
				if !q.Self {
					p.person(q.ID, q.Name)
				}
			}
		case "came":
			p.person(e.ID, e.Name)
		case "left":
			delete(p.people, e.ID)
		case "heard":
			p.person(e.ID, e.Name).Muted = false
		case "muted":
			p.person(e.ID, e.Name).Muted = *e.On
		case "chat":
			p.chat[e.ID+"\x00"+fold(e.Text)]++ // a message may overtake the news of who came
		case "played":
			p.played++
		}
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.over = true
	close(p.news)
	p.news = make(chan struct{})
	p.mu.Unlock()
}

// person is somebody whom the guest sees; until a track is heard, they are muted. The caller holds the lock.
func (p *participant) person(id, name string) *meeting.Person {
	if p.people[id] == nil {
		p.people[id] = &meeting.Person{ID: id, Name: name, Muted: true}
	}
	return p.people[id]
}

func (p *participant) named(name string) *meeting.Person {
	for _, q := range p.people {
		if q.Name == name {
			return q
		}
	}
	return nil
}

func (p *participant) until(ctx context.Context, ok func() bool) error {
	for {
		p.mu.Lock()
		done, over, news := ok(), p.over, p.news
		p.mu.Unlock()
		if done {
			return nil
		}
		if over {
			return errors.New("the guest has ended")
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *participant) order(o map[string]any) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// ID is what the page makes of the name: it shows no identities.
func (p *participant) ID() string { return "1:" + p.name }

var errNoLobby = errors.New("LiveKit has no lobby")

func (p *participant) Admit(context.Context, string) error   { return errNoLobby }
func (p *participant) Decline(context.Context, string) error { return errNoLobby }

func (p *participant) Remove(ctx context.Context, name string) error {
	var id string
	if err := p.until(ctx, func() bool {
		if q := p.named(name); q != nil {
			id = q.ID
		}
		return id != ""
	}); err != nil {
		return err
	}
	return p.run(ctx, "remove", p.stage.link.URL, id)
}

func (p *participant) EndForAll(ctx context.Context) error {
	return p.run(ctx, "end", p.stage.link.URL)
}

func (p *participant) run(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, p.stage.house.program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (p *participant) Say(_ context.Context, text string) error {
	return p.order(map[string]any{"say": text})
}

func (p *participant) Speak(ctx context.Context, hz float64, d time.Duration) error {
	file := filepath.Join(p.t.TempDir(), "tone.wav")
	if err := tone(ctx, file, hz, d); err != nil {
		return err
	}
	p.mu.Lock()
	before := p.played
	p.mu.Unlock()
	if err := p.order(map[string]any{"play": file}); err != nil {
		return err
	}
	return p.until(ctx, func() bool { return p.played > before })
}

// tone writes a WAV file of a sine.
func tone(ctx context.Context, file string, hz float64, d time.Duration) error {
	const rate = 48000
	pcm := make([]byte, 2*int(d.Seconds()*rate))
	for i := range len(pcm) / 2 {
		s := int16(8000 * math.Sin(2*math.Pi*hz*float64(i)/rate))
		pcm[2*i], pcm[2*i+1] = byte(s), byte(uint16(s)>>8)
	}
	cmd := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-f", "s16le", "-ar", fmt.Sprint(rate), "-ac", "1", "-i", "pipe:0", "-y", file)
	cmd.Stdin = strings.NewReader(string(pcm))
	return cmd.Run()
}

func (p *participant) Leave(context.Context) error {
	p.stop()
	return nil
}

func (p *participant) Sees(ctx context.Context, name string, ok func(*meeting.Person) bool) error {
	return p.until(ctx, func() bool { return ok(p.named(name)) })
}

func (p *participant) Reads(ctx context.Context, name, text string) error {
	ctx, cancel := context.WithTimeout(ctx, patience/2)
	defer cancel()
	err := p.until(ctx, func() bool {
		q := p.named(name)
		return q != nil && p.chat[q.ID+"\x00"+fold(text)] > 0
	})
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return fmt.Errorf("%w; messages that came: %q", err, slices.Sorted(maps.Keys(p.chat)))
	}
	return nil
}
