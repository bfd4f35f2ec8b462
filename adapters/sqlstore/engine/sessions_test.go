package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// counting counts the connections that it has opened.
type counting struct {
	driver.Connector
	opened atomic.Int64
}

func (c *counting) Connect(ctx context.Context) (driver.Conn, error) {
	c.opened.Add(1)
	return c.Connector.Connect(ctx)
}

func TestThePoolKeepsTheConnectionsThatAStartHasChecked(t *testing.T) {
	for limit, count := range map[int]int{1: 1, 2: 2, 10: 2} {
		t.Run(fmt.Sprintf("%d of a pool of %d", count, limit), func(t *testing.T) {
			url := services.Postgres(t)
			server := &counting{Connector: connector(t, url, 5*time.Second)}
			p := NewPoolConnector(server, limit, time.Second)
			db := pool(t, Prepare(p))
			p.Limit(db)
			require.NoError(t, p.CheckSessions(t.Context(), nil))
			if s := db.Stats(); s.OpenConnections != count || s.Idle != count || p.open.Load() != int64(count) {
				t.Errorf("%+v, and %d counted; want %d idle connections", s, p.open.Load(), count)
			}
			for range count {
				var one int
				conn, err := db.Conn(t.Context())
				require.NoError(t, err)
				defer conn.Close()
				if err := conn.QueryRowContext(t.Context(), `SELECT $1::int`, 1).Scan(&one); err != nil || one != 1 {
					t.Errorf("a query on it: %d, %v", one, err)
				}
			}
			assert.Equal(t, "connections were opened", server.opened.Load(), 2)
		})
	}
}

func TestTheFirstConnectionIsUsedWhileTheSecondIsOpened(t *testing.T) {
	server := &meeting{Connector: connector(t, services.Postgres(t), 5*time.Second), second: make(chan struct{})}
	p := NewPoolConnector(server, 10, time.Second)
	p.Limit(pool(t, p))
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
	defer cancel()
	if err := p.CheckSessions(ctx, func(ctx context.Context, conn *sql.Conn) error {
		select {
		case <-ctx.Done():
			t.Error("the second connection waits for the first one")
		case server.second <- struct{}{}:
		}
		_, err := conn.ExecContext(ctx, `SELECT 1`)
		return err
	}); err != nil {
		t.Error(err)
	}
}

// meeting opens its second connection once something is sent to second.
type meeting struct {
	driver.Connector
	opened atomic.Int64
	second chan struct{}
}

func (m *meeting) Connect(ctx context.Context) (driver.Conn, error) {
	if m.opened.Add(1) == 2 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.second:
		}
	}
	return m.Connector.Connect(ctx)
}

func TestACheckWhoseFirstConnectionFailsLeavesNoneOpen(t *testing.T) {
	url := services.Postgres(t)
	p := NewPoolConnector(connector(t, url, 5*time.Second), 10, time.Second)
	p.Limit(pool(t, p))
	failure := errors.New("of the first connection")
	err := p.CheckSessions(t.Context(), func(context.Context, *sql.Conn) error { return failure })
	assert.ErrorIs(t, err, failure)
	untilAlone(t, pool(t, connector(t, url, 5*time.Second)))
}

func TestAFailedCheckLeavesNoConnectionOpen(t *testing.T) {
	url := services.Postgres(t)
	other := pool(t, connector(t, url, 5*time.Second))
	server := &changing{connector(t, url, 5*time.Second)}
	p := NewPoolConnector(server, 10, time.Second)
	db := pool(t, p)
	p.Limit(db)
	if err := p.CheckSessions(t.Context(), nil); err == nil {
		t.Fatal("a connection that has changed its backend was not found")
	}
	if s := db.Stats(); s.OpenConnections != 0 {
		t.Errorf("the pool has kept %d connections", s.OpenConnections)
	}
	untilAlone(t, other)
}

// changing opens connections that believe to have begun with another backend.
type changing struct{ driver.Connector }

func (c *changing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil {
		conn.(*postgresConn).backend = -conn.(*postgresConn).backend
	}
	return conn, err
}

// untilAlone waits until the database has no other connection.
func untilAlone(t *testing.T, db *sql.DB) {
	t.Helper()
	proof.Eventually(t, "no other connection is open", func() bool {
		return scan[int](t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()
				AND backend_type = 'client backend'`)) == 0
	})
}
