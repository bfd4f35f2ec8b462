package engine

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// busy is what make prove allows beyond a deadline.
const busy = 5 * time.Second

// unlimited is a statement timeout that no test waits for: only its context ends an operation.
const unlimited = time.Hour

// ends calls op, which must fail no earlier than least from now. In make prove it must fail before most.
func ends(t *testing.T, minimum, limit time.Duration, op func() error) {
	t.Helper()
	start := time.Now()
	done := make(chan error, 1)
	go func() { done <- op() }()
	select {
	case err := <-done:
		took := time.Since(start)
		if err == nil || took < minimum {
			t.Fatalf("it ended after %v with %v; want an error after %v", took, err, minimum)
		}
		proof.Within(t, "the operation", took, limit)
	case <-time.After(proof.Patience):
		t.Fatal("it hangs")
	}
}

func TestStatementsThatTakeTooLong(t *testing.T) {
	direct := services.Postgres(t)

	t.Run("the server ends them at its own timeout", func(t *testing.T) {
		db := pool(t, connector(t, direct, 300*time.Millisecond))
		_, err := db.ExecContext(t.Context(), `SELECT pg_sleep(10)`)
		var endedFault *pq.Error
		if !errors.As(err, &endedFault) || endedFault.Code != "57014" {
			t.Fatalf("error = %v, want query_canceled", err)
		}
	})

	type querier interface {
		QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
	}
	for name, prepare := range map[string]func(*testing.T, *sql.DB) querier{
		"unprepared": func(_ *testing.T, db *sql.DB) querier { return unprepared{db, `SELECT pg_sleep($1)`} },
		"prepared": func(t *testing.T, db *sql.DB) querier {
			stmt, err := db.PrepareContext(t.Context(), `SELECT pg_sleep($1)`)
			require.NoError(t, err)
			t.Cleanup(func() { stmt.Close() })
			return stmt
		},
	} {
		t.Run(name+", the context ends them, on the server too", func(t *testing.T) {
			db := pool(t, connector(t, direct, unlimited))
			db.SetMaxOpenConns(1)
			query := prepare(t, db)
			previous := scan[int](t, db.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(200*time.Millisecond, cancel)
			ends(t, 0, 200*time.Millisecond+Grace+busy, func() error {
				rows, err := query.QueryContext(ctx, 3600)
				if err == nil {
					rows.Close()
				}
				return err
			})
			current := scan[int](t, db.QueryRowContext(t.Context(), `SELECT pg_backend_pid()`))
			if current == previous {
				t.Error("the connection is used again, where a late cancel request may hit it")
			}
			proof.Eventually(t, "the server has stopped it", func() bool {
				return scan[int](t, db.QueryRowContext(t.Context(),
					`SELECT count(*) FROM pg_stat_activity WHERE pid = $1`, previous)) == 0
			})
		})
	}
}

// unprepared is a query of a pool, with the method of a prepared one.
type unprepared struct {
	db    *sql.DB
	query string
}

func (u unprepared) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	return u.db.QueryContext(ctx, u.query, args...)
}

func TestAnswerBudget(t *testing.T) {
	c := connector(t, services.Postgres(t), 5*time.Second)
	c.budget = 1 << 20
	db := pool(t, c)
	db.SetMaxOpenConns(1)
	fetch := func(query string) error {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}

	t.Run("answers within it pass, however many", func(t *testing.T) {
		for range 5 {
			require.NoError(t, fetch(`SELECT repeat('x', 900000)`))
		}
	})
	for name, query := range map[string]string{
		"one large value": `SELECT repeat('x', 1200000)`,
		"many small rows": `SELECT repeat('x', 1000) FROM generate_series(1, 1200)`,
	} {
		t.Run(name+" beyond it is refused, and the pool recovers", func(t *testing.T) {
			require.ErrorIs(t, fetch(query), errAnswerTooLarge)
			if got := scan[int](t, db.QueryRowContext(t.Context(), `SELECT 42`)); got != 42 {
				t.Fatalf("got %d", got)
			}
		})
	}
}
