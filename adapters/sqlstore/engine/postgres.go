package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
)

// lib/pq waits forever on a connection whose peer does not respond any more, even if the context is done. So its
// connections set deadlines of their own, without the knowledge of lib/pq: every operation gets one before it starts.
// The size of a response is also limited.
const (
	// margin is the additional time for the network beyond the server's own statement_timeout.
	margin = time.Second

	// Grace is the remaining time of an operation whose context is done, and of the request to cancel it, for which
	// lib/pq opens another connection. The server usually responds within it, and the connection is then closed
	// cleanly.
	Grace = 400 * time.Millisecond

	// answerBudget is the most bytes that the server may send between two of our requests. No query of ours comes near
	// it. A larger response means that something is wrong, and would use too much memory.
	answerBudget = 256 << 20

	// ConnectTimeout is for dialling, TLS and authentication together, unless the URL says otherwise. It is also how
	// long an unresponsive database may block database/sql's single opener of connections.
	ConnectTimeout = 3 * time.Second
)

var errAnswerTooLarge = errors.New("the answer is longer than its budget")

// postgresConnector opens guarded connections to our own PostgreSQL.
type postgresConnector struct {
	config           pq.Config
	statementTimeout string        // as PostgreSQL reads it
	limit            time.Duration // for one operation on the network
	budget           int64         // bytes of one answer
}

// connectError is an error of connecting: the database cannot be reached now, whatever the reason.
type connectError struct{ error }

// Unwrap returns the reason.
func (e *connectError) Unwrap() error { return e.error }

// NewPostgres returns a connector for a postgres:// URL. It refuses a standby (ErrStandby). A statement is ended by the
// server after statementTimeout, and by the connection's deadline a second later; a context that is done ends it within
// half a second. A result set must be read within the same time.
//
// Unless the URL says otherwise, connecting takes at most 3 s, statement_timeout is
// statementTimeout, binary_parameters is on (one round trip for an unprepared statement) and
// application_name is atrium. Errors never quote the URL, which may hold a password.
func NewPostgres(rawURL string, statementTimeout time.Duration) (driver.Connector, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return nil, errors.New("sqlstore: the database URL is not a valid postgres:// URL: percent-encode special " +
			"characters in a user name or password")
	}
	config, err := pq.NewConfig(NormalURL(rawURL))
	if err != nil {
		return nil, fmt.Errorf("sqlstore: the database URL: %w", err)
	}
	if a := config.TargetSessionAttrs; len(config.Multi) > 0 && (a == "" || a == pq.TargetSessionAttrsAny) {
		config.TargetSessionAttrs = pq.TargetSessionAttrsPrimary // a single host is checked by begin
	}
	if !u.Query().Has("binary_parameters") {
		config.BinaryParameters = true
	}
	if config.ApplicationName == "" {
		config.ApplicationName = "atrium"
	}
	if config.ConnectTimeout <= 0 {
		config.ConnectTimeout = ConnectTimeout
	}
	timeout, set := config.Runtime["statement_timeout"]
	if !set {
		timeout = strconv.FormatInt(statementTimeout.Milliseconds(), 10)
	}
	delete(config.Runtime, "statement_timeout") // poolers refuse it as a parameter of the connection
	return &postgresConnector{
		config: config, statementTimeout: timeout, limit: statementTimeout + margin, budget: answerBudget,
	}, nil
}

// Driver implements driver.Connector.
func (c *postgresConnector) Driver() driver.Driver { return &pq.Driver{} }

