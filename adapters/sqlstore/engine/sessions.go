package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/lib/pq"
)

// ErrPooledByTransaction says that a pooler gives the transactions of one connection to different backends. Prepared
// statements, LISTEN and session locks do not work there: the text of another caller's statement could run.
var ErrPooledByTransaction = errors.New(
	"the pooler that database.url leads to pools by transaction, and Atrium needs " +
		"connections of its own: set pool_mode = session in PgBouncer, or let database.url lead to PostgreSQL itself")

// ErrStandby says that the server is a standby, which cannot be written: after a failover a name or a proxy may lead to
// one for some seconds.
var ErrStandby = errors.New("the server is a standby (pg_is_in_recovery)")

// CheckSessions returns ErrPooledByTransaction if two new connections share a backend, or if one of them changes its
// backend. A pooler reuses the backend that was released last, so that the first queries on them usually find it. The
// pool keeps both connections, or one if it may have only one.
//
// While the second connection is opened, meanwhile uses the first one, of which it is not known yet whether it keeps
// its backend; nil does nothing.
func (p *PoolConnector) CheckSessions(
	ctx context.Context, duringWait func(context.Context, *sql.Conn) error,
) (err error) {
	first, err := p.connect(ctx)
	if err != nil {
		return err
	}
	conn, err := p.keep(ctx, first)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool closes it
		}
		_ = conn.Close() // it is idle then
	}()
	var second *postgresConn
	result := make(chan error, 1)
	go func() {
		conn, err := p.connect(ctx)
		second = conn
		result <- err
	}()
	if duringWait != nil {
		err = duringWait(ctx, conn)
	}
	if err = cmp.Or(err, <-result); err == nil {
		err = compareBackends(ctx, first, second)
	}
	if second == nil {
		return err
	}
	if err != nil || p.max == 1 {
		_ = second.Close()
		return err
	}
	other, err := p.keep(ctx, second)
	if err != nil {
		return err
	}
	return other.Close()
}

// keep gives an open connection to the pool, and returns it as one that is in use.
func (p *PoolConnector) keep(ctx context.Context, conn *postgresConn) (*sql.Conn, error) {
	p.opened <- conn
	pooled, err := p.pool.Load().Conn(ctx)
	if err != nil {
		select {
		case conn := <-p.opened:
			_ = conn.Close()
		default: // the pool has closed it
		}
	}
	return pooled, err
}

// compareBackends returns ErrPooledByTransaction if a and b share a backend, or if one of them changes its backend.
func compareBackends(ctx context.Context, a, b *postgresConn) error {
	if a.backend == b.backend {
		return ErrPooledByTransaction
	}
	const rounds = 3 // in case others use the same pool
	for range rounds {
		for _, conn := range []*postgresConn{a, b} {
			if err := conn.Ping(ctx); err != nil {
				return err
			}
		}
	}
	return nil
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
