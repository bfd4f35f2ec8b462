package clickhouse

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// numbers maps error codes (ErrorCodes.cpp of ClickHouse).
var numbers = map[int]connection.Code{
	192: connection.AuthFailed, // no such user
	193: connection.AuthFailed,
	194: connection.AuthFailed,   // a password is needed
	516: connection.AuthFailed,   // all of these, since version 20
	195: connection.AuthRejected, // not from this address
	452: connection.AuthRejected, // our limits break a constraint of the user's profile
	81:  connection.DatabaseNotFound,
	291: connection.DatabaseDeniedOrMissing,
	6:   connection.TableUnreadable,  // a text that is no value of the type that a view casts it to
	27:  connection.TableUnreadable,  // as before
	38:  connection.TableUnreadable,  // as before
	41:  connection.TableUnreadable,  // as before
	72:  connection.TableUnreadable,  // as before
	153: connection.TableUnreadable,  // a division by zero
	395: connection.TableUnreadable,  // throwIf
	164: connection.PermissionDenied, // it would write
	497: connection.PermissionDenied,
	16:  connection.TableNotFound, // a column that was dropped since the catalogue was read
	47:  connection.TableNotFound, // as before
	60:  connection.TableNotFound,
	202: connection.TooManyConnections, // concurrent queries, the equivalent over HTTP
	159: connection.QueryTimeout,
	160: connection.QueryTimeout, // estimated to exceed the time limit
	209: connection.QueryTimeout, // of a server behind it
	394: connection.QueryTimeout, // the query was killed
	396: connection.ResponseTooLarge,
	158: connection.QuotaExceeded, // more rows to read than the user's profile allows
	201: connection.QuotaExceeded,
	241: connection.QuotaExceeded,      // memory
	243: connection.QuotaExceeded,      // disk space
	307: connection.QuotaExceeded,      // more bytes to read than the user's profile allows
	46:  connection.UnsupportedVersion, // a function that it lacks
	62:  connection.UnsupportedVersion, // a statement that it does not support
	115: connection.UnsupportedVersion, // a setting that it lacks
}

// refusal returns the error for a response other than 200. An error's code is in a header since version 20, and before
// at the very start of the body: "Code: 60, e.displayText() = …". A server without either is not ClickHouse, but a
// proxy in front of one may report that there is no server behind it.
func refusal(a warehouse.Answer) connection.Code {
	text := a.Header.Get("X-ClickHouse-Exception-Code")
	if text == "" {
		body, ok := bytes.CutPrefix(a.Body, []byte("Code: "))
		switch {
		case ok:
			text = string(body[:len(body)-len(bytes.TrimLeft(body, "0123456789"))])
		case a.Status == http.StatusServiceUnavailable:
			return connection.ServerStarting
		default:
			return connection.NotThisDatabase
		}
	}
	return codeOf(text)
}

// codeOf returns the error with a number.
func codeOf(text string) connection.Code {
	number, err := strconv.Atoi(text)
	if err != nil {
		return connection.NotThisDatabase
	}
	if code, ok := numbers[number]; ok {
		return code
	}
	return connection.Internal
}
