package confine

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/atrium-hq/atrium/ports"
)

// The versions of Landlock's ABI that introduced its features.
const (
	abiFiles = 1
	abiTCP   = 4
)

// Missing lists the parts of the confinement that this kernel lacks or this process may not use.
func Missing() (missing []string) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	if abi < abiFiles {
		missing = append(missing, "Landlock (Linux 5.13, enabled at boot): files are not kept from children")
	}
	if abi < abiTCP {
		missing = append(missing, "Landlock for TCP (Linux 6.7): children reach every port")
	}
	if !filterable() {
		missing = append(missing, "seccomp filters: children may make every system call")
	}
	return missing
}

// The system's files that connections need: those that the resolver reads, and the certificate authorities, where
// distributions keep them. Links are followed: their targets may be read.
var (
	resolverFiles = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols",
		"/etc/host.conf", "/etc/gai.conf", "/etc/mdns.allow"}
	authorityFiles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
		"/etc/pki/tls/cacert.pem", "/etc/pki/tls/certs/ca-bundle.crt"}
	authorityFolders = []string{"/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
		"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/var/lib/ca-certificates"}
)

// The time zones of the system, which any job may read.
var (
	zoneFiles   = []string{"/etc/localtime"}
	zoneFolders = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
)

// dnsPort is the port of name servers over TCP.
const dnsPort = 53

// restrictAccess makes Landlock refuse all files except those that a job needs, which can only be read. It also
// refuses listening by TCP, connections to other ports, and signals to processes outside. An older kernel refuses
// less.
func restrictAccess(needs ports.JobNeeds) error {
	ruleset := landlock.V7
	folders, files := append([]string{}, needs.Folders...), append([]string{}, zoneFiles...)
	folders = append(folders, zoneFolders...)
	if needs.Network {
		folders, files = append(folders, authorityFolders...),
			append(append(files, resolverFiles...), authorityFiles...)
	}
	rules := []landlock.Rule{
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, present(folders, true)...).IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadFile, present(files, false)...).IgnoreIfMissing(),
	}
	switch {
	case needs.Network && len(needs.Ports) == 0:
		ruleset.HandledAccessNet &^= ll.AccessNetConnectTCP
	case needs.Network:
		for _, port := range append([]uint16{dnsPort}, needs.Ports...) {
			rules = append(rules, landlock.ConnectTCP(port))
		}
	}
	return ruleset.BestEffort().Restrict(rules...)
}

// present returns the paths that exist: folders, and other files.
func present(paths []string, folder bool) (found []string) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() == folder {
			found = append(found, path)
		}
	}
	return found
}

// dropCapabilities drops a root process's capabilities, except for reading files of others: the data directory may
// belong to another user.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	const keep = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if data[0].Permitted&^keep == 0 && data[1].Permitted == 0 {
		return nil
	}
	permitted := data[0].Permitted & keep
	data = [2]unix.CapUserData{{Effective: permitted, Permitted: permitted}}
	// unix.Capset affects only one thread.
	//nolint:gosec // the kernel's interface
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 && !errors.Is(errno, syscall.ENOSYS) {
		return errno
	}
	return nil
}
