package engine

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func connector(t *testing.T, url string, statementTimeout time.Duration) *postgresConnector {
	t.Helper()
	c, err := NewPostgres(url, statementTimeout)
	require.NoError(t, err)
	return c.(*postgresConnector)
}

func pool(t *testing.T, c driver.Connector) *sql.DB {
	t.Helper()
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db
}

// through returns rawURL with another host and the default time for connecting, and the host:port that it had.
func through(t *testing.T, rawURL, host string) (change, upstream string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	require.NoError(t, err)
	upstream, u.Host = u.Host, host
	query := u.Query()
	query.Del("connect_timeout")
	u.RawQuery = query.Encode()
	return u.String(), upstream
}

func scan[T any](t *testing.T, row *sql.Row) (v T) {
	t.Helper()
	require.NoError(t, row.Scan(&v))
	return v
}

func TestPostgresConnections(t *testing.T) {
	db := pool(t, connector(t, services.Postgres(t), 5*time.Second))
	ctx := t.Context()
	if _, err := db.ExecContext(ctx, `CREATE TABLE things (id bigint PRIMARY KEY, name text, body bytea,
		at timestamptz)`); err != nil {
		t.Fatal(err)
	}

	t.Run("every kind of value comes back", func(t *testing.T) {
		now := time.Date(2026, 2, 3, 4, 5, 6, 789000, time.UTC)
		if _, err := db.ExecContext(ctx, `INSERT INTO things VALUES ($1, $2, $3, $4), ($5, NULL, NULL, NULL)`, 1,
			"näme", []byte{0, 1, 255}, now, 2); err != nil {
			t.Fatal(err)
		}
		var name sql.NullString
		var body []byte
		var got time.Time
		if err := db.QueryRowContext(ctx, `SELECT name, body, at FROM things WHERE id = $1`, 1).Scan(&name, &body,
			&got); err != nil {
			t.Fatal(err)
		}
		if name.String != "näme" || string(body) != "\x00\x01\xff" || !got.Equal(now) {
			t.Fatalf("got %v, %v, %v", name, body, got)
		}
		if scan[sql.NullString](t, db.QueryRowContext(ctx, `SELECT name FROM things WHERE id = 2`)).Valid {
			t.Fatal("NULL became a text")
		}
	})

	t.Run("a slice is bound as an array, as lib/pq does", func(t *testing.T) {
		if got := scan[int](t, db.QueryRowContext(ctx, `SELECT count(*) FROM unnest($1::text[])`,
			[]string{"a", "b"})); got != 2 {
			t.Fatalf("%d elements", got)
		}
	})

	t.Run("prepared statements work, again and again", func(t *testing.T) {
		stmt, err := db.PrepareContext(ctx, `SELECT $1::int * 2`)
		require.NoError(t, err)
		defer stmt.Close()
		for i := range 10 {
			if got := scan[int](t, stmt.QueryRowContext(ctx, i)); got != 2*i {
				t.Fatalf("twice %d = %d", i, got)
			}
		}
		if _, err := stmt.ExecContext(ctx, 1); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a commit stays, a rollback does not", func(t *testing.T) {
		for id, end := range map[int]func(*sql.Tx) error{10: (*sql.Tx).Commit, 11: (*sql.Tx).Rollback} {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			if _, err := tx.ExecContext(ctx, `INSERT INTO things (id) VALUES ($1)`, id); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, end(tx))
		}
		require.Equal(t, "sum", scan[int](t, db.QueryRowContext(ctx, `SELECT sum(id) FROM things WHERE id >= 10`)), 10)
	})

	t.Run("an error of the server keeps the connection", func(t *testing.T) {
		conn, err := db.Conn(ctx)
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(ctx, `SELECT nonsense`)
		var refusedFault *pq.Error
		if !errors.As(err, &refusedFault) || refusedFault.Code != "42703" {
			t.Fatalf("error = %v, want undefined_column", err)
		}
		require.NoError(t, conn.PingContext(ctx))
	})

	t.Run("many at once get each their own answer", func(t *testing.T) {
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 20 {
					var got int
					if err := db.QueryRowContext(ctx, `SELECT $1::int`, worker*1000+i).Scan(&got); err != nil ||
						got != worker*1000+i {
						t.Errorf("got %d, %v; want %d", got, err, worker*1000+i)
					}
				}
			})
		}
		wg.Wait()
	})

	t.Run("COPY is refused, and the connection not used again", func(t *testing.T) {
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer tx.Rollback()
		if _, err := tx.PrepareContext(ctx, pq.CopyIn("things", "id")); err == nil {
			t.Fatal("it was prepared")
		}
	})
}

