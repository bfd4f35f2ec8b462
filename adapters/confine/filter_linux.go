package confine

import (
	"os"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/ports"
)

// filterable reports whether system calls can be filtered here.
func filterable() bool {
	_, err := arch.GetInfo("")
	return err == nil && seccomp.Supported()
}

// filterCalls makes the kernel refuse all system calls of this process, in all threads, that are not listed below. A
// kernel without filters refuses none.
func filterCalls(needs ports.JobNeeds) error {
	if !filterable() {
		return nil
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{
		{Action: seccomp.ActionAllow, Names: plainCalls, NamesWithCondtions: boundCalls(os.Getpid())},
		{Action: noSuchCall, Names: []string{"clone3", "openat2"}},
	}}
	if needs.Network {
		policy.Syscalls = append(policy.Syscalls, seccomp.SyscallGroup{
			Action: seccomp.ActionAllow, Names: socketCalls, NamesWithCondtions: boundSocketCalls(),
		})
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}

// noSuchCall refuses a call as if the kernel did not know it. The caller then makes an older call, whose arguments a
// filter can see.
const noSuchCall = seccomp.Action(unix.SECCOMP_RET_ERRNO) | seccomp.Action(unix.ENOSYS)

// plainCalls are allowed with any arguments: Go and SQLite need them to compute, to wait, and to read files that are
// open or that Landlock lets them open.
var plainCalls = []string{
	// Memory.
	"munmap", "mremap", "madvise", "brk",
	// Threads and time.
	"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
	"gettimeofday", "exit", "exit_group", "set_robust_list", "rseq", "restart_syscall", "getrandom",
	"gettid", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "uname", "getrusage",
	// The handling of signals, not their sending.
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
	// Files and pipes.
	"read", "readv", "pread64", "preadv", "write", "writev", "close", "lseek", "fstat", fstatat, "statx",
	"statfs", "fstatfs", "faccessat", "faccessat2", "readlinkat", "getcwd", "getdents64", "dup", "dup3", "pipe2",
	// Waiting for them.
	"epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2", "ppoll", "pselect6",
}

// boundCalls are allowed with some arguments. If a call has several entries, one of them must match.
func boundCalls(pid int) []seccomp.NameWithConditions {
	const (
		notRead = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND |
			unix.O_TMPFILE&^unix.O_DIRECTORY
		unshared = unix.MAP_SHARED | unix.MAP_GROWSDOWN | unix.MAP_HUGETLB // all shared mappings have MAP_SHARED
		spaces   = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
	)
	calls := []seccomp.NameWithConditions{
		// Private memory that is not executable; the program itself is already loaded. Memory that is shared or grows
		// by itself would not count towards the memory limit.
		{Name: "mmap", Conditions: seccomp.ArgumentConditions{lacksBits(2, unix.PROT_EXEC), lacksBits(3, unshared)}},
		{Name: "mprotect", Conditions: seccomp.ArgumentConditions{lacksBits(2, unix.PROT_EXEC)}},
		// Threads, but no processes.
		{Name: "clone", Conditions: seccomp.ArgumentConditions{hasBits(0, unix.CLONE_THREAD), lacksBits(0, spaces)}},
		// Signals to the process itself, by which Go interrupts its threads.
		{Name: "tgkill", Conditions: seccomp.ArgumentConditions{is(0, pid)}},
		// Reading.
		{Name: "openat", Conditions: seccomp.ArgumentConditions{lacksBits(2, notRead)}},
		// The limits of this process, to see them.
		{Name: "prlimit64", Conditions: seccomp.ArgumentConditions{is(0, 0), is(2, 0)}},
		// Names for memory mappings, which Go sets.
		{Name: "prctl", Conditions: seccomp.ArgumentConditions{is(0, unix.PR_SET_VMA)}},
	}
	// Flags and locks, but not F_SETOWN and F_SETSIG, which make the kernel send signals.
	for _, command := range []int{
		unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW,
	} {
		calls = append(calls, seccomp.NameWithConditions{Name: "fcntl",
			Conditions: seccomp.ArgumentConditions{is(1, command)}})
	}
	return calls
}

// socketCalls are allowed to jobs that need a network. Only connect takes an address, and Landlock restricts it; none
// listens.
var socketCalls = []string{"connect", "getsockname", "getpeername", "getsockopt", "recvfrom", "shutdown"}

// boundSocketCalls are allowed with some arguments: those that Go's net package uses, TCP and UDP only.
func boundSocketCalls() (calls []seccomp.NameWithConditions) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		for _, kind := range []struct{ socket, protocol int }{{unix.SOCK_STREAM, unix.IPPROTO_TCP},
			{unix.SOCK_DGRAM, unix.IPPROTO_UDP}} {
			for _, protocol := range []int{0, kind.protocol} {
				calls = append(calls, seccomp.NameWithConditions{Name: "socket", Conditions: seccomp.ArgumentConditions{
					is(0, family), is(1, kind.socket|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC), is(2, protocol),
				}})
			}
		}
	}
	for level, options := range map[int][]int{
		unix.SOL_SOCKET:   {unix.SO_BROADCAST, unix.SO_KEEPALIVE, unix.SO_LINGER, unix.SO_RCVBUF, unix.SO_SNDBUF},
		unix.IPPROTO_TCP:  {unix.TCP_NODELAY, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT},
		unix.IPPROTO_IPV6: {unix.IPV6_V6ONLY},
	} {
		for _, option := range options {
			calls = append(calls, seccomp.NameWithConditions{Name: "setsockopt",
				Conditions: seccomp.ArgumentConditions{is(1, level), is(2, option)}})
		}
	}
	return calls
}

func is(argument uint32, value int) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: uint64(value)} //nolint:gosec // constants, and a pid
}

func hasBits(argument uint32, bit uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bit}
}

func lacksBits(argument uint32, bits uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet, Value: bits}
}