// Connect implements driver.Connector. It ends with ctx's deadline, or with the connect timeout.
func (c *postgresConnector) Connect(ctx context.Context) (driver.Conn, error) {
	connector, err := pq.NewConnectorConfig(c.config)
	if err != nil {
		return nil, err
	}
	dialer := &dialer{timeout: c.config.ConnectTimeout, budget: c.budget}
	connector.Dialer(dialer)
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, &connectError{err}
	}
	conn, ok := raw.(pqConn)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("sqlstore: lib/pq's connection (%T) has lost methods that we rely on", raw)
	}
	dialer.connected = true
	guard := &postgresConn{pqConn: conn, line: dialer.line, limit: c.limit}
	if err := guard.begin(ctx, c.statementTimeout); err != nil {
		_ = guard.Close()
		return nil, err
	}
	dialer.line.ends = time.Time{}
	return guard, nil
}

// dialer dials for one connection, and for the requests that cancel its operations.
type dialer struct {
	timeout   time.Duration
	budget    int64
	line      *guardedConn // the latest dialled: lib/pq may try several hosts, with TLS and without
	connected bool         // from now on lib/pq dials only for cancel requests
}

// DialContext implements pq.DialerContext.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	timeout := d.timeout
	if d.connected {
		d.line.abandon() // lib/pq dials because the context of the running operation is done
		timeout = Grace
	}
	ends := time.Now().Add(timeout)
	if t, ok := ctx.Deadline(); ok && t.Before(ends) {
		ends = t
	}
	dialer := net.Dialer{
		Deadline: ends,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second,
			Count: 3},
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	line := &guardedConn{Conn: conn, budget: d.budget, ends: ends}
	if !d.connected {
		d.line = line
	}
	return line, line.SetDeadline(ends)
}

// Dial implements pq.Dialer. lib/pq calls DialContext where there is one.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// guardedConn is the network connection below lib/pq, and below TLS if it is used.
type guardedConn struct {
	net.Conn
	budget int64
	left   atomic.Int64 // of the budget
	ends   time.Time    // no deadline is later, lib/pq's own included; zero once connected
	broken atomic.Bool  // bytes of a response may be missing or late: must not be used again
}

// SetDeadline implements net.Conn.
func (l *guardedConn) SetDeadline(t time.Time) error {
	if !l.ends.IsZero() && (t.IsZero() || t.After(l.ends)) {
		t = l.ends
	}
	return l.Conn.SetDeadline(t)
}

// abandon gives the current operation Grace to end.
func (l *guardedConn) abandon() {
	l.broken.Store(true)
	_ = l.SetDeadline(time.Now().Add(Grace)) // fails only on a closed connection
}

// Read implements net.Conn. A response beyond the budget returns a *net.OpError, by which lib/pq recognises that a
// connection is lost.
func (l *guardedConn) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.left.Add(-int64(n)) < 0 {
		_ = l.Close()
		err = &net.OpError{Op: "read", Net: l.RemoteAddr().Network(), Addr: l.RemoteAddr(), Err: errAnswerTooLarge}
	}
	if err != nil {
		l.broken.Store(true)
	}
	return n, err
}

// Write implements net.Conn. A new request gets a new budget.
func (l *guardedConn) Write(b []byte) (int, error) {
	l.left.Store(l.budget)
	n, err := l.Conn.Write(b)
	if err != nil {
		l.broken.Store(true)
	}
	return n, err
}

// pqConn has the interfaces of lib/pq's connections. Each is needed: without one of the optional ones, database/sql
// falls back to a slower way, or to one without a context.
type pqConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// postgresConn gives each operation its deadline.
type postgresConn struct {
	pqConn
	line    *guardedConn
	limit   time.Duration
	backend int64  // the process ID of the backend that began the connection
	closed  func() // called when the connection is closed; nil: nothing is
}

// limitKey is the key of WithLimit.
type limitKey struct{}

