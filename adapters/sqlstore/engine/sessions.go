package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
)

// CheckSessions returns ErrPooledByTransaction if two new connections share a backend, or if one of them changes its
// backend. A pooler reuses the backend that was released last, so that the first queries on them usually find it. The
// pool keeps both connections, or one if it may have only one.
//
// While the second connection is opened, duringWait uses the first one, of which it is not known yet whether it keeps
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
