//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/atrium-hq/atrium/ports"
)

// A child without limits that the kernel enforces is no protection, so none is claimed here.
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
