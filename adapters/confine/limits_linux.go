package confine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/ports"
)

func supported() error { return nil }

// attributes make a child a process group's leader, so that it gets no signals of the terminal and the whole group can
// be killed. The child also dies with this process, even if that is killed by SIGKILL.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a child that has not been waited for, and every process of its group.
func killGroup(p *os.Process) {
	_ = unix.Kill(-p.Pid, unix.SIGKILL) // an error says that it is gone
	_ = p.Kill()                        // if it made another group
}

// awaitEnd returns once a child has ended. The process ID is still reserved, so that its group can be killed.
func awaitEnd(p *os.Process) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// niceness is the nice value of children: requests are more urgent. With 5 a child still gets a quarter of a concurrent
// request's CPU time (sched(7)). With 10 it got a tenth, and on a machine that was busy with other programs probes
// failed because they ran out of time.
const niceness = 5

// Hide keeps the memory, the environment and the open files of this process from all other processes of its
// user, and from core dumps.
func Hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: hide this process from others: %w", err)
	}
	return nil
}

// readable reports whether a read of f would not wait.
func readable(f *os.File) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, 0) //nolint:gosec // it is small
	return err != nil || n > 0
}

// prepare is what a child does before it reads its request.
func prepare() error {
	if err := Hide(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	// The group has all threads; PRIO_PROCESS would affect only this one.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness) // an error means that the priority is already lower
	return nil
}

// bind sets limits that this process cannot lift again, and sandboxes it.
func bind(l Limits, needs ports.JobNeeds) error {
	runtime.LockOSThread() // no_new_privs and the seccomp filter start from one thread
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := limit(l); err != nil {
		return err
	}
	if err := restrictAccess(needs); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := filterCalls(needs); err != nil { // last: it refuses all of the above
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// limit sets resource limits. RLIMIT_DATA counts writable memory; RLIMIT_AS would count the address space that
// Go reserves, and end the process early. RLIMIT_DATA also counts memory that is never used: tables of Go's runtime and
// of packages, some 70 MiB of this program. They are mapped before the job, so that they can be left out.
func limit(l Limits) error {
	reserve, err := unusedData()
	if err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	cpu, data := uint64(max(l.CPU, 1)*slower), uint64(l.Memory+reserve+threadStacks) //nolint:gosec // from constants
	limits := []struct {
		name      string
		resource  int
		soft, max uint64
	}{
		{"memory", unix.RLIMIT_DATA, data, data},
		{"processor time", unix.RLIMIT_CPU, cpu, cpu + 1}, // at the first the kernel warns, at the second it kills
		{"size of files", unix.RLIMIT_FSIZE, 0, 0},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files)}, //nolint:gosec // from a constant
		{"core dumps", unix.RLIMIT_CORE, 0, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 0, 0},
	}
	if threads, ok := maxThreads(); ok {
		limits = append(limits, struct {
			name      string
			resource  int
			soft, max uint64
		}{"threads", unix.RLIMIT_NPROC, threads, threads})
	}
	for _, limit := range limits {
		if raceDetector && limit.resource == unix.RLIMIT_DATA {
			continue
		}
		var previous unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &previous); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
		next := unix.Rlimit{Cur: min(limit.soft, previous.Max), Max: min(limit.max, previous.Max)}
		if err := unix.Setrlimit(limit.resource, &next); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	return nil
}

// unusedData returns how much of this process's writable memory it has not used yet, in bytes.
func unusedData() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	data, err := sizeIn(status, "VmData")
	if err != nil {
		return 0, err
	}
	usage, err := sizeIn(status, "RssAnon")
	return max(data-usage, 0), err
}

// sizeIn returns a size in a process's status, in bytes (proc_pid_status(5)).
func sizeIn(status []byte, name string) (int64, error) {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, errors.New("there is no " + name)
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64) // kB
	return n << 10, err
}

// maxThreads is how many threads the user of this process may have. RLIMIT_NPROC counts all user threads on the
// machine, including the server's and other programs' threads, and no thread can be made beyond it. So it is above the
// current number of all threads: it stops a child that creates threads without end.
func maxThreads() (uint64, bool) {
	const room = 512
	text, err := os.ReadFile("/proc/loadavg") // its fourth field is running/all
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 4 {
		return 0, false
	}
	_, all, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.ParseUint(string(all), 10, 32)
	return n + room, err == nil
}
