package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// lowerPriority makes all threads of this process stand back. The system knows priorities of threads only; those that
// come later inherit it from these.
func lowerPriority(nice int) error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	var errs error
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, nice); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = errors.Join(errs, err)
		}
	}
	return errs
}
