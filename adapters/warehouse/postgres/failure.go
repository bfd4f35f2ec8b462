package postgres

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// states maps SQLSTATEs (appendix A of PostgreSQL's manual): whole ones, and classes of two characters.
var states = map[string]connection.Code{
	"28P01": connection.AuthFailed,
	"28000": connection.AuthRejected, // no rule in pg_hba.conf, or a role that may not log in
	"3D000": connection.DatabaseNotFound,
	"42501": connection.PermissionDenied,
	"25006": connection.TableUnreadable, // a view that writes, in a transaction that cannot
	"55000": connection.TableUnreadable, // a materialized view without data
	"21":    connection.TableUnreadable, // a subquery with several rows
	"22":    connection.TableUnreadable, // a division by zero, a text that is not a number
	"38":    connection.TableUnreadable, // a function in another language
	"39":    connection.TableUnreadable, // as before
	"54":    connection.TableUnreadable, // a view that is too complex
	"58":    connection.TableUnreadable, // a foreign table's file
	"HV":    connection.TableUnreadable, // a foreign table
	"P0":    connection.TableUnreadable, // RAISE of a function
	"XX001": connection.TableUnreadable, // corrupted data
	"XX002": connection.TableUnreadable, // a corrupted index
	"42P01": connection.TableNotFound,
	"3F000": connection.TableNotFound,
	"42703": connection.TableNotFound, // a column that was dropped since the catalogue was read
	"0A000": connection.UnsupportedVersion,
	"42883": connection.UnsupportedVersion, // a function of the catalogue that this product lacks
	"53300": connection.TooManyConnections,
	"53400": connection.QuotaExceeded,
	"53":    connection.QuotaExceeded, // out of memory or disk
	"57014": connection.QueryTimeout,
	"55P03": connection.QueryTimeout,   // a lock that could not be acquired
	"57":    connection.ServerStarting, // 57P01 to 57P03: shutting down, crashed, starting
	"08":    connection.HostUnreachable,
}

// classify returns the code for an error in a session.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if code := codeOfError(pg); code != connection.TableUnreadable {
			return unlessCanceled(ctx, code)
		}
		return unlessCanceled(ctx, connection.Unreadable(pg.Code))
	}
	if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return connection.ResponseTooLarge
	}
	if warehouse.IsTimeout(err) {
		return unlessCanceled(ctx, connection.QueryTimeout)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return unlessCanceled(ctx, connection.HostUnreachable) // it closed the connection in the middle
	}
	if err = warehouse.Classify(ctx, err); errors.Is(err, connection.PortClosed) {
		return connection.HostUnreachable
	}
	return err
}

// classifyRows is classify for statements about a table's rows.
func (s *session) classifyRows(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && slices.Contains(s.unreadable, pg.Code) {
		return unlessCanceled(s.ctx, connection.Unreadable(pg.Code))
	}
	return classify(s.ctx, err)
}

// poolerState is the SQLSTATE for a pooler's own errors: protocol_violation.
const poolerState = "08P01"

// codeOfError returns the code for an error in a session. Errors of functions and foreign servers in a view have the
// same states as the server's own, but functions report their context, and the session continues.
func codeOfError(pg *pgconn.PgError) connection.Code {
	code := codeOfState(pg.Code)
	switch {
	case code == connection.HostUnreachable && pg.Severity == "ERROR":
		return connection.TableUnreadable
	case pg.Code == poolerState:
		return poolerCode(pg.Message, connection.BackendUnreachable)
	case pg.Where == "":
		return code
	case code == connection.Internal, code == connection.TableNotFound, code == connection.UnsupportedVersion:
		return connection.TableUnreadable
	}
	return code
}

func codeOfState(code string) connection.Code {
	if c, ok := states[code]; ok {
		return c
	}
	if len(code) == 5 {
		if c, ok := states[code[:2]]; ok {
			return c
		}
	}
	return connection.Internal
}

// classifyStart returns why a session did not begin, from the server's error, or from its first bytes.
func classifyStart(ctx context.Context, err error, words *reader) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch code := codeOfState(pg.Code); {
		case pg.Code == poolerState && words.signedIn:
			return poolerCode(pg.Message, connection.DatabaseDeniedOrMissing)
		case pg.Code == poolerState:
			return poolerCode(pg.Message, connection.AuthFailed)
		case code == connection.PermissionDenied, // the role has no CONNECT
			pg.Code == "55000": // the database accepts no connections
			return connection.DatabaseDeniedOrMissing
		case code == connection.TableUnreadable:
			return connection.Internal
		default:
			return code
		}
	}
	if code, ok := errors.AsType[connection.Code](err); ok {
		return code
	}
	switch {
	case words.signedIn && warehouse.IsTimeout(words.err):
		return connection.BackendUnreachable // a pooler waits for the server behind it
	case len(words.first) == 0 && (errors.Is(words.err, io.EOF)):
		return connection.PortClosed // it accepted, and closed without sending anything
	case len(words.first) == 0 || warehouse.IsTimeout(words.err):
		return warehouse.Classify(ctx, errors.Join(words.err, err))
	case !isMessage(words.first):
		return connection.NotThisDatabase
	case words.err != nil:
		return connection.HostUnreachable // it closed the connection in the middle
	case words.first[0] == 'R':
		return connection.AuthRejected // it requires an authentication method that pgx or our rules refuse
	}
	return connection.NotThisDatabase
}

// isMessage reports whether the first bytes belong to a message that may come first: a request to
// authenticate, an error, a notice, a word on versions; with a length that such have.
func isMessage(first []byte) bool {
	switch first[0] {
	case 'R', 'E', 'N', 'v':
		const most = 30000 // of errors, in libpq; the others are far shorter
		return len(first) < 5 || (first[1] == 0 && first[2] == 0 && int(first[3])<<8+int(first[4]) <= most)
	}
	return false
}

// unlessCanceled returns err, or the error of ctx if its owner cancelled it.
func unlessCanceled(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	return err
}
