package sqlserver

import (
	"context"
	"errors"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// numbers maps error numbers (sys.messages; Azure's lists of connection errors and of resource limits).
var numbers = map[int32]connection.Code{
	18456: connection.AuthFailed,   // the reason is only in the server's log
	18452: connection.AuthRejected, // only users of Windows may sign in
	18470: connection.AuthRejected, // the login is disabled
	18486: connection.AuthRejected, // the login is locked
	18487: connection.AuthRejected, // the password has expired
	18488: connection.AuthRejected, // the password must be changed
	17892: connection.AuthRejected, // a logon trigger refuses
	40532: connection.AuthRejected, // Azure has no server of this name
	40615: connection.AuthRejected, // Azure's firewall does not list the address
	40914: connection.AuthRejected, // Azure's firewall does not list the network
	47073: connection.AuthRejected, // Azure allows only private endpoints
	17835: connection.TLSRequired,
	911:   connection.DatabaseNotFound,
	916:   connection.DatabaseDeniedOrMissing,
	4060:  connection.DatabaseDeniedOrMissing,
	4064:  connection.DatabaseDeniedOrMissing,
	229:   connection.PermissionDenied, // on an object
	230:   connection.PermissionDenied, // on a column
	262:   connection.PermissionDenied,
	297:   connection.PermissionDenied,
	300:   connection.PermissionDenied,
	207:   connection.TableNotFound, // a column that was dropped since the catalogue was read
	208:   connection.TableNotFound,
	10928: connection.TooManyConnections, // Azure's limit of sessions or of requests
	17809: connection.TooManyConnections,
	40501: connection.TooManyConnections, // Azure is busy
	49918: connection.TooManyConnections, // as before
	49919: connection.TooManyConnections, // as before
	49920: connection.TooManyConnections, // as before
	921:   connection.ServerStarting,     // the database has not been recovered yet
	922:   connection.ServerStarting,     // it is being recovered
	927:   connection.ServerStarting,     // it is being restored
	942:   connection.ServerStarting,     // it is offline
	976:   connection.ServerStarting,     // a secondary that accepts no readers
	978:   connection.ServerStarting,     // as before
	983:   connection.ServerStarting,     // as before
	6005:  connection.ServerStarting,     // shutting down
	17142: connection.ServerStarting,     // paused
	18401: connection.ServerStarting,     // upgrading itself
	18451: connection.ServerStarting,     // only administrators may connect
	18461: connection.ServerStarting,     // only one administrator may connect
	40197: connection.ServerStarting,     // Azure moves the database
	40613: connection.ServerStarting,     // Azure's database is not available, or is resuming
	596:   connection.QueryTimeout,       // the session was killed
	1205:  connection.QueryTimeout,       // chosen as a deadlock's victim
	1222:  connection.QueryTimeout,       // a lock that could not be acquired
	8645:  connection.QueryTimeout,       // memory that could not be acquired
	701:   connection.QuotaExceeded,      // no memory
	802:   connection.QuotaExceeded,      // as before
	1101:  connection.QuotaExceeded,      // no disk space
	1105:  connection.QuotaExceeded,      // as before
	8649:  connection.QuotaExceeded,      // the governor's limit of costs
	9002:  connection.QuotaExceeded,      // no space for the log
	10929: connection.QuotaExceeded,      // Azure's limits
	40544: connection.QuotaExceeded,      // as before
	40551: connection.QuotaExceeded,      // as before: tempdb
	40553: connection.QuotaExceeded,      // as before: memory
	102:   connection.UnsupportedVersion, // a statement that this product does not support
	156:   connection.UnsupportedVersion, // as before
	195:   connection.UnsupportedVersion, // a function that it lacks
}

// unreadable maps the numbers of errors that a table, or a view's function, causes to their SQLSTATE in ODBC; "" if no
// SQLSTATE is more specific.
var unreadable = map[int32]string{
	220:  "22003", // out of range
	232:  "22003", // as before
	241:  "22007", // a text that is no date
	242:  "22007", // as before, out of range
	245:  "22018", // a text that is no number
	512:  "21000", // a subquery with several rows
	3961: "",      // the table was changed since the snapshot
	4413: "42000", // a view of what is no longer there
	4502: "42000", // a view with another number of columns than its statement
	6522: "38000", // a function of the CLR fails
	7202: "",      // a linked server that is not there
	7399: "",      // a linked server reports an error
	8114: "22018", // a value that cannot be converted
	8115: "22003", // an overflow
	8134: "22012", // a division by zero
	8152: "22001", // a text that is too long
	2628: "22001", // as before
	9402: "2200M", // a text that is no XML
}

// firstOfUsers is the first number of errors that users define, for RAISERROR and THROW.
const firstOfUsers = 50000

// code returns the code for a server's error. A server may send several: one about the database comes before the one
// about the login, and one about a view after those about its tables.
func code(err mssql.Error) error {
	all := err.All
	if len(all) == 0 {
		all = []mssql.Error{err}
	}
	for _, e := range all {
		if state, ok := unreadable[e.Number]; ok || e.Number >= firstOfUsers {
			return connection.Unreadable(state)
		}
	}
	for _, e := range all {
		if c, ok := numbers[e.Number]; ok {
			return c
		}
	}
	return connection.Internal
}

// beforeTLS returns why a connection could not be encrypted.
func (h *handshake) beforeTLS(err error) error {
	if h.untrusted != nil {
		return warehouse.Classify(h.ctx, h.untrusted)
	}
	if code := h.common(err); code != nil {
		return code
	}
	if h.strict() {
		if code := warehouse.Classify(h.ctx, err); !errors.Is(code, connection.Internal) &&
			!errors.Is(code, connection.PortClosed) {
			return code
		}
		return connection.TLSUnsupported
	}
	if !h.wire.speaksTDS() {
		return connection.NotThisDatabase
	}
	return connection.TLSUnsupported
}

// beforeLogin returns why a user was not signed in.
func (h *handshake) beforeLogin(err error) error {
	if h.wire.refused {
		return connection.TLSRequired
	}
	if e, ok := errors.AsType[mssql.Error](err); ok {
		if c := code(e); !errors.Is(c, connection.TableUnreadable) {
			return c
		}
		return connection.Internal // no table was read
	}
	if code := h.common(err); code != nil {
		return code
	}
	if h.wire.Ended() && (h.encrypted || h.wire.speaksTDS()) {
		return connection.HostUnreachable // it closed the connection in the middle
	}
	return connection.NotThisDatabase
}

// common returns the code for an error that can occur at each step before the session, nil if it is another one. The
// driver hides errors of the network; the wire remembers them.
func (h *handshake) common(err error) error {
	wireErr := h.wire.Err()
	switch {
	case h.refused != nil:
		return h.refused
	case errors.Is(wireErr, connection.ResponseTooLarge):
		return connection.ResponseTooLarge
	case warehouse.IsTimeout(err) || warehouse.IsTimeout(wireErr) || h.ctx.Err() != nil:
		return connection.ConnectTimeout
	case h.wire.Count() == 0 && h.wire.Ended() && !h.strict():
		return connection.PortClosed // it closed without sending anything
	}
	return nil
}

// classify returns the code for an error in a session. ctx is the statement's.
func (s *session) classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = s.codeOf(ctx, err)
	return warehouse.UnlessCanceled(s.ctx, err)
}

// codeOf returns the code for an error of a statement or of the connection.
func (s *session) codeOf(ctx context.Context, err error) error {
	if e, ok := errors.AsType[mssql.Error](err); ok {
		return code(e)
	}
	wireErr := s.wire.Err()
	switch {
	case errors.Is(wireErr, connection.ResponseTooLarge):
		return connection.ResponseTooLarge
	case ctx.Err() != nil, warehouse.IsTimeout(err), warehouse.IsTimeout(wireErr):
		return connection.QueryTimeout
	case s.wire.Ended():
		return connection.HostUnreachable // it closed the connection in the middle
	case wireErr != nil:
		return warehouse.Classify(s.ctx, wireErr)
	}
	return connection.NotThisDatabase // packets that are not of this protocol
}
