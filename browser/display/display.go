// Package display starts a private X display that a browser draws on: no network socket, a cookie of its own,
// gone with its owner.
package display

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/browser/internal/tail"
	"parley/guard/spawn"
	"parley/internal/proc"
)

// Options say what display to start. The zero value is 1280x720 in 24 bit, run as the caller.
type Options struct {
	// Account is whom the display runs as; nil means as we are.
	Account *proc.Account
	// Width and Height are in pixels; zero means 1280x720.
	Width, Height int
	// Dir is where its private folder is made; empty means the system's temporary folder.
	Dir string
	// Path is the Xvfb program; empty means it is looked up.
	Path string
}

// ErrNoServer means that the Xvfb program is not installed.
var ErrNoServer = errors.New("the virtual display Xvfb is not installed; install the package xvfb")

// Display is a running Xvfb.
type Display struct {
	child *proc.Child
	dir   string
	name  string
}

// startDeadline is generous: a busy machine took 260 ms where an idle one took 50.
const startDeadline = 15 * time.Second

// Start starts a display and returns when clients can connect. The server picks a free number by itself
// and tells it on a descriptor, so that starts at the same time cannot collide.
func Start(ctx context.Context, o Options) (_ *Display, err error) {
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	if o.Path == "" {
		if o.Path, err = exec.LookPath("Xvfb"); err != nil {
			return nil, ErrNoServer
		}
	}
	dir, err := proc.RunDir(o.Dir, o.Account)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := writeCookie(authority(dir), o.Account); err != nil {
		return nil, err
	}
	ensureSocketDir()

	ready, tell, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("display: %w", err)
	}
	defer ready.Close()
	messages := &tail.Tail{}
	child, err := spawn.Start(spawn.Xvfb, proc.Spec{
		Name: "Xvfb", Path: o.Path, Account: o.Account, Dir: dir,
		Args: []string{
			"-displayfd", "3", "-nolisten", "tcp", "-auth", authority(dir), "-noreset",
			"-screen", "0", fmt.Sprintf("%dx%dx24", o.Width, o.Height),
		},
		Env:        append(proc.BaseEnv(), "HOME="+dir, "TMPDIR="+dir),
		Stderr:     messages,
		ExtraFiles: []*os.File{tell},
	}, spawn.Options{})
	tell.Close()
	if err != nil {
		return nil, err
	}
	number, err := readNumber(ctx, ready, child)
	if err != nil {
		child.Kill()
		<-child.Done()
		if text := messages.LastLine(); text != "" {
			return nil, fmt.Errorf("display did not start: %w (%s)", err, text)
		}
		return nil, fmt.Errorf("display did not start: %w", err)
	}
	return &Display{child: child, dir: dir, name: ":" + strconv.Itoa(number)}, nil
}

// readNumber waits for the line that says which display it became.
func readNumber(ctx context.Context, r *os.File, child *proc.Child) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	// Closing the pipe is what unblocks the read; the deadline of the file does the same without a race.
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	var line []byte
	buf := make([]byte, 16)
	for {
		n, err := r.Read(buf)
		line = append(line, buf[:n]...)
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			number, err := strconv.Atoi(strings.TrimSpace(string(line[:i])))
			if err != nil {
				return 0, fmt.Errorf("unreadable display number: %w", err)
			}
			return number, nil
		}
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil: // it ended: the write end is closed
			select {
			case <-child.Done():
				return 0, fmt.Errorf("it ended (%v)", child.Err())
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		case len(line) > 64:
			return 0, errors.New("no display number in the first bytes")
		}
	}
}

// Name is the display's name (":7").
func (d *Display) Name() string { return d.name }

// Env is what a client needs in its environment to reach the display.
func (d *Display) Env() []string {
	return []string{"DISPLAY=" + d.name, "XAUTHORITY=" + authority(d.dir)}
}

// PID is the server's process.
func (d *Display) PID() int { return d.child.PID() }

// Done is closed when the server has ended, asked or not.
func (d *Display) Done() <-chan struct{} { return d.child.Done() }

// Close stops the server and removes its folder. It may be called again.
func (d *Display) Close() error {
	err := d.child.Stop(context.Background(), 2*time.Second)
	d.removeLock()
	return errors.Join(err, os.RemoveAll(d.dir))
}

// removeLock takes away what a killed server leaves: its lock, if it still names that server, and its socket.
func (d *Display) removeLock() {
	lock := "/tmp/.X" + d.name[1:] + "-lock"
	owner, err := os.ReadFile(lock)
	if err != nil || strings.TrimSpace(string(owner)) != strconv.Itoa(d.PID()) {
		return
	}
	_ = os.Remove("/tmp/.X11-unix/X" + d.name[1:])
	_ = os.Remove(lock)
}

func authority(dir string) string { return filepath.Join(dir, "authority") }

// writeCookie writes an X authority file with one random cookie that holds for any host and display number:
// the number is not known before the server has picked one, and the file is private.
func writeCookie(path string, a *proc.Account) error {
	cookie := make([]byte, 16)
	if _, err := rand.Read(cookie); err != nil {
		return err
	}
	const anyFamily = 0xffff
	var b bytes.Buffer
	field := func(p []byte) {
		_ = binary.Write(&b, binary.BigEndian, uint16(len(p)))
		b.Write(p)
	}
	_ = binary.Write(&b, binary.BigEndian, uint16(anyFamily))
	field(nil) // address
	field(nil) // display number
	field([]byte("MIT-MAGIC-COOKIE-1"))
	field(cookie)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("display cookie: %w", err)
	}
	return proc.Own(path, a)
}

// ensureSocketDir makes the folder that X servers share for their sockets. On a bare machine nobody has yet,
// and a server that is not root refuses to. Without it the abstract socket still serves, hence no error.
func ensureSocketDir() {
	const dir = "/tmp/.X11-unix"
	if err := os.Mkdir(dir, 0o777); err == nil {
		_ = os.Chmod(dir, os.ModeSticky|0o777)
	}
}
