package server

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rss is how much memory this process holds, in bytes; 0 where the system does not say.
func rss() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(raw)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// cpu is how much processor time this process has used.
func cpu() time.Duration { return used(syscall.RUSAGE_SELF) }

// threadCPU is how much of it the calling thread has used.
func threadCPU() time.Duration { return used(unix.RUSAGE_THREAD) }

func used(whose int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(whose, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
