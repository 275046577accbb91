package browser

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"parley/browser/display"
	"parley/internal/proc"
)

// janitorScript waits for the end of its input, which is ours, and then removes the run folder and what a killed display
// left. What was killed with us may write for a moment longer, hence the tries.
const janitorScript = `cat >/dev/null
if read -r n pid <"$1/display" 2>/dev/null; then
	if [ "$(tr -d ' ' <"/tmp/.X$n-lock" 2>/dev/null)" = "$pid" ] && ! kill -0 "$pid" 2>/dev/null; then
		rm -f "/tmp/.X11-unix/X$n" "/tmp/.X$n-lock"
	fi
fi
for try in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf -- "$1" 2>/dev/null
	[ -e "$1" ] || exit 0
	sleep 0.5
done
exit 1`

// janitor is a small process that outlives ours, whatever ends us, to remove the folder that everything temporary of the
// browsers lies in: nothing else can after a SIGKILL.
type janitor struct {
	dir string
	in  io.Closer
	cmd *exec.Cmd
}

// newJanitor makes the folder, which the account can use, and starts who removes it.
func newJanitor(base string, account *proc.Account) (*janitor, error) {
	dir, err := proc.RunDir(base, account)
	if err != nil {
		return nil, err
	}
	j := &janitor{dir: dir, cmd: exec.Command("/bin/sh", "-c", janitorScript, "sh", dir)}
	j.cmd.Dir, j.cmd.Env = "/", []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what is sent to our group is not meant for it
	if j.in, err = j.cmd.StdinPipe(); err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("the process that cleans up after a crash: %w", err)
	}
	return j, nil
}

// shown notes which display is ours.
func (j *janitor) shown(d *display.Display) {
	text := d.Name()[1:] + " " + strconv.Itoa(d.PID()) + "\n"
	_ = os.WriteFile(filepath.Join(j.dir, "display"), []byte(text), 0o600) // without it a lock stays after a crash, which does no harm
}

// close lets it do its work and waits for it.
func (j *janitor) close() error {
	_ = j.in.Close()
	late := time.AfterFunc(10*time.Second, func() { _ = j.cmd.Process.Kill() })
	defer late.Stop()
	if err := j.cmd.Wait(); err != nil {
		return fmt.Errorf("the browsers' folder could not be removed: %w", err)
	}
	return nil
}
