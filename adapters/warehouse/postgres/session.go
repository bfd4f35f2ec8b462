package postgres

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one connection, in a single read-only transaction.
type session struct {
	ctx   context.Context
	conn  *pgconn.PgConn
	wire  net.Conn
	start []string                   // begins the transaction
	begin []string                   // what the next batch must begin with; nil if nothing
	next  func() ([][][]byte, error) // returns the answer to Read's query

	unreadable []string // SQLSTATEs that mean connection.TableUnreadable in statements about rows
}

// openPostgres opens a session with PostgreSQL. Whatever is set for the user or the database, texts of floating-point
// numbers lose no digits, and bytes are no digits.
func openPostgres(
	ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace,
) (*session, error) {
	return open(ctx, n, target, trace, `SET LOCAL extra_float_digits = 3`, `SET LOCAL bytea_output = hex`)
}

// open opens a session: it passes the steps up to and including database. Its transaction begins with the settings.
func open(
	ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace, settings ...string,
) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	wire, err := dial(starting, n, target, trace)
	if err != nil {
		return nil, err
	}
	words := &reader{}
	conn, err := connect(starting, wire, words, target, func(cancelling context.Context) (net.Conn, error) {
		cancelling, end := context.WithTimeout(cancelling, warehouse.CancelTimeout)
		defer end()
		return dial(cancelling, n, target, warehouse.NewTrace())
	})
	words.begun = true
	if err != nil {
		_ = wire.Close() // pgx may already have done so
		err = warehouse.SignInError(target.Credential, classifyStart(starting, err, words))
		if errors.Is(err, connection.DatabaseNotFound) || errors.Is(err, connection.DatabaseDeniedOrMissing) ||
			errors.Is(err, connection.BackendUnreachable) {
			trace.Passed(connection.Authenticate) // a server looks up the database only after sign-in
		}
		if errors.Is(err, connection.AuthRejected) && target.Credential.TLSMode() == connection.Disable &&
			wantsTLS(starting, n, target) {
			err = connection.TLSRequired
		}
		return nil, unlessCanceled(ctx, err)
	}
	trace.Passed(connection.Authenticate)
	trace.Passed(connection.Database)
	// No startup parameters but those that poolers pass on; these end with the transaction.
	start := append([]string{
		`BEGIN READ ONLY`, catalogueNames, `SET LOCAL datestyle = ISO`,
		`SET LOCAL statement_timeout = ` + strconv.FormatInt(max(1, target.Limits.Statement.Milliseconds()), 10),
	}, settings...)
	return &session{ctx: ctx, conn: conn, wire: wire, start: start, begin: start}, nil
}

// dial passes the steps up to and including tls. The TLS handshake is done here and not by pgx, whose
// errors of that phase have no types.
func dial(ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace) (net.Conn, error) {
	config, err := warehouse.TLSConfig(target.Credential)
	if err != nil {
		return nil, connection.Internal
	}
	wire, err := warehouse.Open(ctx, n, target, trace)
	if err != nil {
		return nil, err
	}
	if config == nil {
		trace.Skipped(connection.TLS)
		return wire, nil
	}
	tlsConn, err := secure(ctx, wire, config)
	if err != nil {
		_ = wire.Close()
		return nil, err
	}
	trace.Passed(connection.TLS)
	return tlsConn, nil
}

// secure asks the server for TLS as the protocol defines it. The server's answer is one byte, and secure
// reads no more than that: plain text that follows it must not be used (CVE-2021-23222).
func secure(ctx context.Context, wire *warehouse.Recorder, config *tls.Config) (net.Conn, error) {
	defer warehouse.Limit(ctx, wire)()
	const sslRequest = 80877103
	request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, sslRequest)
	if _, err := wire.Write(request); err != nil {
		return nil, warehouse.Classify(ctx, err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(wire, answer[:]); err != nil {
		if err == io.EOF { // it closed without an answer
			return nil, connection.PortClosed
		}
		return nil, warehouse.Classify(ctx, err)
	}
	switch answer[0] {
	case 'S':
		tlsConn, err := warehouse.Secure(ctx, wire, config)
		if err != nil && warehouse.Foreign(wire.First()) { // SSH's banner begins with an S too
			return nil, connection.NotThisDatabase
		}
		return tlsConn, err
	case 'N':
		return nil, connection.TLSUnsupported
	case 'E': // an unencrypted error: it lacked memory or connections
		return nil, connection.TooManyConnections
	default:
		return nil, connection.NotThisDatabase
	}
}

// readSize is how many bytes of a long stream of rows one read takes.
const readSize = 64 << 10

// connect starts a session on a connection that is open. pgx dials again to cancel a statement. Each field is set
// here, for ParseConfig fills them from the environment and from files in the home directory.
func connect(
	ctx context.Context, wire net.Conn, words *reader, target ports.Target,
	redial func(context.Context) (net.Conn, error),
) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig("host=127.0.0.1 port=5432 user=nobody dbname=none password=none sslmode=disable")
	if err != nil {
		return nil, connection.Internal // without err, which may quote the environment
	}
	_, isSecure := wire.(*tls.Conn)
	configure(config, target, isSecure)
	first := wire
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if first == nil { // pgx closes a session during a statement, and asks the server to cancel it
			return redial(ctx)
		}
		c := first
		first = nil
		return c, nil
	}
	// The host is already resolved, checked and dialled; pgx gets no name that it could take for a path.
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		words.from = r
		return pgproto3.NewFrontend(bufio.NewReaderSize(words, readSize), w)
	}
	return pgconn.ConnectConfig(ctx, config)
}

