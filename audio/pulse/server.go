// Package pulse runs a private sound server for one meeting: what the browser plays is heard from it,
// and what we say goes into the browser's microphone.
package pulse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jfreymuth/pulse/proto"
	"golang.org/x/sys/unix"

	"parley/guard/spawn"
	"parley/internal/proc"
)

// The names on the server. The browser shows Microphone to the page.
const (
	OutSink    = "parley_out" // the meeting plays into it
	MicSink    = "parley_mic" // we speak into it
	MicSource  = "parley_microphone"
	Microphone = "Parley_Microphone"

	outMonitor = OutSink + ".monitor"
	micMonitor = MicSink + ".monitor"
)

// Options say how to start a server. Dir is needed, the rest may be zero.
type Options struct {
	// Dir holds the server's files and socket. It is made if missing, becomes 0700 and the account's, and should be
	// short: socket paths end at 108 bytes.
	Dir string
	// Account is whom the server (and the browser) run as; nil means as we are.
	Account *proc.Account
	// Log gets what the server complains about; nil discards it.
	Log *slog.Logger
	// Program is the sound server's; zero looks it up.
	Program string
	// Ready bounds the start; zero is 10 s.
	Ready time.Duration
}

// Server is a running sound server. Its methods may be called from any goroutine.
type Server struct {
	dir    string
	socket string
	child  *proc.Child
	log    *slog.Logger
	stderr *tail

	mu     sync.Mutex
	links  map[*link]bool
	closed bool
}

// ErrNotInstalled means that the machine has no sound server.
var ErrNotInstalled = errors.New("pulseaudio is not installed: run make setup, or install the package pulseaudio")

// Start starts a server and returns when it answers.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Ready == 0 {
		o.Ready = 10 * time.Second
	}
	if o.Program == "" {
		path, err := exec.LookPath("pulseaudio")
		if err != nil {
			return nil, ErrNotInstalled
		}
		o.Program = path
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("sound server folder: %w", err)
	}
	s := &Server{dir: dir, socket: filepath.Join(dir, "native"), log: o.Log, stderr: &tail{}, links: map[*link]bool{}}
	if len(s.socket) > 107 {
		return nil, fmt.Errorf("sound server: socket path %s is longer than 107 bytes: use a shorter folder", s.socket)
	}
	if strings.ContainsAny(dir, " \t\n\"'\\") {
		return nil, fmt.Errorf("sound server: folder %q has characters that its script cannot hold", dir)
	}
	if err := s.prepare(o.Account); err != nil {
		return nil, err
	}
	child, err := spawn.Start(spawn.PulseAudio, proc.Spec{
		Name: "pulseaudio",
		Path: o.Program,
		Args: []string{
			"-n", // nothing of the machine's own configuration
			"--daemonize=no", "--use-pid-file=no", "--system=no", "--disallow-exit=yes", "--exit-idle-time=-1",
			"--realtime=no", "--high-priority=no", "--log-target=stderr", "--log-level=notice",
			"-F", filepath.Join(dir, "daemon.pa"),
		},
		Env:     append(proc.BaseEnv(), s.own()...),
		Dir:     dir,
		Account: o.Account,
		Stderr:  s.stderr,
	}, spawn.Options{})
	if err != nil {
		return nil, fmt.Errorf("sound server: %w", err)
	}
	s.child = child
	if err := s.await(ctx, o.Ready); err != nil {
		child.Kill()
		<-child.Done()
		return nil, err
	}
	s.hurry()
	return s, nil
}

// urgency is the server's niceness where we may choose it: it does little, and that little must not wait.
const urgency = -11

// hurry puts the server's threads before others; it is ready, so that they are all there. Who may not do that does
// without.
func (s *Server) hurry() {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.child.PID()))
	for _, t := range tasks {
		id, e := strconv.Atoi(t.Name())
		if e == nil {
			e = unix.Setpriority(unix.PRIO_PROCESS, id, urgency)
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		s.log.Debug("the sound server runs at ordinary priority", "err", err)
	}
}

// script loads two null sinks: their clock is the machine's, and they run whether anybody listens or not.
// Browsers do not offer monitors as microphones, hence the remapped source.
const script = `.fail
load-module module-native-protocol-unix auth-cookie-enabled=0 auth-anonymous=1 socket=%[1]s
load-module module-null-sink sink_name=` + OutSink + ` rate=48000 channels=2 format=s16le norewinds=1 sink_properties=device.description=Parley_Speakers
load-module module-null-sink sink_name=` + MicSink + ` rate=48000 channels=1 format=s16le norewinds=1 sink_properties=device.description=Parley_Voice
load-module module-remap-source master=` + micMonitor + ` source_name=` + MicSource + ` channels=1 remix=no source_properties=device.description=` + Microphone + `
set-default-sink ` + OutSink + `
set-default-source ` + MicSource + `
`

