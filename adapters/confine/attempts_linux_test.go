package confine_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of the confinement, of which a kernel may lack some.
const (
	partFilter  = "seccomp"
	partFiles   = "Landlock"
	partTCP     = "Landlock for TCP"
	partLimits  = "resource limits"
	partNothing = "nothing" // it must succeed: without that the refusals would prove nothing
)

// attempt is something that hostile code in a child tries.
type attempt struct {
	name  string
	part  string // of the confinement that refuses it
	try   func(w world) error
	whole bool // only a job with a network makes it: another one has no sockets at all
}

// world is what hostile code knows of where it is.
type world struct {
	Data    string // the data directory, which holds a key file, a database, warehouses and sheets
	Parent  int
	Open    uint16 // a port on loopback that the job may connect to
	Closed  uint16 // another one
	Network bool   // whether the job has a network
}

func (w world) at(name string) string { return filepath.Join(w.Data, name) }

func read(path func(world) string) func(world) error {
	return func(w world) error {
		f, err := os.Open(path(w))
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			_, err = f.Readdirnames(1)
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return err
	}
}

func data(name string) func(world) string { return func(w world) string { return w.at(name) } }

func ofParent(name string) func(world) string {
	return func(w world) string { return filepath.Join("/proc", strconv.Itoa(w.Parent), name) }
}

func fixed(path string) func(world) string { return func(world) string { return path } }

// raw makes a system call with constant arguments. They are such that it does no harm where it is allowed.
func raw(number uintptr, arguments ...uintptr) func(world) error {
	return func(world) error { return call(number, arguments...) }
}

func call(number uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s + "\x00"))) }

// socket opens a socket and closes it.
func socket(family, kind, protocol int) func(world) error {
	return func(world) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func memory(protection, flags int) func(world) error {
	return func(world) error {
		b, err := unix.Mmap(-1, 0, 512<<20, protection, flags|unix.MAP_ANONYMOUS)
		if err == nil {
			unix.Munmap(b)
		}
		return err
	}
}

// onTCP does something with a socket that was made as Go makes them.
func onTCP(do func(fd int, w world) error) func(world) error {
	return func(w world) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("there is no socket to try it with: %w", err)
		}
		defer unix.Close(fd)
		return do(fd, w)
	}
}

var loopback4 = [4]byte{127, 0, 0, 1}

func dial(network string, port func(world) uint16) func(world) error {
	return func(w world) error {
		c, err := net.Dial(network, fmt.Sprintf("127.0.0.1:%d", port(w)))
		if err == nil {
			c.Close()
		}
		return err
	}
}

