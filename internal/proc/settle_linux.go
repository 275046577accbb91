package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Settle gives back what only the start needed: freed memory, and the pages of the program's own file that are mapped
// but not used any more (code that ran once, tables that were read once). What is needed after all comes back from the
// page cache by itself. A service is then as big as what it does, not as what its start did.
func Settle() error {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	maps, err := cleanMaps(f, self)
	_ = f.Close()
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	for _, m := range maps {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(m.start), uintptr(m.end-m.start), unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("settle: %w", errno)
		}
	}
	return nil
}

// Settler settles a process whenever it has grown. The zero value is ready; one goroutine uses it.
type Settler struct{ floor int }

// grown is how much larger than after the last time a process is before it is worth the pages that come back, in bytes.
const grown = 2 << 20

// Look settles the process if it has grown since the last time that it did, and tells whether.
func (s *Settler) Look() (bool, error) {
	now, err := resident()
	if err != nil || s.floor > 0 && now < s.floor+grown {
		return false, err
	}
	if err := Settle(); err != nil {
		return false, err
	}
	s.floor, err = resident()
	return true, err
}

// resident is how much memory the process has now, in bytes.
func resident() (int, error) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("settle: %w", err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		return 0, fmt.Errorf("settle: /proc/self/statm: %w", err)
	}
	return pages * os.Getpagesize(), nil
}

// span is a mapping of memory.
type span struct{ start, end uint64 }

// cleanMaps finds in the form of /proc/PID/smaps the mappings of a file that cannot be written and that hold nothing
// but the file: a page that was changed (a relocation) would be lost.
func cleanMaps(r io.Reader, file string) ([]span, error) {
	var out []span
	var now *span
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) == 0 {
			continue
		}
		if from, to, ok := strings.Cut(f[0], "-"); ok && !strings.HasSuffix(f[0], ":") {
			now = nil
			start, err := strconv.ParseUint(from, 16, 64)
			end, err2 := strconv.ParseUint(to, 16, 64)
			if err != nil || err2 != nil || len(f) < 6 || strings.Join(f[5:], " ") != file || strings.Contains(f[1], "w") || strings.Contains(f[1], "s") {
				continue
			}
			now = &span{start, end}
			continue
		}
		if f[0] == "Anonymous:" && len(f) > 1 && f[1] == "0" && now != nil {
			out = append(out, *now)
		}
	}
	return out, s.Err()
}
