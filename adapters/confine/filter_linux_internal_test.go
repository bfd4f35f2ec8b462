package confine

import (
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// TestEveryCallHasANumber looks up the calls of the filter on each machine that releases are for, since an unknown name
// would keep every child from starting there.
func TestEveryCallHasANumber(t *testing.T) {
	names := slices.Concat(plainCalls, socketCalls, []string{"clone3", "openat2"})
	for _, bound := range slices.Concat(boundCalls(1), boundSocketCalls()) {
		names = append(names, bound.Name)
	}
	for _, machine := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		for _, name := range names {
			if name == fstatat { // each machine has a name of its own for it
				continue
			}
			if _, ok := machine.SyscallNames[name]; !ok {
				t.Errorf("%s has no %s", machine.Name, name)
			}
		}
	}
	for machine, name := range map[*arch.Info]string{arch.X86_64: "newfstatat", arch.AARCH64: "fstatat"} {
		if _, ok := machine.SyscallNames[name]; !ok {
			t.Errorf("%s has no %s", machine.Name, name)
		}
	}
}
