package postgres

import (
	"encoding/binary"
	"io"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// reader keeps the first bytes of each of the server's messages, above TLS if it is used, and follows the sign-in.
type reader struct {
	from     io.Reader
	first    []byte
	err      error
	head     []byte // of the message that is read: its kind, its length, and up to four bytes of its body
	skip     int    // bytes of its body that are left
	signedIn bool   // the server accepted the credentials
	begun    bool   // the session has begun, and messages are no longer followed
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if missing := 16 - len(r.first); missing > 0 {
		r.first = append(r.first, b[:min(n, missing)]...)
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	r.follow(b[:n])
	return n, err
}

// follow notices that the server accepts the credentials. PgBouncer sends AuthenticationOk only after a server behind
// it has accepted it, but SASLFinal earlier: with SCRAM that proves that the password is correct.
func (r *reader) follow(b []byte) {
	const header, okay, saslFinal = 5, 0, 12
	for len(b) > 0 && !r.begun {
		if n := min(r.skip, len(b)); n > 0 {
			b, r.skip = b[n:], r.skip-n
			continue
		}
		r.head, b = append(r.head, b[0]), b[1:]
		if len(r.head) < header {
			continue
		}
		body := int64(binary.BigEndian.Uint32(r.head[1:header])) - 4
		size := min(body, 4)
		if body < 0 {
			r.begun = true // it is not a message
		}
		if int64(len(r.head)) < header+size {
			continue
		}
		if r.head[0] == 'R' && size == 4 {
			kind := binary.BigEndian.Uint32(r.head[header:])
			r.signedIn = r.signedIn || kind == okay || kind == saslFinal
		}
		r.head, r.skip = r.head[:0], int(body-size)
	}
}

// poolerTexts are the beginnings of PgBouncer's errors, which mostly have the same SQLSTATE, 08P01. They are not
// translated. Others come from a sign-in, or from the server behind it.
var poolerTexts = []struct {
	begins string
	code   connection.Code
}{
	{"no such database", connection.DatabaseNotFound},
	{"no more connections allowed", connection.TooManyConnections},
	{"query_wait_timeout", connection.TooManyConnections}, // no connection of the pool became free
	{"transaction blocks not allowed", connection.PoolingUnsupported},
	{"password authentication failed", connection.AuthFailed}, // at the server behind it
	{"client_login_timeout (server down)", connection.BackendUnreachable},
	{"server login has been failing", connection.BackendUnreachable},
	{"server conn crashed", connection.BackendUnreachable},
	{"server connection closed", connection.BackendUnreachable},
	{"pgbouncer cannot connect to server", connection.BackendUnreachable},
	{"cannot connect", connection.BackendUnreachable},
	{"connect failed", connection.BackendUnreachable},
	{"connect timeout", connection.BackendUnreachable},
	{"login timeout", connection.BackendUnreachable},
}

// poolerCode returns the code for a pooler's error: unknown if its text is not known.
func poolerCode(message string, unknown connection.Code) connection.Code {
	for _, candidate := range poolerTexts {
		if strings.HasPrefix(message, candidate.begins) {
			return candidate.code
		}
	}
	return unknown
}
