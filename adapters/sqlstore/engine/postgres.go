package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/lib/pq"
)

const (
	// margin is the additional time for the network beyond the server's own statement_timeout.
	margin = time.Second

	// ConnectTimeout is for dialling, TLS and authentication together, unless the URL says otherwise. It is also how
	// long an unresponsive database may block database/sql's single opener of connections.
	ConnectTimeout = 3 * time.Second
)

// postgresConnector opens guarded connections to our own PostgreSQL.
type postgresConnector struct {
	config           pq.Config
	statementTimeout string        // as PostgreSQL reads it
	limit            time.Duration // for one operation on the network
	budget           int64         // bytes of one answer
}

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

// begin sets settings that PostgreSQL accepts as connection parameters but poolers refuse, and remembers the backend.
// It returns ErrStandby if the server is a standby.
func (c *postgresConn) begin(ctx context.Context, statementTimeout string) (err error) {
	c.backend, err = c.readBackend(ctx, `SELECT pg_backend_pid(), pg_is_in_recovery(), set_config('statement_timeout', `+
		pq.QuoteLiteral(statementTimeout)+`, false)`)
	return err
}

// Ping implements driver.Pinger. It returns ErrPooledByTransaction if the connection no longer has its first backend,
// and ErrStandby if the server is a standby.
func (c *postgresConn) Ping(ctx context.Context) error {
	backend, err := c.readBackend(ctx, `SELECT pg_backend_pid(), pg_is_in_recovery()`)
	if err == nil && backend != c.backend {
		return ErrPooledByTransaction
	}
	return err
}

// readBackend returns the first column of a query that returns one row: the number of the backend that runs it. The
// second one is whether the server is a standby; then it returns ErrStandby, and the pool drops the connection.
func (c *postgresConn) readBackend(ctx context.Context, query string) (pid int64, err error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return 0, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(row); err == nil {
		pid, _ = row[0].(int64)
		standby, _ := row[1].(bool)
		if err = rows.Next(row); errors.Is(err, io.EOF) {
			err = nil
		}
		if standby {
			c.line.broken.Store(true)
			err = errors.Join(err, ErrStandby)
		}
	}
	return pid, errors.Join(err, rows.Close())
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
