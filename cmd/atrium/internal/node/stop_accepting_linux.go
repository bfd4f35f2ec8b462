package node

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// StopAccepting makes the kernel drop requests for new connections to l. It accepts those that clients have already
// begun, and the caller can accept those that are complete. Without it, closing l would reset connections that the
// kernel had completed and no one had accepted, perhaps with a request on them. A client whose request was dropped
// repeats it after a second, or goes to another node.
func StopAccepting(l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return fmt.Errorf("listener: %w", err)
	}
	// A packet begins with the TCP header. Drop those whose SYN flag is set (RFC 9293, section 3.1).
	const flags, syn, whole = 13, 0x02, 0xffffffff
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: whole},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // four instructions
	var attachErr error
	if err := raw.Control(func(fd uintptr) {
		attachErr = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
	}); err != nil {
		return fmt.Errorf("listener: %w", err)
	}
	if attachErr != nil {
		return fmt.Errorf("listener: filter: %w", attachErr)
	}
	return nil
}