// conf: 48 kHz, since browsers take the server's default for their streams; no flat volumes, so that no stream's
// volume touches a sink's.
const conf = `default-sample-format = s16le
default-sample-rate = 48000
alternate-sample-rate = 48000
default-sample-channels = 2
flat-volumes = no
resample-method = speex-float-3
enable-deferred-volume = no
`

func (s *Server) prepare(account *proc.Account) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("sound server folder: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return fmt.Errorf("sound server folder: %w", err)
	}
	if err := os.Remove(s.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("stale sound socket: %w", err)
	}
	files := map[string]string{"daemon.pa": fmt.Sprintf(script, s.socket), "daemon.conf": conf}
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("sound server configuration: %w", err)
		}
		if err := proc.Own(path, account); err != nil {
			return err
		}
	}
	return proc.Own(s.dir, account)
}

// own is the environment that keeps the server and its clients inside its folder.
func (s *Server) own() []string {
	return []string{
		"HOME=" + s.dir, "XDG_RUNTIME_DIR=" + s.dir, "PULSE_RUNTIME_PATH=" + s.dir, "PULSE_STATE_PATH=" + s.dir,
		"PULSE_CONFIG_PATH=" + s.dir, "PULSE_CONFIG=" + filepath.Join(s.dir, "daemon.conf"),
		"DBUS_SESSION_BUS_ADDRESS=disabled:",
	}
}

// Env is what a program needs in its environment to use this server and no other.
func (s *Server) Env() []string {
	return []string{"PULSE_SERVER=unix:" + s.socket, "PULSE_CONFIG_PATH=" + s.dir, "PULSE_STATE_PATH=" + s.dir, "PULSE_RUNTIME_PATH=" + s.dir}
}

// PID is the server's process id.
func (s *Server) PID() int { return s.child.PID() }

// Done is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.child.Done() }

// Err says how the server ended, with its last words. Only valid after Done.
func (s *Server) Err() error {
	select {
	case <-s.child.Done():
	default:
		return nil
	}
	if text := s.stderr.String(); text != "" {
		return fmt.Errorf("%w: %v: %s", ErrServerGone, s.child.Err(), text)
	}
	return fmt.Errorf("%w: %v", ErrServerGone, s.child.Err())
}

// await connects until everything that the script loads is there.
func (s *Server) await(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// The server has no way to tell that it is ready, so that we knock.
	knock := time.NewTicker(5 * time.Millisecond)
	defer knock.Stop()
	var last error
	for {
		select {
		case <-s.child.Done():
			return fmt.Errorf("sound server ended at its start: %v: %s", s.child.Err(), s.stderr)
		case <-ctx.Done():
			return fmt.Errorf("sound server not ready after %v (%w): %s", limit, errors.Join(context.Cause(ctx), last), s.stderr)
		case <-knock.C:
		}
		if _, err := os.Stat(s.socket); err != nil {
			last = err
			continue
		}
		if last = s.ready(ctx); last == nil {
			return nil
		}
	}
}

func (s *Server) ready(ctx context.Context) error {
	l, err := dial(ctx, s.socket, "parley", nil, nil)
	if err != nil {
		return err
	}
	defer l.close()
	var server proto.GetServerInfoReply
	if err := l.request("ask the sound server", &proto.GetServerInfo{}, &server); err != nil {
		return err
	}
	if server.DefaultSinkName != OutSink || server.DefaultSourceName != MicSource {
		return fmt.Errorf("defaults are %q and %q", server.DefaultSinkName, server.DefaultSourceName)
	}
	return nil
}

// dial opens a link that Close closes.
func (s *Server) dial(ctx context.Context, name string, data func([]byte), message func(any)) (*link, error) {
	l, err := dial(ctx, s.socket, name, data, message)
	if err != nil {
		select {
		case <-s.child.Done():
			return nil, s.Err()
		default:
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.close()
		return nil, fmt.Errorf("%w: closed", ErrServerGone)
	}
	s.links[l] = true
	return l, nil
}

// hangUp closes a link and forgets it.
func (s *Server) hangUp(l *link) {
	l.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
}

// Close ends the server and everything that uses it, waits for its end and removes its files.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for l := range s.links {
		l.close()
	}
	clear(s.links)
	s.mu.Unlock()
	// It ignores polite requests by module while told to disallow exit, but a signal is obeyed.
	err := s.child.Stop(context.Background(), time.Second)
	if errors.Is(err, proc.ErrKilled) {
		err = nil // nothing in it is worth more patience
	}
	for _, name := range []string{"native", "daemon.pa", "daemon.conf", "cookie"} {
		if e := os.Remove(filepath.Join(s.dir, name)); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// tail keeps the end of what a child says on its standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
