//go:build !linux

package node

import (
	"errors"
	"net"
)

// StopAccepting returns errors.ErrUnsupported: only Linux can drop requests for new connections.
func StopAccepting(net.Listener) error { return errors.ErrUnsupported }
