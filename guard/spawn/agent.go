package spawn

import (
	"os/exec"

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

// Hidden wraps a program into bubblewrap where the machine has it: the folder hide is not there for it, apart from keep
// inside it, and neither are other processes. Without bubblewrap the program starts as it is.
func Hidden(path string, args []string, hide, keep string) (string, []string) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil || hide == "" {
		return path, args
	}
	return bwrap, wrapped(path, args, hide, keep)
}

func wrapped(path string, args []string, hide, keep string) []string {
	out := []string{"--dev-bind", "/", "/", "--tmpfs", hide, "--bind", keep, keep, "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--new-session", "--chdir", keep, "--", path}
	return append(out, args...)
}
