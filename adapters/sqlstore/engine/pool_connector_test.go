package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lib/pq"
)

// refusing is a server that refuses some connections.
type refusing struct{ times int }

func (r *refusing) Driver() driver.Driver { return nil }

func (r *refusing) Connect(context.Context) (driver.Conn, error) {
	if r.times--; r.times >= 0 {
		return nil, &pq.Error{Code: tooManyConnections}
	}
	return new(postgresConn), nil
}

func TestAPoolWithoutConnectionsTriesToGetItsFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		refused int
		wait    time.Duration
		full    bool
	}{
		"the server soon accepts one":           {3, 2 * time.Second, false},
		"the server accepts none":               {1000, 2 * time.Second, true},
		"a pool that does not wait fails":       {1, 0, true},
		"it is not refused, so it need not try": {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := NewPoolConnector(&refusing{tt.refused}, 10, tt.wait).Connect(t.Context())
				if IsFull(err) != tt.full || (!tt.full && err != nil) {
					t.Errorf("error = %v", err)
				}
				if took := time.Since(start); took > tt.wait+firstPause {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func TestAPoolMakesDoWithItsConnectionsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := new(refusing)
		p := NewPoolConnector(server, 10, time.Second)
		pool := sql.OpenDB(p)
		defer pool.Close()
		p.Limit(pool)
		for range 2 {
			if _, err := p.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		server.times = 1
		if _, err := p.Connect(t.Context()); !errors.Is(err, driver.ErrBadConn) || !IsFull(err) {
			t.Errorf("error = %v", err)
		}
		if got := pool.Stats().MaxOpenConnections; got != 2 || !p.IsLimited() {
			t.Errorf("the pool may have %d connections, want the 2 that it has", got)
		}
		time.Sleep(triesAgain)
		synctest.Wait()
		if got := pool.Stats().MaxOpenConnections; got != 10 || p.IsLimited() {
			t.Errorf("later the pool may have %d connections, want 10", got)
		}
	})
}
