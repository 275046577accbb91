package pulse

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Cost is what the server takes of the machine.
type Cost struct {
	Core float64 // share of one core
	PSS  int64   // bytes of memory, shared pages counted by their part
}

// MeasureCost watches the server for a while.
func MeasureCost(ctx context.Context, s *Server, d time.Duration) (Cost, error) {
	before, err := cpuTime(s.PID())
	if err != nil {
		return Cost{}, err
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Done():
		return Cost{}, s.Err()
	case <-ctx.Done():
		return Cost{}, context.Cause(ctx)
	}
	after, err := cpuTime(s.PID())
	if err != nil {
		return Cost{}, err
	}
	pss, err := memory(s.PID())
	return Cost{Core: float64(after-before) / float64(time.Since(began)), PSS: pss}, err
}

// cpuTime is what a process has used, in the kernel's steps of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cost of the sound server: %w", err)
	}
	// The name, in brackets, may hold anything; user and system time are the 12th and 13th field after it.
	f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(f) < 13 {
		return 0, fmt.Errorf("cost of the sound server: %d fields", len(f))
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cost of the sound server: %w", err)
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cost of the sound server: %w", err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func memory(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of the sound server: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "Pss:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("memory of the sound server: %w", err)
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("memory of the sound server: the kernel does not tell")
}
