package engine

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// behindProxy returns the URL of a fresh database behind a proxy.
func behindProxy(t *testing.T) (string, *fixture.Proxy) {
	t.Helper()
	direct := services.Postgres(t)
	_, upstream := through(t, direct, "")
	proxy := fixture.NewProxy(t, upstream)
	rawURL, _ := through(t, direct, proxy.Addr())
	return rawURL, proxy
}

// behindProxyAndTLS is behindProxy with TLS, of which the test server has none, ended beyond
// the proxy.
func behindProxyAndTLS(t *testing.T) (string, *fixture.Proxy) {
	t.Helper()
	direct := services.Postgres(t)
	_, upstream := through(t, direct, "")
	proxy := fixture.NewProxy(t, tlsFront(t, upstream))
	rawURL, _ := through(t, strings.Replace(direct, "sslmode=disable", "sslmode=require", 1), proxy.Addr())
	return rawURL, proxy
}

// tlsFront accepts PostgreSQL's way of starting TLS and forwards what is inside it to upstream.
func tlsFront(t *testing.T, upstream string) (addr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { gate.Close() })
	go func() {
		for {
			client, err := gate.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				if _, err := io.ReadFull(client, make([]byte, 8)); err != nil { // the SSLRequest
					return
				}
				if _, err := client.Write([]byte("S")); err == nil {
					splice(tls.Server(client, config), upstream)
				}
			}()
		}
	}()
	return gate.Addr().String()
}

var transports = map[string]func(*testing.T) (string, *fixture.Proxy){"plain": behindProxy, "TLS": behindProxyAndTLS}

// operations are begun in good order, each on a pool of its own, and continue in the hole.
var operations = map[string]func(t *testing.T, ctx context.Context, db *sql.DB) (inTheHole func() error){
	"a query": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { return db.QueryRowContext(ctx, `SELECT 1`).Scan(new(int)) }
	},
	"a query with arguments": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { return db.QueryRowContext(ctx, `SELECT $1::int`, 1).Scan(new(int)) }
	},
	"a statement": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { _, err := db.ExecContext(ctx, `SELECT 1`); return err }
	},
	"a prepared query": func(t *testing.T, ctx context.Context, db *sql.DB) func() error {
		stmt := prepared(t, db)
		return func() error { return stmt.QueryRowContext(ctx, 1).Scan(new(int)) }
	},
	"a prepared statement": func(t *testing.T, ctx context.Context, db *sql.DB) func() error {
		stmt := prepared(t, db)
		return func() error { _, err := stmt.ExecContext(ctx, 1); return err }
	},
	"preparing": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { _, err := db.PrepareContext(ctx, `SELECT 1`); return err }
	},
	"a ping": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { return db.PingContext(ctx) }
	},
	"beginning a transaction": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		return func() error { _, err := db.BeginTx(ctx, nil); return err }
	},
	"a query in a transaction, and its rollback": func(t *testing.T, ctx context.Context, db *sql.DB) func() error {
		tx := begun(t, ctx, db)
		return func() error {
			defer tx.Rollback()
			return tx.QueryRowContext(ctx, `SELECT 1`).Scan(new(int))
		}
	},
	"a commit": func(t *testing.T, ctx context.Context, db *sql.DB) func() error {
		return begun(t, ctx, db).Commit
	},
	"reading rows": func(t *testing.T, ctx context.Context, db *sql.DB) func() error {
		rows, err := db.QueryContext(ctx, `SELECT repeat('x', 1000) FROM generate_series(1, 30000)`)
		if err != nil || !rows.Next() {
			t.Fatal(err, rows.Err())
		}
		return func() error {
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		}
	},
	"connecting": func(_ *testing.T, ctx context.Context, db *sql.DB) func() error {
		db.SetMaxIdleConns(-1)
		return func() error { _, err := db.Conn(ctx); return err }
	},
}

func prepared(t *testing.T, db *sql.DB) *sql.Stmt {
	t.Helper()
	stmt, err := db.PrepareContext(t.Context(), `SELECT $1::int`)
	require.NoError(t, err)
	return stmt
}

func begun(t *testing.T, ctx context.Context, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	return tx
}

