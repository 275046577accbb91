// Package chromium starts a Chromium of our own and ends it without a trace: sandboxed, as a system user when
// we are root, driven over inherited pipes.
package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-rod/rod/lib/cdp"
	"github.com/go-rod/rod/lib/proto"
	"github.com/go-rod/rod/lib/utils"

	"parley/browser/internal/tail"
	"parley/guard/spawn"
	"parley/internal/proc"
)

// Options say what browser to start. Zero values are fit for use, but as root an Account is needed, and
// without Headless a display.
type Options struct {
	// Path is the browser itself, not a wrapper; empty means the places where distributions put it.
	Path string
	// Account is whom it runs as; nil means as we are.
	Account *proc.Account
	// NoSandbox switches the sandbox off, which is said loudly in the log. For containers that allow no other way.
	NoSandbox bool
	// Headless draws nowhere; otherwise Env must name a display.
	Headless bool
	// Env is added to the environment: the display's, the sound server's.
	Env []string
	// Profile is a folder to keep between runs, owned by the account; empty means a temporary one.
	Profile string
	// Dir is where the temporary folder is made; empty means the system's. The account must be able to enter it.
	Dir string
	// Language of the interface and of Accept-Language; empty means en-US.
	Language string
	// Proxy takes all traffic ("http://127.0.0.1:3128"); empty means none.
	Proxy string
	// Loopback lets WebRTC use loopback addresses: only for rooms on this machine.
	Loopback bool
	// TrustOrigins are plain-http origins that may use the microphone all the same, for rooms on a private network.
	TrustOrigins []string
	// FramesInside keeps sandboxed frames in the process of their page. Only there do the first requests of one that is
	// written out in the page (srcdoc) pass whoever holds the page's requests: the browser holds no such frame back.
	FramesInside bool
	// Width and Height of the window in pixels; zero means 1280x720.
	Width, Height int
	// StartTimeout is how long it may take to answer; zero means 30 s.
	StartTimeout time.Duration
	// Log gets kinds and numbers, never what a page says; nil means slog.Default().
	Log *slog.Logger
}

// Browser is a running Chromium. It is safe for concurrent use.
type Browser struct {
	child   *proc.Child
	client  *cdp.Client
	pipe    *pipe
	posted  atomic.Uint32 // numbers of messages whose answers nobody waits for
	files   []*os.File    // our ends of the pipes
	dir     string        // its temporary folder, removed by Close
	version string
	log     *slog.Logger

	life    context.Context // ends with the browser, cause ErrGone
	end     context.CancelCauseFunc
	pumped  chan struct{} // the goroutine that hands out events has ended
	closing sync.Once
	closed  error

	mu       sync.RWMutex
	sessions map[string]func(*cdp.Event)

	strays atomic.Int64 // events for sessions that nobody listens to any more
}

// Start starts a browser and returns when it answers. A *StartError says why it could not and what to do.
func Start(ctx context.Context, o Options) (_ *Browser, err error) {
	o = withDefaults(o)
	path, err := program(o.Path)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 && o.Account == nil && !o.NoSandbox {
		return nil, &StartError{Reason: RootNoAccount, Detail: "Chromium's sandbox does not work as root"}
	}
	if o.NoSandbox {
		o.Log.Warn("the browser's sandbox is OFF: a hostile page has the rights of the user it runs as",
			"setting", "PARLEY_CHROMIUM_SANDBOX=0", "root", os.Geteuid() == 0 && o.Account == nil)
	}
	dir, profile, err := folders(o)
	if err != nil {
		return nil, &StartError{Reason: NoFolder, Err: err}
	}
	b := &Browser{dir: dir, log: o.Log, sessions: map[string]func(*cdp.Event){}, pumped: make(chan struct{})}
	b.life, b.end = context.WithCancelCause(context.Background())
	messages := &tail.Tail{Max: 16 << 10}
	if err := b.launch(path, o, profile, messages); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.greet(ctx, o.StartTimeout); err != nil {
		select {
		case <-b.child.Done(): // it gave up by itself and said why
			err = diagnose(messages.String(), b.child.Err())
		default:
			if ctx.Err() == nil {
				err = &StartError{Reason: TimedOut, Err: err}
			}
		}
		b.kill()
		return nil, errors.Join(err, b.removeFolder())
	}
	o.Log.Info("browser started", "pid", b.child.PID(), "version", b.version, "headless", o.Headless, "sandbox", !o.NoSandbox)
	return b, nil
}

