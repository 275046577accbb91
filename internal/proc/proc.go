// Package proc starts child processes that never outlive their reason: each has a group of its own,
// dies with us, and has an owner who waits for it.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spec says what to start. Path and Args are needed; the rest may be zero.
type Spec struct {
	// Name is for messages ("pulseaudio"); zero means Path.
	Name string
	Path string
	// Args does not include the program's name.
	Args []string
	// Env is the whole environment. Nil means PATH, LANG and TZ of ours and nothing else: secrets in our
	// own environment stay here.
	Env []string
	Dir string
	// Account is whom to run as; nil means as we are.
	Account *Account
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// ExtraFiles become descriptors 3, 4, … of the child. The caller closes its own copies after Start.
	ExtraFiles []*os.File
	// Outlive starts the child in a session of its own, without the parent-death signal: it is shared with others.
	Outlive bool
	// Confine restricts the thread that forks, and with it the child, for good; nil does nothing. That thread then serves
	// this child alone and lives as long as it.
	Confine func() error
}

// Child is a running process and its group.
type Child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// ErrKilled is the cause when a child had to be killed because it did not end in time.
var ErrKilled = errors.New("did not end in time and was killed")

// Start starts a process. The parent-death signal follows the thread that forks, not the process, so that
// one thread, which never ends, forks for everybody.
func Start(s Spec) (*Child, error) {
	if s.Name == "" {
		s.Name = s.Path
	}
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = s.Dir, s.Stdin, s.Stdout, s.Stderr, s.ExtraFiles
	cmd.Env = s.Env
	if cmd.Env == nil {
		cmd.Env = BaseEnv()
	}
	cmd.WaitDelay = 2 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if s.Outlive {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if s.Account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.Account.UID, Gid: s.Account.GID, Groups: s.Account.Groups}
		cmd.Env = append(cmd.Env, "USER="+s.Account.Name, "LOGNAME="+s.Account.Name)
	}
	c := &Child{name: s.Name, cmd: cmd, done: make(chan struct{})}
	forking := onForkingThread
	if s.Confine != nil {
		forking = confined(s.Confine, c.done)
	}
	if err := forking(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		family.add(cmd.Process.Pid)
		return nil
	}); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	go c.wait()
	return c, nil
}

// wait owns the end of the child: the group goes before the leader's id is given back, so that the signal
// can never hit a stranger.
func (c *Child) wait() {
	pid := c.cmd.Process.Pid
	var info unix.Siginfo
	for {
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGKILL) // ESRCH when nobody is left
	c.err = c.cmd.Wait()
	family.remove(pid)
	close(c.done)
}

// Name is the name of the Spec.
func (c *Child) Name() string { return c.name }

// PID is the process id of the leader, which is also its group's.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the leader has ended, its group is killed and it is reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err is how it ended: nil for status 0. Only valid after Done.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Signal sends a signal to the leader.
func (c *Child) Signal(sig syscall.Signal) error {
	select {
	case <-c.done:
		return os.ErrProcessDone
	default:
		return c.cmd.Process.Signal(sig)
	}
}

// Kill kills the whole group and does not wait.
func (c *Child) Kill() {
	select {
	case <-c.done:
	default:
		// The leader is not reaped before wait has seen it end, so its id is still its own.
		_ = unix.Kill(-c.PID(), unix.SIGKILL)
	}
}

// Stop asks the leader to end, kills the group after the grace or when ctx ends, and returns when all is
// reaped. ErrKilled says that asking was not enough.
func (c *Child) Stop(ctx context.Context, grace time.Duration) error {
	if err := c.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	c.Kill()
	select {
	case <-c.done:
		return fmt.Errorf("%s: %w", c.name, ErrKilled)
	case <-time.After(5 * time.Second):
		return fmt.Errorf("%s (process %d) does not die", c.name, c.PID())
	}
}

// BaseEnv is the environment that a child gets when nothing else is said.
func BaseEnv() []string {
	env := []string{}
	for _, k := range []string{"PATH", "LANG", "LC_ALL", "TZ"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// confined gives a function that forks on a thread of its own, which is restricted first and lives until done: the
// parent-death signal follows it. A goroutine that ends locked takes its thread with it.
func confined(restrict func() error, done <-chan struct{}) func(func() error) error {
	return func(f func() error) error {
		result := make(chan error, 1)
		go func() {
			runtime.LockOSThread()
			if err := restrict(); err != nil {
				result <- fmt.Errorf("restrict it: %w", err)
				return
			}
			err := f()
			result <- err
			if err == nil {
				<-done
			}
		}()
		return <-result
	}
}

var (
	forkOnce sync.Once
	forks    chan func()
)

// onForkingThread runs f on the one thread that forks. It lives as long as the process.
func onForkingThread(f func() error) error {
	forkOnce.Do(func() {
		forks = make(chan func())
		go func() {
			runtime.LockOSThread()
			for f := range forks {
				f()
			}
		}()
	})
	result := make(chan error, 1)
	forks <- func() { result <- f() }
	return <-result
}
