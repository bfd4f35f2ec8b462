package mysql

import (
	"context"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// number is a server's error number. Those below 1900 are common to MySQL and MariaDB; above that, each has its own,
// and no number has two meanings.
type number uint16

// numbers maps error numbers (MySQL's and MariaDB's error references).
var numbers = map[number]connection.Code{
	1045: connection.AuthFailed,
	1129: connection.AuthRejected, // the host is blocked after too many errors
	1130: connection.AuthRejected, // the host may not connect
	1251: connection.AuthRejected, // an authentication method that clients no longer support
	1275: connection.AuthRejected, // a password in the format of before 4.1
	1524: connection.AuthRejected, // the plugin of the user is not loaded
	1698: connection.AuthRejected, // the user signs in without a password, by socket or the like
	1820: connection.AuthRejected, // the password has expired
	1862: connection.AuthRejected, // as before
	3118: connection.AuthRejected, // the account is locked, MySQL
	3159: connection.TLSRequired,
	4151: connection.AuthRejected, // the account is locked, MariaDB
	1044: connection.DatabaseDeniedOrMissing,
	1049: connection.DatabaseNotFound,
	1142: connection.PermissionDenied, // on a table
	1143: connection.PermissionDenied, // on a column
	1227: connection.PermissionDenied, // a global privilege
	1345: connection.PermissionDenied, // EXPLAIN or SHOW of a view's tables
	1356: connection.PermissionDenied, // a view whose definer may no longer read its tables
	1370: connection.PermissionDenied, // a routine that a view calls
	1429: connection.TableUnreadable,  // a foreign server that does not respond
	1430: connection.TableUnreadable,  // as before
	1449: connection.TableUnreadable,  // a view whose definer was removed
	1792: connection.TableUnreadable,  // a view that writes; MariaDB already refuses to list its columns
	1051: connection.TableNotFound,
	1054: connection.TableNotFound, // a column that was dropped since the catalogue was read
	1146: connection.TableNotFound,
	1040: connection.TooManyConnections,
	1203: connection.TooManyConnections, // of this user
	1226: connection.QuotaExceeded,      // of this user
	1021: connection.QuotaExceeded,      // no disk space
	1037: connection.QuotaExceeded,      // no memory
	1038: connection.QuotaExceeded,      // as before, to sort
	1041: connection.QuotaExceeded,      // as before
	1104: connection.QuotaExceeded,      // more rows than max_join_size
	1114: connection.QuotaExceeded,      // a temporary table is full
	1047: connection.ServerStarting,     // a node of a cluster that is not ready
	1053: connection.ServerStarting,     // shutting down
	1205: connection.QueryTimeout,       // a lock that could not be acquired
	1317: connection.QueryTimeout,       // the query was killed
	1969: connection.QueryTimeout,       // MariaDB
	3024: connection.QueryTimeout,       // MySQL
	1064: connection.UnsupportedVersion, // a statement that this product does not support
	1109: connection.UnsupportedVersion, // a table of the catalogue that it lacks
	1193: connection.UnsupportedVersion, // a setting that it lacks
}

func (n number) code() connection.Code {
	if c, ok := numbers[n]; ok {
		return c
	}
	return connection.Internal
}

// inSession returns a statement's error. Errors that the table or a view's function causes have one of the standard's
// SQLSTATE classes, or SIGNAL's.
func inSession(my *mysql.MySQLError) error {
	code, state := number(my.Number).code(), string(my.SQLState[:])
	switch class := state[:2]; {
	case code == connection.TableUnreadable,
		code == connection.Internal && (class == "21" || class == "22" || class == "45"):
		return connection.Unreadable(state)
	}
	return code
}

// atStart returns the code for an error that prevents a session: in this case a user's quota is the quota of
// connections.
func atStart(n number) connection.Code {
	if n == 1226 {
		return connection.TooManyConnections
	}
	return n.code()
}

// classify returns the code for an error in a session.
func (s *session) classify(err error) error {
	if err == nil {
		return nil
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return unlessCanceled(s.ctx, inSession(my))
	}
	return unlessCanceled(s.ctx, networkFailure(s.ctx, err, s.wire, connection.QueryTimeout))
}

// classifyTLS returns why a connection could not be encrypted.
func classifyTLS(ctx context.Context, err error, w *wire) error {
	if warehouse.IsTimeout(err) || warehouse.IsTimeout(w.Err()) || ctx.Err() != nil {
		return connection.ConnectTimeout
	}
	if code := warehouse.Classify(ctx, err); !errors.Is(code, connection.Internal) &&
		!errors.Is(code, connection.PortClosed) {
		return code
	}
	return connection.TLSUnsupported
}

// classifyStart returns why a session did not begin.
func classifyStart(ctx context.Context, err error, w *wire) error {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return atStart(number(my.Number))
	}
	if w.guard != nil {
		if w.guard.refused != nil {
			return w.guard.refused
		}
		if errors.Is(err, mysql.ErrCleartextPassword) {
			return connection.TLSRequired
		}
	}
	for _, refusal := range []error{mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword,
		mysql.ErrUnknownPlugin} {
		if errors.Is(err, refusal) {
			return connection.AuthRejected
		}
	}
	return networkFailure(ctx, err, w, connection.ConnectTimeout)
}

// networkFailure returns the code for an error that is not the server's; late is a timeout's code. The driver hides
// network errors; the wire remembers them.
func networkFailure(ctx context.Context, err error, w *wire, late connection.Code) error {
	wireErr := w.Err()
	switch {
	case errors.Is(wireErr, connection.ResponseTooLarge):
		return connection.ResponseTooLarge
	case warehouse.IsTimeout(err) || warehouse.IsTimeout(wireErr) || ctx.Err() != nil:
		return late
	case w.Ended():
		return connection.HostUnreachable // it closed the connection in the middle
	case wireErr != nil:
		return warehouse.Classify(ctx, wireErr)
	}
	return connection.NotThisDatabase // packets out of order, or not of this protocol
}

// unlessCanceled returns err, or the error of ctx if its owner cancelled it.
func unlessCanceled(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	return err
}
