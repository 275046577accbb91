package bridge

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// unread tells that the reading end of a pipe is closed. Of anything but a file it cannot tell.
func unread(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}} // POLLERR is told without being asked for
		n, err := unix.Poll(p, 0)
		closed = err == nil && n > 0 && p[0].Revents&(unix.POLLERR|unix.POLLNVAL) != 0
	})
	return closed || err != nil
}