func TestBlackHole(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		assert.NoError(t, fixture.GoroutinesEnd(leaks))
	})

	const limit = 5 * time.Second // long enough for a busy machine to begin every operation
	limits := map[string]struct {
		statementTimeout time.Duration
		context          func() (context.Context, context.CancelFunc)
		least, most      time.Duration // from the context's start until the operation ends
	}{
		"a deadline": {unlimited,
			func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), limit) },
			limit, limit + Grace},
		"a cancelled context": {unlimited,
			func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(limit, cancel)
				return ctx, cancel
			},
			limit, limit + Grace},
		"the statement timeout": {limit,
			func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
			limit + margin, limit + margin},
	}
	for transport, backendText := range transports {
		for name, tt := range limits {
			t.Run(name+" ends everything, over "+transport, func(t *testing.T) {
				t.Parallel()
				url, proxy := backendText(t)
				type operation struct {
					name  string
					begun time.Time
					run   func() error
				}
				var all []operation
				for operates, begin := range operations {
					if operates == "connecting" && name == "a cancelled context" {
						continue // the connect timeout ends it, as below
					}
					db := pool(t, connector(t, url+"&connect_timeout=10", tt.statementTimeout))
					require.NoError(t, db.PingContext(t.Context()))
					start := time.Now()
					ctx, cancel := tt.context()
					defer cancel()
					all = append(all, operation{operates, start, begin(t, ctx, db)})
				}
				proxy.Swallow(true)
				slowStart := time.Duration(0)
				if name == "the statement timeout" { // which counts from now, not from the context's start
					slowStart = time.Since(all[0].begun)
				}
				var wg sync.WaitGroup
				for _, op := range all {
					wg.Go(func() {
						err := op.run()
						took := time.Since(op.begun)
						if err == nil || took < tt.least {
							t.Errorf("%s ended after %v with %v; want an error after %v", op.name, took, err, tt.least)
						}
						proof.Within(t, op.name, took, tt.most+slowStart+busy)
					})
				}
				wg.Wait()
			})
		}
	}

	t.Run("the rollback of a transaction whose context is done is short", func(t *testing.T) {
		t.Parallel()
		url, proxy := behindProxy(t)
		db := pool(t, connector(t, url, unlimited))
		ctx, cancel := context.WithCancel(t.Context())
		tx := begun(t, ctx, db)
		proxy.Swallow(true)
		start := time.Now()
		cancel()
		tx.Rollback()
		proof.Within(t, "the rollback", time.Since(start), Grace+busy)
	})

	t.Run("a database that is cut off fails at once, and serves as soon as it is back", func(t *testing.T) {
		t.Parallel()
		url, proxy := behindProxy(t)
		db := pool(t, connector(t, url, unlimited))
		ask := func() error { return db.QueryRowContext(t.Context(), `SELECT 1`).Scan(new(int)) }
		require.NoError(t, ask())
		proxy.Cut()
		ends(t, 0, busy, ask)
		ends(t, 0, busy, ask)
		proxy.Restore()
		require.NoError(t, ask())
	})
}

func TestPoolAfterBlackHoles(t *testing.T) {
	for transport, backendText := range transports {
		t.Run("no caller gets another's answer, and soon all get one, over "+transport, func(t *testing.T) {
			t.Parallel()
			const connectTimeout = 5 * time.Second // how long a connection that began in the hole may block the pool
			url, proxy := backendText(t)
			db := pool(t, connector(t, url+"&connect_timeout=5", unlimited))
			db.SetMaxOpenConns(4)
			db.SetMaxIdleConns(4)
			stmt := prepared(t, db)
			ask := func(i int, limit time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				ask := stmt.QueryRowContext
				if i%2 == 0 {
					ask = func(ctx context.Context, args ...any) *sql.Row {
						return db.QueryRowContext(ctx, `SELECT $1::int`, args...)
					}
				}
				var got int
				err := ask(ctx, i).Scan(&got)
				if err == nil && got != i {
					t.Errorf("asked for %d, got %d", i, got)
				}
				return err
			}
			var wg sync.WaitGroup
			endedSignal, excess := make(chan struct{}), make(chan struct{})
			for worker := range 8 {
				wg.Go(func() {
					for i := 0; ; i++ {
						_ = ask(worker*1000+i, 100*time.Millisecond) // some are lost
						select {
						case endedSignal <- struct{}{}:
						case <-excess:
							return
						}
					}
				})
			}
			for hole := range 6 {
				proxy.Swallow(hole%2 == 0)
				for range 12 { // queries, of which the first began before
					<-endedSignal
				}
			}
			close(excess)
			wg.Wait()
			start := time.Now()
			for good := 0; good < 20; good++ {
				err := ask(good, proof.Patience)
				if took := time.Since(start); err != nil && took > proof.Patience {
					t.Fatalf("%s after the holes: %v", took, err)
				}
				if err != nil { // of a connection that began in a hole
					good = -1
				}
			}
			proof.Within(t, "20 queries after the holes", time.Since(start), connectTimeout+busy)
		})
	}
}