func TestEveryOperationHasADeadlineOfItsOwn(t *testing.T) {
	db := pool(t, connector(t, services.Postgres(t), 5*time.Second))
	ctx := t.Context()
	// Each is given a connection, and a way to let its last deadline pass.
	for name, operate := range map[string]func(conn *sql.Conn, expire func()) error{
		"a query": func(c *sql.Conn, expire func()) error {
			expire()
			return c.QueryRowContext(ctx, `SELECT 1`).Scan(new(int))
		},
		"a statement": func(c *sql.Conn, expire func()) error {
			expire()
			_, err := c.ExecContext(ctx, `SELECT 1`)
			return err
		},
		"a ping": func(c *sql.Conn, expire func()) error { expire(); return c.PingContext(ctx) },
		"preparing": func(c *sql.Conn, expire func()) error {
			expire()
			_, err := c.PrepareContext(ctx, `SELECT 1`)
			return err
		},
		"a prepared query": func(c *sql.Conn, expire func()) error {
			stmt, err := c.PrepareContext(ctx, `SELECT 1`)
			if err != nil {
				return err
			}
			expire()
			return stmt.QueryRowContext(ctx).Scan(new(int))
		},
		"a prepared statement": func(c *sql.Conn, expire func()) error {
			stmt, err := c.PrepareContext(ctx, `SELECT 1`)
			if err != nil {
				return err
			}
			expire()
			_, err = stmt.ExecContext(ctx)
			return err
		},
		"closing a prepared statement": func(c *sql.Conn, expire func()) error {
			stmt, err := c.PrepareContext(ctx, `SELECT 1`)
			if err != nil {
				return err
			}
			expire()
			return stmt.Close()
		},
		"beginning": func(c *sql.Conn, expire func()) error {
			expire()
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			return tx.Rollback()
		},
		"a commit": func(c *sql.Conn, expire func()) error {
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			expire()
			return tx.Commit()
		},
		"a rollback": func(c *sql.Conn, expire func()) error {
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			expire()
			return tx.Rollback()
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := db.Conn(ctx)
			require.NoError(t, err)
			defer conn.Close()
			expire := func() {
				require.NoError(t, conn.Raw(func(c any) error {
					return c.(*postgresConn).line.SetDeadline(time.Unix(1, 0))
				}))
			}
			require.NoError(t, operate(conn, expire))
		})
	}
}

// A wrapper that loses an optional interface loses speed or the context, silently.
func TestNoOptionalInterfaceIsLost(t *testing.T) {
	direct := services.Postgres(t)
	plain, err := pq.NewConnector(direct)
	require.NoError(t, err)
	open := func(c driver.Connector) (driver.Conn, driver.Stmt) {
		conn, err := c.Connect(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(t.Context(), `SELECT 1`)
		require.NoError(t, err)
		return conn, stmt
	}
	conn, stmt := open(plain)
	ourConn, ourStmt := open(connector(t, direct, time.Second))
	for _, i := range []reflect.Type{
		reflect.TypeFor[driver.ConnBeginTx](), reflect.TypeFor[driver.ConnPrepareContext](),
		reflect.TypeFor[driver.ExecerContext](),
		reflect.TypeFor[driver.QueryerContext](), reflect.TypeFor[driver.Pinger](),
		reflect.TypeFor[driver.SessionResetter](),
		reflect.TypeFor[driver.Validator](), reflect.TypeFor[driver.NamedValueChecker](),
		reflect.TypeFor[driver.StmtExecContext](),
		reflect.TypeFor[driver.StmtQueryContext](), reflect.TypeFor[driver.ColumnConverter](),
	} {
		for name, pair := range map[string][2]any{"connection": {conn, ourConn}, "statement": {stmt, ourStmt}} {
			if reflect.TypeOf(pair[0]).Implements(i) && !reflect.TypeOf(pair[1]).Implements(i) {
				t.Errorf("our %s is no %v, lib/pq's is", name, i)
			}
		}
	}
}

func TestAStandbyIsRefused(t *testing.T) {
	server := services.StartOwnPostgres(t)
	standby := server.Standby()
	_, err := connector(t, standby.URL, proof.Patience).Connect(t.Context())
	if !errors.Is(err, ErrStandby) || !Postgres.Outage(err) {
		t.Errorf("error = %v", err)
	}
	t.Run("of several hosts the primary is used", func(t *testing.T) {
		primary, err := url.Parse(server.URL)
		require.NoError(t, err)
		second, err := url.Parse(standby.URL)
		require.NoError(t, err)
		second.Host += "," + primary.Host
		conn, err := connector(t, second.String(), proof.Patience).Connect(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		assert.NoError(t, conn.(*postgresConn).Ping(t.Context()))
	})
}

func TestAConnectionWhoseServerBecameAStandbyIsDropped(t *testing.T) {
	db := pool(t, connector(t, services.Postgres(t), proof.Patience))
	db.SetMaxOpenConns(1)
	require.NoError(t, db.PingContext(t.Context()))
	for _, query := range []string{ // for this connection, the server is in recovery
		`CREATE FUNCTION public.pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT true'`,
		`SET search_path = public, pg_catalog`,
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	assert.ErrorIs(t, db.PingContext(t.Context()), ErrStandby)
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}

// TestAConnectionThatCannotWriteIsDropped provokes the errors of a server that has become a standby.
func TestAConnectionThatCannotWriteIsDropped(t *testing.T) {
	db := pool(t, connector(t, services.Postgres(t), proof.Patience))
	db.SetMaxOpenConns(1)
	backend := func() int { return scan[int](t, db.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`)) }
	for name, tt := range map[string]struct {
		code    pqerror.Code
		queries []string // the last fails
		dropped bool
	}{
		"a read-only transaction": {"25006", []string{
			`SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`, `CREATE TABLE t ()`}, true},
		"a feature that the server does not have": {"0A000", []string{`SELECT COUNT(*) FROM pg_class FOR UPDATE`}, true},
		"a mistake in a statement":                {"42601", []string{`SELEC`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			previous := backend()
			var err error
			for _, query := range tt.queries {
				_, err = db.ExecContext(t.Context(), query)
			}
			if PostgresCode(err) != tt.code || Postgres.Outage(err) != tt.dropped {
				t.Errorf("error = %v, an outage: %v", err, Postgres.Outage(err))
			}
			if isDropped := backend() != previous; isDropped != tt.dropped {
				t.Errorf("dropped: %v", isDropped)
			}
		})
	}
}
