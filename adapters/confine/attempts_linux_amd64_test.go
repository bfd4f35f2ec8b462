package confine_test

import "golang.org/x/sys/unix"

// legacyAttempts are of calls that only older machines have, or of the machine's other interfaces.
var legacyAttempts = []attempt{
	{name: "open by the old call", part: partFilter, try: raw(unix.SYS_OPEN, text("/nothing"), unix.O_RDONLY)},
	{name: "fork by the old call", part: partFilter, try: raw(unix.SYS_CLONE, 0x40000000|unix.CLONE_SIGHAND)},
	{name: "a shell by the x32 interface", part: partFilter, try: raw(0x40000000|520, text("/nothing"), 0, 0)},
	{name: "a descriptor table", part: partFilter, try: raw(unix.SYS_MODIFY_LDT, 0xff, 0, 0)},
	{name: "ports of the machine", part: partFilter, try: raw(unix.SYS_IOPL, 9)},
}
