package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// triesAgain is the time for which a pool uses only its existing connections after the server refused another one.
	triesAgain = 2 * time.Second

	// firstPause is the pause between two attempts to get the first connection of a pool.
	firstPause = 50 * time.Millisecond
)

// PoolConnector opens connections for one pool. While the server accepts no more connections, statements wait for a
// connection that the pool already has; otherwise they would fail.
type PoolConnector struct {
	driver.Connector
	wait   time.Duration // for the first connection of the pool
	max    int
	pool   atomic.Pointer[sql.DB]
	open   atomic.Int64       // connections
	opened chan *postgresConn // by CheckSessions, which the pool takes first
}

// NewPoolConnector returns a connector for a pool of at most max connections. A pool that has none yet tries for wait
// to get one.
func NewPoolConnector(c driver.Connector, maxConns int, wait time.Duration) *PoolConnector {
	return &PoolConnector{Connector: c, max: maxConns, wait: wait, opened: make(chan *postgresConn, 1)}
}

// Limit sets the limits of the pool, which p connects for.
func (p *PoolConnector) Limit(pool *sql.DB) {
	pool.SetMaxOpenConns(p.max)
	pool.SetMaxIdleConns(p.max)
	p.pool.Store(pool)
}

// Connect implements driver.Connector. If the server accepts no more connections, and the pool has some, it returns
// driver.ErrBadConn: database/sql then tries again, and waits, because the pool may not grow at that time.
func (p *PoolConnector) Connect(ctx context.Context) (driver.Conn, error) {
	select {
	case conn := <-p.opened:
		return p.count(conn), nil
	default:
	}
	for ends := time.Now().Add(p.wait); ; {
		conn, err := p.connect(ctx)
		if err == nil {
			return p.count(conn), nil
		}
		if PostgresCode(err) != tooManyConnections {
			return nil, err
		}
		if n := p.open.Load(); n > 0 {
			p.limitToOpen(int(n))
			return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, err)
		}
		if !time.Now().Before(ends) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(firstPause):
		}
	}
}

// connect opens a connection that is not counted.
func (p *PoolConnector) connect(ctx context.Context) (*postgresConn, error) {
	raw, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*postgresConn)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("sqlstore: a connection of the kind %T cannot be counted", raw)
	}
	return conn, nil
}

// count counts a connection until it is closed.
func (p *PoolConnector) count(conn *postgresConn) driver.Conn {
	p.open.Add(1)
	conn.closed = func() { p.open.Add(-1) }
	return conn
}

// limitToOpen limits the pool to n connections for a while.
func (p *PoolConnector) limitToOpen(n int) {
	pool := p.pool.Load()
	if pool == nil {
		return
	}
	pool.SetMaxOpenConns(n)
	time.AfterFunc(triesAgain, func() { p.Limit(pool) })
}

// IsLimited reports whether the pool is limited to its connections because the server refused another one.
func (p *PoolConnector) IsLimited() bool {
	pool := p.pool.Load()
	return pool != nil && pool.Stats().MaxOpenConnections < p.max
}