// configure sets every field that does not depend on the connection.
func configure(config *pgconn.Config, target ports.Target, isSecure bool) {
	c := target.Credential
	config.Host, config.Port = "server", 5432 // see LookupFunc
	config.Database, config.User = c.Text(connection.FieldDatabase), c.Text(connection.FieldUsername)
	config.Password = c.Secret(connection.FieldPassword).Reveal()
	config.TLSConfig, config.Fallbacks = nil, nil
	config.SSLNegotiation, config.SSLCertMode = "postgres", "disable"
	config.ConnectTimeout = 0 // the context has it
	config.MaxProtocolMessageBodyLen = int(target.Limits.Bytes)
	config.RuntimeParams = map[string]string{"application_name": "atrium", "client_encoding": "UTF8"}
	config.KerberosSrvName, config.KerberosSpn = "", ""
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
	}
	config.AfterNetConnect, config.ValidateConnect, config.AfterConnect = nil, nil, nil
	config.OnNotice, config.OnNotification = nil, nil
	// A fatal error is the last message of a server or a pooler, and is more specific than the end of the connection.
	config.OnPgError = func(_ *pgconn.PgConn, err *pgconn.PgError) bool { return err.Severity != "FATAL" }
	config.OAuthTokenProvider = nil
	config.MinProtocolVersion, config.MaxProtocolVersion = "3.0", "3.0"
	config.ChannelBinding = "prefer"
	config.RequireAuth = "password,md5,scram-sha-256,none"
	if !isSecure {
		config.RequireAuth = "md5,scram-sha-256,none" // no plain-text password
	}
}

// wantsTLS reports whether a server that rejected a user without TLS would accept it with TLS: the error is the same
// for all rules in pg_hba.conf. It tries a second connection, which verifies nothing and sends no password. If the
// server asks for a password, it accepts the user with TLS.
func wantsTLS(ctx context.Context, n warehouse.Network, target ports.Target) bool {
	wire, err := warehouse.Open(ctx, n, target, warehouse.NewTrace())
	if err != nil {
		return false
	}
	defer func() { _ = wire.Close() }()
	tlsConn, err := secure(ctx, wire, warehouse.Unverified(""))
	if err != nil {
		return false
	}
	defer warehouse.Limit(ctx, tlsConn)()
	startup := pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{
		"user":     target.Credential.Text(connection.FieldUsername),
		"database": target.Credential.Text(connection.FieldDatabase),
	}}
	message, err := startup.Encode(nil)
	if err != nil {
		return false
	}
	if _, err := tlsConn.Write(message); err != nil {
		return false
	}
	var answer [1]byte
	_, err = io.ReadFull(tlsConn, answer[:])
	return err == nil && answer[0] == 'R' // a request to authenticate, or AuthenticationOk
}

// Where names without a schema are found. In statements about the catalogue a schema of the customer must not shadow
// its functions. A view's functions and policies must find what its role finds.
const (
	catalogueNames = `SET LOCAL search_path = pg_catalog`
	roleNames      = `SET LOCAL search_path TO DEFAULT`
)

// statement is one with its parameters, which are texts.
type statement struct {
	sql  string
	args []string
}

func (s statement) values() [][]byte {
	values := make([][]byte, len(s.args))
	for i, a := range s.args {
		values[i] = []byte(a)
	}
	return values
}

// ask sends statements about the catalogue in one round trip. The first call also begins the transaction. Each call of
// the func that it returns reads the rows of the next statement, as text, nil for NULL, or returns its error.
func (s *session) ask(statements ...statement) func() ([][][]byte, error) {
	return s.send(statements, len(statements))
}

// askBeforeRows is ask for the last statements before those about a table's rows, which find names as the role does.
// The first of those statements can be sent in the same round trip.
func (s *session) askBeforeRows(statements []statement, rows ...statement) func() ([][][]byte, error) {
	all := slices.Concat(statements, []statement{{sql: roleNames}}, rows)
	next := s.send(all, len(statements)+len(rows))
	s.begin = []string{catalogueNames}
	return next
}

// send sends the statements of begin and the given ones, of which answers return rows.
func (s *session) send(statements []statement, answers int) func() ([][][]byte, error) {
	batch := &pgconn.Batch{}
	for _, sql := range s.begin {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	s.begin = nil
	for _, one := range statements {
		batch.ExecParams(one.sql, one.values(), nil, nil, nil)
	}
	results := s.conn.ExecBatch(s.ctx, batch)
	return func() ([][][]byte, error) {
		for results.NextResult() {
			r := results.ResultReader()
			if len(r.FieldDescriptions()) == 0 { // of a statement without rows
				continue
			}
			read := r.Read()
			if answers--; answers == 0 || read.Err != nil {
				read.Err = cmp.Or(read.Err, results.Close())
			}
			return read.Rows, classify(s.ctx, read.Err)
		}
		if err := results.Close(); err != nil {
			return nil, classify(s.ctx, err)
		}
		return nil, connection.NotThisDatabase // it has sent fewer answers than statements
	}
}

// query runs a statement about a table's rows and returns them.
func (s *session) query(sql string) ([][][]byte, error) {
	result := s.conn.ExecParams(s.ctx, sql, nil, nil, nil, nil).Read()
	return result.Rows, s.classifyRows(result.Err)
}

// Close ends the session without waiting for a server that may not answer: the connection's end ends the transaction
// too. pgx would take 15 s to close a session after a cancelled call. It then first asks the server to cancel the
// statement, since a server notices a connection's end only when it sends something.
func (s *session) Close() {
	limit := 200 * time.Millisecond
	if errors.Is(s.ctx.Err(), context.Canceled) {
		limit = warehouse.CancelTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), limit)
	defer cancel()
	_ = s.conn.Close(ctx) // the session has ended either way
	select {
	case <-s.conn.CleanupDone():
	case <-ctx.Done():
	}
	_ = s.wire.Close()
}
