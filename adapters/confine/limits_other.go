//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/atrium-hq/atrium/ports"
)

// Without limits that the kernel enforces, a child is no protection, so this system is not supported.
func supported() error {
	return fmt.Errorf("%w: connections to warehouses and sheets need Linux, whose kernel confines the processes that "+
		"read them; elsewhere run Atrium in a container", errors.ErrUnsupported)
}

// Missing lists the parts of the confinement that this system lacks.
func Missing() []string { return []string{"Linux: there are no children"} }

// Hide does nothing.
func Hide() error { return nil }

func attributes() *syscall.SysProcAttr { return nil }

func prepare() error { return supported() }

func bind(Limits, ports.JobNeeds) error { return supported() }

func killGroup(p *os.Process) { _ = p.Kill() }

func awaitEnd(*os.Process) {}

func readable(*os.File) bool { return true }
