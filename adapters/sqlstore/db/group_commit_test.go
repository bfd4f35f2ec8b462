package db_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// TestTransactionsThatWaitAreCommittedTogether holds SQLite's writer until some transactions wait for it.
func TestTransactionsThatWaitAreCommittedTogether(t *testing.T) {
	var message statements.Log
	path := "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	db, closeDB, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: secret.New(path)}, databases.Keyring(t),
		func(c driver.Connector) *sql.DB {
			return sql.OpenDB(statements.Watch(c, message.Add))
		})
	require.NoError(t, err)
	t.Cleanup(closeDB)
	core.CommitTogetherFor(db.DB, time.Hour)
	direct := databases.Unguarded(t, path)
	direct.MustExec(`CREATE TABLE parents (id INTEGER PRIMARY KEY)`)
	direct.MustExec(`CREATE TABLE things (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents (id)
		DEFERRABLE INITIALLY DEFERRED)`)
	insert := func(ctx context.Context, tx *core.DB, id int) error {
		return core.Exec(ctx, tx, `INSERT INTO things (id) VALUES (?)`, id)
	}
	failure := errors.New("failed")
	for name, tt := range map[string]struct {
		run    func(ctx context.Context, tx *core.DB, id int) error // of the second of five
		first  func(ctx context.Context, tx *core.DB, id int) error
		lost   []int // that fail
		failed error
	}{
		"all of them": {run: insert},
		"one that fails undoes only its own work": {run: func(ctx context.Context, tx *core.DB, id int) error {
			return errors.Join(insert(ctx, tx, id), failure)
		}, lost: []int{1}, failed: failure},
		"a statement that fails undoes nothing of the others": {
			run: func(ctx context.Context, tx *core.DB, id int) error {
				return errors.Join(insert(ctx, tx, id), insert(ctx, tx, id))
			}, lost: []int{1}},
		"one that panics undoes only its own work": {run: func(ctx context.Context, tx *core.DB, id int) error {
			if err := insert(ctx, tx, id); err != nil {
				return err
			}
			panic(failure)
		}, lost: []int{1}, failed: failure},
		"one that nobody waits for any more undoes only its own work": {
			run: func(ctx context.Context, tx *core.DB, id int) error {
				ctx, cancel := context.WithCancel(ctx)
				err := insert(ctx, tx, id)
				cancel()
				return errors.Join(err, insert(ctx, tx, 100+id))
			}, lost: []int{1}, failed: context.Canceled},
		"one whose statement is still running when nobody waits any more undoes only its own work": {
			run: func(ctx context.Context, tx *core.DB, id int) error {
				ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
				err := core.Exec(ctx, tx, `WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n
					WHERE i < 200000) INSERT INTO things (id) SELECT i FROM n WHERE ? > 0`, id)
				<-ctx.Done()
				return errors.Join(err, ctx.Err())
			}, lost: []int{1}, failed: context.DeadlineExceeded},
		"the first one fails": {first: func(ctx context.Context, tx *core.DB, id int) error {
			return errors.Join(insert(ctx, tx, id), failure)
		}, run: insert, lost: []int{0}, failed: failure},
		"if the commit fails all are told": {run: func(ctx context.Context, tx *core.DB, id int) error {
			return core.Exec(ctx, tx, `INSERT INTO things (id, parent) VALUES (?, 1)`, id)
		}, lost: []int{0, 1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			direct.MustExec(`DELETE FROM things`)
			message.Take()
			results, work := make([]error, 5), []func(context.Context, *core.DB, int) error{insert, tt.run, insert,
				insert, insert}
			if tt.first != nil {
				work[0] = tt.first
			}
			var all sync.WaitGroup
			start := func(id int, previousOf func()) {
				all.Go(func() {
					defer func() {
						if p := recover(); p != nil {
							results[id] = p.(error) //nolint:forcetypeassert // the test panics with one
						}
					}()
					results[id] = core.InTx(t.Context(), db.DB, func(tx *core.DB) error {
						previousOf()
						return work[id](t.Context(), tx, id)
					})
				})
			}
			startSignal, others := make(chan struct{}), make(chan struct{})
			start(0, func() { close(startSignal); <-others })
			<-startSignal
			for id := 1; id < len(work); id++ {
				start(id, func() {})
				awaitWaiting(t, db, id)
			}
			close(others)
			all.Wait()
			var keptCounts []int
			require.NoError(t, direct.Select(&keptCounts, `SELECT id FROM things WHERE id < 1002 ORDER BY id`))
			for id, err := range results {
				lost := slices.Contains(tt.lost, id)
				if (err != nil) != lost || (tt.failed != nil && lost && !errors.Is(err, tt.failed)) ||
					slices.Contains(keptCounts, id) == lost {
					t.Errorf("%d: error %v, kept are %v", id, err, keptCounts)
				}
			}
			assert.Equal(t, "commits", count(message.Take(), statements.Commit), 1)
			if err := core.InTx(t.Context(), db.DB, func(tx *core.DB) error {
				return insert(t.Context(), tx, 50)
			}); err != nil {
				t.Errorf("the next one: %v", err)
			}
		})
	}
	t.Run("one that gives up while it waits leaves the others to commit", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rest := make(chan error)
		err := core.InTx(t.Context(), db.DB, func(tx *core.DB) error {
			go func() { rest <- core.InTx(ctx, db.DB, func(*core.DB) error { return nil }) }()
			awaitWaiting(t, db, 1)
			cancel()
			if err := <-rest; !errors.Is(err, context.Canceled) {
				return fmt.Errorf("it returned %w", err)
			}
			return insert(t.Context(), tx, 60)
		})
		assert.NoError(t, err)
	})
}

// awaitWaiting waits until n transactions wait for SQLite's writer.
func awaitWaiting(t *testing.T, db *sqlstore.Store, n int) {
	t.Helper()
	proof.Await(t, fmt.Sprint(n, " transactions wait"), func() int { return core.Waiting(db.DB) },
		func(waiting int) bool { return waiting >= n })
}

func count(all []statements.Statement, query string) (n int) {
	for _, s := range all {
		if strings.EqualFold(s.Query, query) {
			n++
		}
	}
	return n
}
