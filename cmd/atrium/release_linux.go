package main

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory returns what only the start needed: the free memory of the heap, and the mapped pages of the binary.
// The kernel maps 16 or more pages around each one that is used, and never unmaps them while memory is left. It maps
// those again that are still needed, from its cache. Pages of the binary that the process has changed are kept.
func releaseMemory() {
	debug.FreeOSMemory()
	binary, err := os.Executable()
	if err != nil {
		return
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	var start, end uint64 // of a mapping of the binary that cannot be written
	for lines := bufio.NewScanner(strings.NewReader(string(smaps))); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			start, end = 0, 0
			if fields[len(fields)-1] == binary && !strings.Contains(fields[1], "w") {
				from, to, _ := strings.Cut(fields[0], "-")
				start, _ = strconv.ParseUint(from, 16, 64)
				end, _ = strconv.ParseUint(to, 16, 64)
			}
		case len(fields) == 3 && fields[0] == "Anonymous:" && fields[1] == "0" && start < end:
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
		}
	}
}
