package worker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/migrated"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// soon is how long a busy machine may take for what should take a moment.
const soon = proof.Patience

// onEach runs a test with a function that opens one database, as each node does for itself.
func onEach(t *testing.T, test func(t *testing.T, node func() *sqlstore.Store)) {
	for engine, database := range map[string]func() string{
		"on SQLite":     func() string { return "sqlite:" + migrated.SQLite(t, filepath.Join(t.TempDir(), "test.db")) },
		"on PostgreSQL": func() string { return migrated.Postgres(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			url := database()
			test(t, func() *sqlstore.Store {
				db, closeDB, err := sqlstore.Open(t.Context(),
					sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: proof.Patience},
					nil, sql.OpenDB)
				require.NoError(t, err)
				t.Cleanup(closeDB)
				return db
			})
		})
	}
}

// enqueue queues one job for each subject, and returns who did.
func enqueue(t *testing.T, db *sqlstore.Store, subjects ...string) identity.Actor {
	t.Helper()
	ids, err := db.EnsureOrgs(t.Context(), []string{"org"})
	require.NoError(t, err)
	by := identity.System(ids["org"], "", "test", time.Now())
	err = db.Atomically(t.Context(), func(tx ports.Stores) error {
		for _, subject := range subjects {
			if err := tx.Jobs.Enqueue(t.Context(), job.New(by, kind, subject, by.At)); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	return by
}

// work runs a node until the test ends, or the returned function is called.
func work(t *testing.T, queue ports.JobQueue, p job.Policy,
	do func(ctx context.Context, by identity.Actor, subject string) error) (stop func()) {
	t.Helper()
	return run(t, queue, worker.Table{kind: {Policy: p, Do: do}})
}

func TestTwoNodesRunEachJobOnce(t *testing.T) {
	const count = 200
	onEach(t, func(t *testing.T, node func() *sqlstore.Store) {
		subjects := make([]string, count)
		for i := range subjects {
			subjects[i] = fmt.Sprint("subject ", i)
		}
		one, two := node(), node()
		enqueue(t, one, subjects...)
		var runs sync.Map
		var rest sync.WaitGroup
		rest.Add(count)
		var share [2]atomic.Int64
		for i, db := range []*sqlstore.Store{one, two} {
			work(t, jobs.NewQueue(db.DB), job.Policy{Limit: soon, Attempts: 1},
				func(_ context.Context, _ identity.Actor, subject string) error {
					if _, isRepeated := runs.LoadOrStore(subject, i); isRepeated {
						t.Errorf("%s is run twice", subject)
						return nil
					}
					share[i].Add(1)
					rest.Done()
					return nil
				})
		}
		await(t, "all jobs have been run", rest.Wait)
		t.Logf("the nodes ran %d and %d of them", share[0].Load(), share[1].Load())
	})
}

// fallen is the queue of a node that dies at a moment: nothing that it says arrives any more.
type fallen struct {
	ports.JobQueue
	dead atomic.Bool
}

func (f *fallen) Take(ctx context.Context, now time.Time, lease time.Duration, kinds []job.Kind, n int) ([]job.Job,
	error) {
	if f.dead.Load() {
		return nil, errors.New("dead")
	}
	return f.JobQueue.Take(ctx, now, lease, kinds, n)
}

func (f *fallen) Settle(ctx context.Context, j job.Job, o job.Outcome) error {
	if f.dead.Load() {
		return errors.New("dead")
	}
	return f.JobQueue.Settle(ctx, j, o)
}

func TestTheJobOfANodeThatDiedIsTakenUpByAnotherOnce(t *testing.T) {
	p := job.Policy{Limit: 5 * time.Second, Attempts: 3} // more than a busy machine needs for the next run
	onEach(t, func(t *testing.T, node func() *sqlstore.Store) {
		db := node()
		enqueue(t, db, "a")
		dies := &fallen{JobQueue: jobs.NewQueue(db.DB)}
		batch := make(chan struct{})
		stop := work(t, dies, p, func(ctx context.Context, _ identity.Actor, _ string) error {
			dies.dead.Store(true)
			close(batch)
			<-ctx.Done()
			return ctx.Err()
		})
		await(t, "the job is taken", func() { <-batch })
		stop()
		start, second := time.Now(), make(chan string, 2)
		work(t, jobs.NewQueue(node().DB), p, func(_ context.Context, by identity.Actor, subject string) error {
			second <- subject
			return nil
		})
		await(t, "another takes it up", func() { <-second })
		took := time.Since(start)
		t.Logf("taken up after %s, at a limit of %s", took, p.Limit)
		enqueue(t, db, "after it")
		await(t, "the next job runs", func() {
			assert.Equal(t, "is run once more", <-second, "after it")
		})
	})
}

func TestJobsAndRequestsGetTheirTurnOnOneDatabase(t *testing.T) {
	const count, writes = 100, 100
	onEach(t, func(t *testing.T, node func() *sqlstore.Store) {
		db := node()
		subjects := make([]string, count)
		for i := range subjects {
			subjects[i] = fmt.Sprint("subject ", i)
		}
		by := enqueue(t, db, subjects...)
		write := func(ctx context.Context, subject string) error { // as a request does
			return db.Stores().Jobs.Enqueue(ctx, job.New(by, "test.later", subject, by.At.Add(time.Hour)))
		}
		var rest sync.WaitGroup
		rest.Add(count)
		work(t, jobs.NewQueue(db.DB), job.Policy{Limit: soon, Attempts: 1},
			func(ctx context.Context, _ identity.Actor, subject string) error {
				defer rest.Done()
				return write(ctx, subject)
			})
		done := make(chan struct{})
		var writers sync.WaitGroup
		var slowest atomic.Int64
		for i := range 8 {
			writers.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-done:
						if n >= writes {
							return
						}
					default:
					}
					start := time.Now()
					if err := write(t.Context(), fmt.Sprint(i, " ", n)); err != nil {
						t.Error(err)
						return
					}
					slowest.Store(max(slowest.Load(), int64(time.Since(start))))
				}
			})
		}
		await(t, "the jobs have run beside writers that never rest", rest.Wait)
		close(done)
		await(t, "the writers have written", writers.Wait)
		t.Logf("the slowest write took %s", time.Duration(slowest.Load()))
	})
}

// await fails the test if something takes too long.
func await(t *testing.T, name string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("it takes too long until %s", name)
	}
}