// attempts are what the child tries. The calls of which some machines have none are in legacyAttempts.
var attempts = append([]attempt{
	{name: "read a file of its own folder", part: partNothing, try: read(data("warehouses/mine.db"))},
	{name: "read the key file", part: partFiles, try: read(data("keyring.json"))},
	{name: "read the database", part: partFiles, try: read(data("atrium.db"))},
	{name: "list the data directory", part: partFiles, try: read(data("."))},
	{name: "read files of other jobs", part: partFiles, try: read(data("sheets/theirs.csv"))},
	{name: "read the key file by a link", part: partFiles, try: read(data("warehouses/link.db"))},
	{name: "read the key file by way of the own folder", part: partFiles,
		try: read(data("warehouses/../keyring.json"))},
	{name: "read the key file through /proc/self/root", part: partFiles,
		try: read(func(w world) string { return "/proc/self/root" + w.at("keyring.json") })},
	{name: "read the parent's memory", part: partFiles, try: read(ofParent("mem"))},
	{name: "read the parent's environment", part: partFiles, try: read(ofParent("environ"))},
	{name: "read the parent's memory map", part: partFiles, try: read(ofParent("maps"))},
	{name: "list the parent's open files", part: partFiles, try: read(ofParent("fd"))},
	{name: "read the parent's arguments", part: partFiles, try: read(ofParent("cmdline"))},
	{name: "read /etc/shadow", part: partFiles, try: read(fixed("/etc/shadow"))},
	{name: "read /etc/passwd", part: partFiles, try: read(fixed("/etc/passwd"))},
	{name: "list the processes", part: partFiles, try: read(fixed("/proc"))},
	{name: "list the folder of temporary files", part: partFiles, try: read(fixed("/tmp"))},
	{name: "read a disk", part: partFiles, try: read(fixed("/dev/null"))},

	{name: "make a file", part: partFilter, try: func(w world) error { return os.WriteFile(w.at("made"), nil, 0o600) }},
	{name: "make a file in its own folder", part: partFilter,
		try: func(w world) error { return os.WriteFile(w.at("warehouses/made"), nil, 0o600) }},
	{name: "write to the database", part: partFilter,
		try: func(w world) error { return open(w.at("atrium.db"), unix.O_WRONLY) }},
	{name: "empty a file by opening it", part: partFilter,
		try: func(w world) error { return open(w.at("warehouses/mine.db"), unix.O_RDONLY|unix.O_TRUNC) }},
	{name: "open an unnamed file", part: partFilter,
		try: func(w world) error { return open(w.at("warehouses"), unix.O_TMPFILE|unix.O_RDWR) }},
	{name: "open by openat2", part: partFilter, try: func(w world) error {
		_, err := unix.Openat2(unix.AT_FDCWD, w.at("warehouses/mine.db"), &unix.OpenHow{Flags: unix.O_RDONLY})
		return err
	}},
	{name: "truncate", part: partFilter, try: func(w world) error { return unix.Truncate(w.at("atrium.db"), 0) }},
	{name: "delete the database", part: partFilter, try: func(w world) error { return unix.Unlink(w.at("atrium.db")) }},
	{name: "delete a file of its own folder", part: partFilter,
		try: func(w world) error { return unix.Unlink(w.at("warehouses/mine.db")) }},
	{name: "rename the key file", part: partFilter,
		try: func(w world) error { return unix.Rename(w.at("keyring.json"), w.at("other.json")) }},
	{name: "rename with flags", part: partFilter, try: func(w world) error {
		return unix.Renameat2(unix.AT_FDCWD, w.at("keyring.json"), unix.AT_FDCWD, w.at("other.json"),
			unix.RENAME_NOREPLACE)
	}},
	{name: "chmod", part: partFilter,
		try: func(w world) error { return unix.Fchmodat(unix.AT_FDCWD, w.at("keyring.json"), 0o666, 0) }},
	{name: "chown", part: partFilter,
		try: func(w world) error { return unix.Fchownat(unix.AT_FDCWD, w.at("keyring.json"), -1, -1, 0) }},
	{name: "make a folder", part: partFilter, try: func(w world) error { return unix.Mkdir(w.at("folder"), 0o700) }},
	{name: "remove a folder", part: partFilter, try: func(w world) error { return unix.Rmdir(w.at("empty")) }},
	{name: "make a symbolic link", part: partFilter,
		try: func(w world) error { return unix.Symlink("x", w.at("symlink")) }},
	{name: "make a hard link", part: partFilter,
		try: func(w world) error { return unix.Link(w.at("keyring.json"), w.at("warehouses/hard")) }},
	{name: "make a pipe with a name", part: partFilter,
		try: func(w world) error { return unix.Mkfifo(w.at("pipe"), 0o600) }},
	{name: "change a file's times", part: partFilter, try: func(w world) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, w.at("atrium.db"), []unix.Timespec{{}, {}}, 0)
	}},
	{name: "set an extended attribute", part: partFilter,
		try: func(w world) error { return unix.Setxattr(w.at("atrium.db"), "user.a", []byte("b"), 0) }},
	{name: "change the folder", part: partFilter, try: func(world) error { return unix.Chdir("/") }},
	{name: "watch files", part: partFilter, try: func(world) error { return descriptor(unix.InotifyInit1(0)) }},

	{name: "run a shell", part: partFilter,
		try: func(world) error { return unix.Exec("/bin/sh/not", []string{"sh"}, nil) }},
	{name: "run a program by execveat", part: partFilter, try: raw(unix.SYS_EXECVEAT, 0, text("/nothing"), 0, 0, 0)},
	{name: "start a process", part: partFilter, try: func(world) error {
		p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
		if err == nil {
			_, err = p.Wait()
		}
		return err
	}},
	{name: "fork", part: partFilter, try: raw(unix.SYS_CLONE, uintptr(unix.CLONE_SIGHAND))}, // no kernel does that
	{name: "fork by clone3", part: partFilter, try: raw(unix.SYS_CLONE3, 0, 0)},
	{name: "a thread in other namespaces", part: partFilter,
		try: raw(unix.SYS_CLONE, unix.CLONE_THREAD|unix.CLONE_NEWNET)},

	{name: "trace the parent", part: partFilter,
		try: func(w world) error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(w.Parent)) }},
	{name: "be traced", part: partFilter, try: raw(unix.SYS_PTRACE, 0xffff)},
	{name: "read the parent's memory by a call", part: partFilter,
		try: func(w world) error { return across(unix.SYS_PROCESS_VM_READV, w) }},
	{name: "write to the parent's memory by a call", part: partFilter,
		try: func(w world) error { return across(unix.SYS_PROCESS_VM_WRITEV, w) }},
	{name: "take the parent's open files", part: partFilter,
		try: func(w world) error { return call(unix.SYS_PIDFD_OPEN, uintptr(w.Parent)) }},
	{name: "signal the parent", part: partFilter, try: func(w world) error { return unix.Kill(w.Parent, 0) }},
	{name: "signal the parent's thread", part: partFilter,
		try: func(w world) error { return unix.Tgkill(w.Parent, w.Parent, 0) }},
	{name: "signal any thread", part: partFilter,
		try: func(w world) error { return call(unix.SYS_TKILL, uintptr(w.Parent)) }},
	{name: "queue a signal for the parent", part: partFilter,
		try: func(w world) error { return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(w.Parent), 0, 0) }},
	{name: "have the kernel signal the parent", part: partFilter, try: func(w world) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, w.Parent)
		return err
	}},
	{name: "have the kernel signal the parent by ioctl", part: partFilter, try: raw(unix.SYS_IOCTL, 0, 0x8901, 0)},
	{name: "take other priorities", part: partFilter,
		try: func(w world) error { return unix.Setpriority(unix.PRIO_PROCESS, w.Parent, 19) }},
	{name: "limit the parent", part: partFilter, try: func(w world) error {
		return unix.Prlimit(w.Parent, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{name: "outlive the parent's death", part: partFilter,
		try: func(world) error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) }},
	{name: "begin a session", part: partFilter, try: func(world) error { return sessionOf() }},
	{name: "leave the process group", part: partFilter, try: func(world) error { return unix.Setpgid(0, 0) }},

	{name: "512 MiB of memory", part: partLimits, try: memory(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)},
	{name: "512 MiB of shared memory", part: partFilter, try: memory(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)},
	{name: "512 MiB of a stack", part: partFilter,
		try: memory(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_GROWSDOWN)},
	{name: "memory that is a program", part: partFilter, try: memory(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)},
	{name: "a file in memory", part: partFilter,
		try: func(world) error { return descriptor(unix.MemfdCreate("x", 0)) }},
	{name: "System V shared memory", part: partFilter, try: func(world) error {
		_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		return err
	}},
	{name: "a message queue", part: partFilter, try: raw(unix.SYS_MQ_OPEN, text("x"), unix.O_RDONLY)},
	{name: "lock memory", part: partFilter, try: raw(unix.SYS_MLOCKALL, 0xff)},
	{name: "raise a limit", part: partFilter, try: func(world) error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1024, Max: 1024})
	}},

	{name: "be readable to others again", part: partFilter,
		try: func(world) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
	{name: "another filter", part: partFilter, try: raw(unix.SYS_SECCOMP, 1, 0, 0)},
	{name: "other namespaces", part: partFilter, try: func(world) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{name: "the namespaces of another", part: partFilter, try: raw(unix.SYS_SETNS, 0, 0)},
	{name: "mount", part: partFilter, try: func(world) error { return unix.Mount("none", "/nothing", "tmpfs", 0, "") }},
	{name: "another root folder", part: partFilter, try: func(world) error { return unix.Chroot("/nothing") }},
	{name: "another user", part: partFilter, try: raw(unix.SYS_SETUID, 0)},
	{name: "other groups", part: partFilter, try: raw(unix.SYS_SETGROUPS, 0, 0)},
	{name: "capabilities", part: partFilter, try: raw(unix.SYS_CAPSET, 0, 0)},
	{name: "another personality", part: partFilter, try: raw(unix.SYS_PERSONALITY, 0xffffffff)},
	{name: "io_uring", part: partFilter, try: raw(unix.SYS_IO_URING_SETUP, 1, 0)},
	{name: "bpf", part: partFilter, try: raw(unix.SYS_BPF, 0xff, 0, 0)},
	{name: "performance events", part: partFilter, try: raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0)},
	{name: "page faults handled by hand", part: partFilter, try: raw(unix.SYS_USERFAULTFD, 0)},
	{name: "kernel keys", part: partFilter, try: raw(unix.SYS_KEYCTL, 0, 0, 0)},
	{name: "make a kernel key", part: partFilter, try: raw(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0)},
	{name: "load a module", part: partFilter, try: raw(unix.SYS_INIT_MODULE, 0, 0, 0)},

	{name: "listen on all addresses", part: partFilter, whole: true,
		try: onTCP(func(fd int, _ world) error { return unix.Listen(fd, 1) })},
	{name: "bind to loopback", part: partFilter, whole: true,
		try: onTCP(func(fd int, _ world) error { return unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback4}) })},
	{name: "connect to where it may", part: partNothing, whole: true,
		try: dial("tcp", func(w world) uint16 { return w.Open })},
	{name: "connect past the guard", part: partTCP, whole: true,
		try: dial("tcp", func(w world) uint16 { return w.Closed })},
	{name: "connect by the first packet", part: partFilter, whole: true, try: onTCP(func(fd int, w world) error {
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN,
			&unix.SockaddrInet4{Addr: loopback4, Port: int(w.Closed)})
	})},
	{name: "transparent sockets", part: partFilter, whole: true, try: onTCP(func(fd int, _ world) error {
		return unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1)
	})},
	{name: "filters of sockets", part: partFilter, whole: true, try: onTCP(func(fd int, _ world) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
	})},
	{name: "multipath TCP", part: partFilter, try: socket(unix.AF_INET, unix.SOCK_STREAM, 262)},
	{name: "raw sockets", part: partFilter, try: socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{name: "ping", part: partFilter, try: socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)},
	{name: "packets", part: partFilter, try: socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{name: "Unix sockets", part: partFilter, try: socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)},
	{name: "netlink", part: partFilter, try: socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
	{name: "sockets of virtual machines", part: partFilter, try: socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{name: "cryptography of the kernel", part: partFilter, try: socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
	{name: "a pair of sockets", part: partFilter, try: func(world) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	}},
}, legacyAttempts...)

