package confine

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// attributes keep a terminal's signals from a child, and let it die with us, even by SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// bind sets limits that this process cannot lift again. RLIMIT_DATA counts what is writable;
// RLIMIT_AS would count the address space that Go reserves, and end the process early.
func bind(l Limits) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // no core, no debugger
		return fmt.Errorf("not dumpable: %w", err)
	}
	cpu, data := uint64(max(l.CPU, 1)), uint64(l.Memory+threadStacks) //nolint:gosec // from constants
	for _, limit := range []struct {
		name      string
		resource  int
		soft, max uint64
	}{
		{"memory", unix.RLIMIT_DATA, data, data},
		{"processor time", unix.RLIMIT_CPU, cpu, cpu + 1}, // at the first the kernel warns, at the second it kills
		{"size of files", unix.RLIMIT_FSIZE, 0, 0},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files)}, //nolint:gosec // from a constant
		{"core dumps", unix.RLIMIT_CORE, 0, 0},
	} {
		if raceDetector && limit.resource == unix.RLIMIT_DATA {
			continue
		}
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.soft, Max: limit.max}); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	return nil
}
