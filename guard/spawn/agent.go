package spawn

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"parley/internal/proc"
)

// StartAgent starts an agent's program: its plan is vetted once more, right before. The environment comes sealed from
// Env, with what the plan sets behind it. The arguments of the spec are those of the plan, or what Hidden made of them.
func StartAgent(p Plan, s proc.Spec) (*proc.Child, error) {
	if problems := Vet(p); problems != nil {
		return nil, &RefusedError{p.Kind, problems}
	}
	return proc.Start(s)
}

// ErrNoBubblewrap means that the machine has no bubblewrap.
var ErrNoBubblewrap = errors.New("bubblewrap is not installed")

// VeilError means that bubblewrap is there and may not do its work: containers often refuse new namespaces.
type VeilError struct{ Said string }

func (e *VeilError) Error() string { return "bubblewrap cannot hide a folder here: " + e.Said }

// Veil is how a folder is hidden from a program on this machine.
type Veil struct {
	Path string
	// Processes tells that other processes are hidden as well.
	Processes bool
}

// FindVeil tries what bubblewrap may do here, once. The error is ErrNoBubblewrap or a *VeilError.
var FindVeil = sync.OnceValues(func() (Veil, error) { return findVeil("bwrap") })

func findVeil(program string) (Veil, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return Veil{}, ErrNoBubblewrap
	}
	v := Veil{Path: path, Processes: true}
	if err = v.try(); err == nil {
		return v, nil
	}
	v.Processes = false // a second proc is refused more often than a second view of the files
	if v.try() == nil {
		return v, nil
	}
	return Veil{}, err
}

// try runs a program that does nothing behind the veil.
func (v Veil) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, v.Path, v.wrap("true", nil, "/mnt", "/tmp")...).CombinedOutput()
	if err == nil {
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if said == "" {
		said = err.Error()
	}
	return &VeilError{fmt.Sprintf("%.200s", said)}
}

// Hidden wraps a program so that the folder hide is not there for it, apart from keep inside it, and neither are other
// processes. Where the machine cannot do that the program starts as it is: FindVeil says why.
func Hidden(path string, args []string, hide, keep string) (string, []string) {
	v, err := FindVeil()
	if err != nil || hide == "" {
		return path, args
	}
	return v.Path, v.wrap(path, args, hide, keep)
}

func (v Veil) wrap(path string, args []string, hide, keep string) []string {
	out := []string{"--dev-bind", "/", "/", "--tmpfs", hide, "--bind", keep, keep}
	if v.Processes {
		out = append(out, "--unshare-pid", "--proc", "/proc")
	}
	return append(append(out, "--die-with-parent", "--new-session", "--chdir", keep, "--", path), args...)
}
