//go:build !linux

package confine

import (
	"errors"
	"fmt"
	"syscall"
)

// Without limits that the kernel keeps, a child is no protection: rather none than a pretended one.
func supported() error {
	return fmt.Errorf("%w: connections to warehouses and sheets need Linux, whose kernel confines the processes that read them; elsewhere run Atrium in a container", errors.ErrUnsupported)
}

func attributes() *syscall.SysProcAttr { return nil }

func bind(Limits) error { return supported() }
