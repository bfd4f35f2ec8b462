package sources

import (
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors that end a read after its first row, when a client has a part of the rows.
var (
	ErrRowLimit = &fault.Error{
		Kind: fault.TooLarge,
		Code: "row_limit_reached",
		Detail: "The organisation's limit of rows for one read is reached, and there are more. Read pages, or fewer " +
			"rows with a filter.",
	}
	ErrByteLimit = &fault.Error{
		Kind: fault.TooLarge,
		Code: "byte_limit_reached",
		Detail: "The organisation's limit of bytes for one read is reached, and there are more rows. Read pages, " +
			"fewer fields, or fewer rows with a filter.",
	}
	ErrTimeLimit = &fault.Error{
		Kind: fault.UpstreamTimeout,
		Code: "time_limit_reached",
		Detail: "The organisation's limit of seconds for one read is reached, and there are more rows. Read pages, " +
			"or fewer rows with a filter.",
	}
	ErrDisconnected = &fault.Error{
		Kind:   fault.Upstream,
		Code:   "source_disconnected",
		Detail: "The database ended the session before all rows were read. Read them again.",
	}
)

// disconnections are the codes of a server that was there when the read began.
var disconnections = []connection.Code{connection.ServerStarting, connection.BackendUnreachable,
	connection.HostUnreachable, connection.PortClosed, connection.NotThisDatabase, connection.ConnectTimeout}

// fault converts an error of the read into one for the caller.
func (r *rowReader) fault(err error) error {
	if r.started {
		code, _ := errors.AsType[connection.Code](err)
		switch {
		case slices.Contains(disconnections, code):
			return ErrDisconnected
		case code == connection.QueryTimeout, errors.Is(err, ErrReadTimeout):
			return ErrTimeLimit
		case code == connection.ResponseTooLarge:
			return ErrByteLimit
		}
	}
	return toFault(err)
}