func withDefaults(o Options) Options {
	if o.Language == "" {
		o.Language = "en-US"
	}
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// folders makes the private folder that everything the browser writes goes to, and the profile in it.
func folders(o Options) (dir, profile string, err error) {
	dir, err = proc.RunDir(o.Dir, o.Account)
	if err != nil {
		return "", "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	profile = o.Profile
	made := []string{filepath.Join(dir, "tmp"), filepath.Join(dir, "home")}
	if profile == "" {
		profile = filepath.Join(dir, "profile")
		made = append(made, profile, filepath.Join(profile, "Default"))
	}
	for _, d := range made {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", "", err
		}
		if err := proc.Own(d, o.Account); err != nil {
			return "", "", err
		}
	}
	prefer := writePreferences
	if o.Profile != "" {
		prefer = keepPrinterOff
	}
	if err := prefer(filepath.Join(profile, "Default", "Preferences"), o); err != nil {
		return "", "", err
	}
	return dir, profile, nil
}

// noPrinting keeps a page's print() from opening the browser's own dialog: it is modal, no call can see or answer it, and
// the page's scripts stand still as long as it is open. Drawing a PDF does not go by it.
var noPrinting = map[string]any{"enabled": false}

// keepPrinterOff adds noPrinting to what a named profile prefers. Preferences that cannot be read are left to the browser,
// which begins them anew.
func keepPrinterOff(path string, o Options) error {
	all := map[string]json.RawMessage{}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Dir(path)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := proc.Own(dir, o.Account); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		// What is none of ours to read stays as it is: the browser says what it makes of it.
		if unread := json.Unmarshal(raw, &all); unread != nil {
			return nil //nolint:nilerr // see above
		}
	}
	printing := map[string]any{}
	if old, ok := all["printing"]; ok && json.Unmarshal(old, &printing) != nil {
		printing = map[string]any{}
	}
	if printing["enabled"] == false {
		return nil
	}
	maps.Copy(printing, noPrinting)
	if all["printing"], err = json.Marshal(printing); err != nil {
		return err
	}
	if raw, err = json.Marshal(all); err != nil {
		return err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return err
	}
	return proc.Own(path, o.Account)
}

// writePreferences gives a new profile its language (the flag sets only the interface's) and keeps bubbles that ask
// about passwords, translation and notifications, and the printer's dialog, from covering the page.
func writePreferences(path string, o Options) error {
	languages := o.Language
	if base, _, ok := cut(o.Language, '-'); ok {
		languages += "," + base
	}
	raw, err := json.Marshal(map[string]any{
		"intl":                       map[string]any{"accept_languages": languages, "selected_languages": languages},
		"credentials_enable_service": false,
		"translate":                  map[string]any{"enabled": false},
		"profile": map[string]any{
			"password_manager_enabled":       false,
			"default_content_setting_values": map[string]any{"notifications": 2},
		},
		"printing": noPrinting,
		"browser":  map[string]any{"check_default_browser": false, "has_seen_welcome_page": true},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return err
	}
	return proc.Own(path, o.Account)
}

func cut(s string, sep byte) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == sep {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// launch starts the process with the pipes at descriptors 3 (to it) and 4 (from it).
func (b *Browser) launch(path string, o Options, profile string, messages *tail.Tail) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("browser pipes: %w", err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		ourOut.Close()
		return fmt.Errorf("browser pipes: %w", err)
	}
	b.files = []*os.File{ourIn, ourOut}
	home, tmp := filepath.Join(b.dir, "home"), filepath.Join(b.dir, "tmp")
	env := append(proc.BaseEnv(),
		"HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+tmp, "TMPDIR="+tmp,
		"LANGUAGE="+o.Language, "DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:")
	b.child, err = spawn.Start(spawn.Chromium, proc.Spec{
		Name: "chromium", Path: path, Args: flags(o, profile), Env: append(env, o.Env...), Dir: b.dir,
		Account: o.Account, Stderr: messages, ExtraFiles: []*os.File{theirIn, theirOut},
	}, spawn.Options{Waive: waived(o)})
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		b.closeFiles()
		reason := Exited
		if errors.Is(err, fs.ErrPermission) {
			reason = NoFolder
		}
		return &StartError{Reason: reason, Err: err}
	}
	b.pipe = newPipe(ourIn, ourOut)
	b.client = cdp.New().Logger(utils.LoggerQuiet).Start(b.pipe)
	go b.pump()
	go func() {
		<-b.child.Done()
		b.end(ErrGone)
	}()
	return nil
}

// greet waits for the first answer.
func (b *Browser) greet(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := proto.BrowserGetVersion{}.Call(b.With(ctx))
	if err != nil {
		if errors.Is(err, ErrGone) || b.life.Err() != nil {
			<-b.child.Done() // its pipes close before it is reaped, or pump ends it; the diagnosis needs its last words
		}
		return err
	}
	b.version = v.Product
	// Nothing a page sends is written to disk unless somebody opens that door later.
	return proto.BrowserSetDownloadBehavior{Behavior: proto.BrowserSetDownloadBehaviorBehaviorDeny}.Call(b.With(ctx))
}

// pump hands out events. Handlers are quick and call nothing, so that events stay in order and none waits.
func (b *Browser) pump() {
	defer close(b.pumped)
	for event := range b.client.Event() {
		b.mu.RLock()
		handle := b.sessions[event.SessionID]
		b.mu.RUnlock()
		if handle == nil {
			b.strays.Add(1)
			continue
		}
		handle(event)
	}
	b.end(ErrGone)
	// A browser closes its pipe a moment before it ends. One that goes on without it can be of no use to anybody.
	select {
	case <-b.child.Done():
	case <-time.After(closeGrace):
		b.log.Warn("the browser closed its pipe and went on; it is killed", "pid", b.child.PID())
		b.child.Kill()
	}
}

