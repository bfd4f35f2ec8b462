//go:build !linux

package node

import (
	"errors"
	"net"
)

// RefuseNewcomers returns errors.ErrUnsupported: only Linux can drop requests for new connections.
func RefuseNewcomers(net.Listener) error { return errors.ErrUnsupported }
