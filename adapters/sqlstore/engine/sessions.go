package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync"

	"github.com/lib/pq"
)

// ErrPooledByTransaction says that a pooler gives the transactions of one connection to different backends. Prepared
// statements, LISTEN and session locks do not work there: the text of another caller's statement could run.
var ErrPooledByTransaction = errors.New(
	"the pooler that database.url leads to pools by transaction, and Atrium needs " +
		"connections of its own: set pool_mode = session in PgBouncer, or let database.url lead to PostgreSQL itself")

// CheckSessions returns ErrPooledByTransaction if two new connections share a backend, or if one of them changes its
// backend. A pooler reuses the backend that was released last, so that the first queries on them usually find it. The
// pool keeps both connections, or one if it may have only one.
func (p *Patient) CheckSessions(ctx context.Context) error {
	var conns [2]*postgresConn
	var errs [2]error
	var opening sync.WaitGroup
	for i := range conns {
		opening.Go(func() { conns[i], errs[i] = p.connect(ctx) })
	}
	opening.Wait()
	kept := 0
	defer func() {
		for _, conn := range conns[kept:] {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if err := compareBackends(ctx, conns[0], conns[1]); err != nil {
		return err
	}
	pool := p.pool.Load()
	for kept < min(len(conns), p.max) {
		p.opened <- conns[kept]
		kept++
		conn, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // it is idle then
	}
	return nil
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
func (c *postgresConn) begin(ctx context.Context, statementTimeout string) (err error) {
	c.backend, err = c.readBackend(ctx, `SELECT pg_backend_pid(), set_config('statement_timeout', `+
		pq.QuoteLiteral(statementTimeout)+`, false)`)
	return err
}

// Ping implements driver.Pinger. It returns ErrPooledByTransaction if the connection no longer has its first backend.
func (c *postgresConn) Ping(ctx context.Context) error {
	backend, err := c.readBackend(ctx, `SELECT pg_backend_pid()`)
	if err == nil && backend != c.backend {
		return ErrPooledByTransaction
	}
	return err
}

// readBackend returns the first column of a query that returns one row: the number of the backend that runs it.
func (c *postgresConn) readBackend(ctx context.Context, query string) (pid int64, err error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return 0, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(row); err == nil {
		pid, _ = row[0].(int64)
		if err = rows.Next(row); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return pid, errors.Join(err, rows.Close())
}