// offline are the attempts of a job without a network, beside those of all jobs.
var offline = []attempt{
	{name: "a TCP socket without a network", part: partFilter,
		try: socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)},
	{name: "a UDP socket without a network", part: partFilter,
		try: socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)},
	{name: "connect without a network", part: partFilter, try: dial("tcp", func(w world) uint16 { return w.Open })},
}

func open(path string, flags int) error { return descriptor(unix.Open(path, flags, 0o600)) }

func descriptor(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func sessionOf() error {
	_, err := unix.Setsid()
	return err
}

// across copies a byte between this process and its parent.
func across(number uintptr, w world) error {
	var b [1]byte
	ownIovec := unix.Iovec{Base: &b[0], Len: 1}
	remote := unix.Iovec{Base: (*byte)(unsafe.Pointer(&loopback4)), Len: 1} // the same program is loaded there
	err := call(number, uintptr(w.Parent), uintptr(unsafe.Pointer(&ownIovec)), 1, uintptr(unsafe.Pointer(&remote)), 1)
	runtime.KeepAlive(&ownIovec)
	runtime.KeepAlive(&remote)
	return err
}

// refused reports whether an error is a refusal by the confinement, and not what comes of arguments without a sense.
func refused(err error) bool {
	for _, errno := range []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