// WithLimit returns a context in which a statement without arguments, or several in one text, may take limit on the
// network, whatever the connection's own limit is. It does not change PostgreSQL's statement_timeout.
func WithLimit(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// arm sets the deadline of the operation that is about to start.
func (c *postgresConn) arm(ctx context.Context) { c.armFor(ctx, c.limit) }

// examine returns the error of an operation. If it says that the connection leads to the wrong server, the pool drops
// the connection.
func (c *postgresConn) examine(err error) error {
	if isLost(err) {
		c.line.broken.Store(true)
	}
	return err
}

func (c *postgresConn) armFor(ctx context.Context, limit time.Duration) {
	now := time.Now()
	deadline := now.Add(limit)
	if t, ok := ctx.Deadline(); ok && t.Add(Grace).Before(deadline) {
		deadline = t.Add(Grace)
	}
	if ctx.Err() != nil {
		deadline = now.Add(Grace)
	}
	_ = c.line.SetDeadline(deadline) // fails only on a closed connection, as the operation then does
}

// QueryContext implements driver.QueryerContext. Its rows must be read under its deadline.
func (c *postgresConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.arm(ctx)
	rows, err := c.pqConn.QueryContext(ctx, query, args)
	return rows, c.examine(err)
}

// ExecContext implements driver.ExecerContext.
func (c *postgresConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	limit, ok := ctx.Value(limitKey{}).(time.Duration)
	if !ok {
		limit = c.limit
	}
	c.armFor(ctx, limit)
	result, err := c.pqConn.ExecContext(ctx, query, args)
	return result, c.examine(err)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *postgresConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.arm(ctx)
	statement, err := c.pqConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, c.examine(err)
	}
	stmt, ok := statement.(pqStmt)
	if !ok { // of COPY, which we do not use: it would have no deadline
		c.line.abandon()
		_ = statement.Close()
		return nil, fmt.Errorf("sqlstore: a statement of this kind (%T) cannot be prepared", statement)
	}
	return &postgresStmt{pqStmt: stmt, conn: c}, nil
}

// BeginTx implements driver.ConnBeginTx.
func (c *postgresConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.arm(ctx)
	stop := context.AfterFunc(ctx, c.line.abandon) // lib/pq respects ctx only after BEGIN
	tx, err := c.pqConn.BeginTx(ctx, opts)
	stop()
	if isLost(c.examine(err)) { // nothing was done: database/sql begins on another connection
		return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	if err != nil {
		return nil, err
	}
	return &postgresTx{tx: tx, ctx: ctx, conn: c}, nil
}

// IsValid implements driver.Validator. lib/pq does not notice everything that makes a connection unusable: an abandoned
// cancel request may still hit a later statement.
func (c *postgresConn) IsValid() bool { return !c.line.broken.Load() && c.pqConn.IsValid() }

// Close implements driver.Conn.
func (c *postgresConn) Close() error {
	_ = c.line.SetDeadline(time.Now().Add(Grace)) // for the Terminate message
	if c.closed != nil {
		c.closed()
	}
	return c.pqConn.Close()
}

type pqStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type postgresStmt struct {
	pqStmt
	conn *postgresConn
}

// ExecContext implements driver.StmtExecContext.
func (s *postgresStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.conn.arm(ctx)
	result, err := s.pqStmt.ExecContext(ctx, args)
	return result, s.conn.examine(err)
}

// QueryContext implements driver.StmtQueryContext. Its rows must be read under its deadline.
func (s *postgresStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.conn.arm(ctx)
	rows, err := s.pqStmt.QueryContext(ctx, args)
	return rows, s.conn.examine(err)
}

// Close implements driver.Stmt.
func (s *postgresStmt) Close() error {
	s.conn.arm(context.Background())
	return s.pqStmt.Close()
}

type postgresTx struct {
	tx   driver.Tx
	ctx  context.Context // BeginTx's, which driver.Tx does not get again
	conn *postgresConn
}

// Commit implements driver.Tx. An error of the network leaves open whether it took effect.
func (t *postgresTx) Commit() error {
	t.conn.arm(t.ctx)
	return t.tx.Commit()
}

// Rollback implements driver.Tx. Its deadline is short if the context is done, since a caller waits.
func (t *postgresTx) Rollback() error {
	t.conn.arm(t.ctx)
	return t.tx.Rollback()
}