// listen makes handle get the events of a session until stop is called. It runs on the one goroutine that reads
// from the browser: it must not wait and must not call the browser.
func (b *Browser) listen(session string, handle func(*cdp.Event)) (stop func()) {
	b.mu.Lock()
	b.sessions[session] = handle
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		delete(b.sessions, session)
		b.mu.Unlock()
	}
}

// Call asks the browser. It returns when the answer is there, the context ends or the browser does, with the
// cause of whichever it was.
func (b *Browser) Call(ctx context.Context, session, method string, params any) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.life, func() { cancel(ErrGone) })()
	raw, err := b.client.Call(ctx, session, method, params)
	if err == nil {
		return raw, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", method, context.Cause(ctx))
	}
	var said *cdp.Error
	if !errors.As(err, &said) {
		return nil, fmt.Errorf("%s: %w (%w)", method, ErrGone, err)
	}
	return nil, fmt.Errorf("%s: %w", method, err)
}

// post asks the browser and does not wait for the answer, so that a row of messages costs one round trip. The browser
// works them in their order; a Call behind them comes back after them. Their errors are lost.
func (b *Browser) post(session, method string, params any) error {
	if b.life.Err() != nil {
		return ErrGone
	}
	// The client numbers its calls from 1 on and passes over answers to numbers that are not its own.
	const ours, span = 1 << 30, 1 << 30
	raw, err := json.Marshal(cdp.Request{ID: ours + int(b.posted.Add(1)%(span-1)), SessionID: session, Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := b.pipe.Send(raw); err != nil {
		return fmt.Errorf("%s: %w (%w)", method, ErrGone, err)
	}
	return nil
}

// caller is a session of the browser bound to one call's context: what the protocol's types are called with.
type caller struct {
	b       *Browser
	ctx     context.Context
	session proto.TargetSessionID
}

func (c caller) Call(ctx context.Context, session, method string, params interface{}) ([]byte, error) {
	return c.b.Call(ctx, session, method, params)
}
func (c caller) GetSessionID() proto.TargetSessionID { return c.session }
func (c caller) GetContext() context.Context         { return c.ctx }

// With binds calls of the browser itself to a context.
func (b *Browser) With(ctx context.Context) proto.Client { return caller{b: b, ctx: ctx} }

// Version is what the browser calls itself ("Chrome/156.0.8078.114").
func (b *Browser) Version() string { return b.version }

// PID is the browser process, which leads its group.
func (b *Browser) PID() int { return b.child.PID() }

// Done is closed when the browser has ended, asked or not.
func (b *Browser) Done() <-chan struct{} { return b.child.Done() }

// Probe asks whether the browser still answers.
func (b *Browser) Probe(ctx context.Context) error {
	_, err := proto.BrowserGetVersion{}.Call(b.With(ctx))
	return err
}

// Grant lets an origin use devices ("audioCapture") without asking, and refuses it everything else. A tab must be open.
func (b *Browser) Grant(ctx context.Context, origin string, permissions ...string) error {
	types := make([]proto.BrowserPermissionType, len(permissions))
	for i, p := range permissions {
		types[i] = proto.BrowserPermissionType(p)
	}
	if err := (proto.BrowserGrantPermissions{Origin: origin, Permissions: types}).Call(b.With(ctx)); err != nil {
		return fmt.Errorf("grant permissions: %w", err)
	}
	return nil
}

// closeGrace is how long a browser may take to end after it was asked; then its group is killed.
const closeGrace = 3 * time.Second

// Close ends the browser and removes its temporary folder. It may be called again, also at once. Pages that sit in a
// meeting should have left before: a killed browser stays in a room as a ghost for many seconds.
func (b *Browser) Close() error {
	b.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		_ = proto.BrowserClose{}.Call(b.With(ctx)) // whether it obeys is seen below
		select {
		case <-b.child.Done():
		case <-ctx.Done():
			b.log.Warn("the browser did not end when asked and is killed", "pid", b.child.PID())
		}
		b.kill()
		b.closed = b.removeFolder()
		b.log.Info("browser ended", "pid", b.child.PID(), "stray_events", b.strays.Load())
	})
	return b.closed
}

// kill ends the group and everything of ours that hung on it.
func (b *Browser) kill() {
	b.child.Kill()
	<-b.child.Done()
	b.end(ErrGone)
	b.closeFiles() // a reader that is still in there comes out with an error
	<-b.pumped
}

func (b *Browser) closeFiles() {
	for _, f := range b.files {
		_ = f.Close()
	}
}

// removeFolder removes the temporary folder. The last of a killed group may still be writing for a moment, in a
// process table of their own where nobody can wait for them, hence the second try.
func (b *Browser) removeFolder() error {
	var err error
	for range 20 {
		if err = os.RemoveAll(b.dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("remove the browser's folder: %w", err)
}
