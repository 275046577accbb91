package spawn

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"parley/internal/proc"
)

// RefusedError is a plan that did not pass. Nothing was started.
type RefusedError struct {
	Kind     Kind
	Problems []string
}

func (e *RefusedError) Error() string {
	return "not started: " + strings.Join(e.Problems, " ")
}

// Options are what differs from start to start. The zero value works.
type Options struct {
	// Waive names forbidden arguments that the operator's own setting asks for.
	Waive []string
	// Read and Write are files and folders that a caged program gets besides the system's own.
	Read, Write []string
	// Loose starts a caged program without its cage; tests of the difference use it.
	Loose bool
}

// Start starts one of our own programs: vetted, with its environment sealed, in its cage. A nil Env of the spec is our
// own.
func Start(kind Kind, s proc.Spec, o Options) (*proc.Child, error) {
	if err := check(kind, s.Args, o); err != nil {
		return nil, err
	}
	if s.Env == nil {
		s.Env = proc.BaseEnv()
	}
	s.Env = Env(kind, s.Env)
	if c, ok := cageOf(kind); ok && !o.Loose {
		c.Read, c.Write = o.Read, o.Write
		path, err := programPaths(s.Path)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", s.Name, err)
		}
		c.Read = append(slices.Clone(c.Read), path...)
		if s.Dir != "" {
			c.Read = append(c.Read, s.Dir)
		}
		s.Confine = c.enter
	}
	return proc.Start(s)
}

// programPaths gives the paths that a program is read from: where it is found, and what that is a link to.
func programPaths(name string) ([]string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	return paths, nil
}

// check vets what we start ourselves.
func check(kind Kind, args []string, o Options) error {
	if problems := Vet(Plan{Kind: kind, Mode: Run, Args: args, Waive: o.Waive}); problems != nil {
		return &RefusedError{kind, problems}
	}
	return nil
}

// StartCmd does the same for a command that its caller waits for.
func StartCmd(kind Kind, cmd *exec.Cmd, o Options) error {
	if len(cmd.Args) == 0 {
		return errors.New("start: no program")
	}
	if err := check(kind, cmd.Args[1:], o); err != nil {
		return err
	}
	if cmd.Env == nil {
		cmd.Env = proc.BaseEnv()
		if def := programs[kind]; def.Only == nil {
			cmd.Env = cmd.Environ()
		}
	}
	cmd.Env = Env(kind, cmd.Env)
	c, ok := cageOf(kind)
	if !ok || o.Loose || cmd.Err != nil {
		return cmd.Start()
	}
	c.Read, c.Write = append(slices.Clone(o.Read), cmd.Path), o.Write
	if real, err := filepath.EvalSymlinks(cmd.Path); err == nil {
		c.Read = append(c.Read, real)
	}
	started := make(chan error, 1)
	go func() {
		// The thread keeps its cage and so must end: a goroutine that ends locked takes its thread with it.
		runtime.LockOSThread()
		if err := c.enter(); err != nil {
			started <- fmt.Errorf("the cage of %s: %w", kind.Label(), err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

// RunCmd starts a command and waits for its end.
func RunCmd(kind Kind, cmd *exec.Cmd, o Options) error {
	if err := StartCmd(kind, cmd, o); err != nil {
		return err
	}
	return cmd.Wait()
}
