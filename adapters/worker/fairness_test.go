package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAPostponedJobIsQueuedForSoonAndCountsAsNoFailure(t *testing.T) {
	withEnv(t, func(s *env) {
		s.do = func(ctx context.Context, _ identity.Actor, _ string) error {
			if ports.MayWait(ctx) {
				t.Error("a job may wait for a child process within its slot")
			}
			return fmt.Errorf("read: %w", job.Postponed(errBoom))
		}
		s.start("a")
		s.wait(0)
		if o := s.want("a", job.Queued, job.Busy, 0); o.Failures != 0 || o.Due.Sub(s.begun) < 2*time.Second ||
			o.Due.Sub(s.begun) > 4*time.Second {
			t.Errorf("%+v", o)
		}
		s.logged("level=INFO", "outcome=postponed")
	})
}

// TestNoWorkspaceHoldsUpThePaymentsOfOthers queues many jobs of workspaces that hang, of two orgs and more than
// there are slots, and then a payment's and a source's of others.
func TestNoWorkspaceHoldsUpThePaymentsOfOthers(t *testing.T) {
	const refresh, events = job.Kind("source.refresh"), job.Kind("payment.events")
	onEach(t, func(t *testing.T, node func() *sqlstore.Store) {
		db := node()
		ids, err := db.EnsureOrgs(t.Context(), []string{"busy", "victim"})
		require.NoError(t, err)
		enqueue := func(org identity.OrgID, ws identity.WorkspaceID, kind job.Kind, subject string) {
			t.Helper()
			by := identity.System(org, ws, "test", time.Now())
			require.NoError(t, db.Stores().Jobs.Enqueue(t.Context(), job.New(by, kind, subject, by.At)))
		}
		for i := range 100 {
			enqueue(ids["busy"], "wsp_busy", refresh, fmt.Sprint("hangs ", i))
		}
		var hanging, maximum atomic.Int64
		done := make(chan string, 10)
		work := func(ctx context.Context, by identity.Actor, subject string) error {
			if by.Org == ids["victim"] {
				done <- subject
				return nil
			}
			raise(&maximum, hanging.Add(1))
			defer hanging.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		p := job.Policy{Limit: soon, Attempts: 1}
		table := worker.Table{refresh: {Policy: p, Do: work}, events: {Policy: p, Do: work}}
		stop := run(t, jobs.NewQueue(db.DB), table)
		proof.Eventually(t, "as many hang as may", func() bool { return maximum.Load() >= job.PerWorkspace })
		enqueue(ids["victim"], "wsp_victim", events, "paid")
		enqueue(ids["victim"], "wsp_victim", refresh, "refreshed")
		await(t, "the jobs of others have run", func() { <-done; <-done })
		assert.Equal(t, "jobs of one workspace hung at the same time", maximum.Load(), job.PerWorkspace)
		// Many workspaces hang: reserved slots are left.
		for i := range 20 {
			enqueue(ids["busy"], identity.WorkspaceID(fmt.Sprint("wsp_", i)), refresh, "hangs")
		}
		proof.Eventually(t, "they hang", func() bool { return maximum.Load() >= 7 })
		enqueue(ids["victim"], "wsp_victim", events, "paid again")
		await(t, "a payment's job has run", func() { <-done })
		assert.Equal(t, "jobs hung at the same time: the slots of payments are not theirs", maximum.Load(), 7)
		stop()
	})
}

// run runs a node of ten slots until the test ends, or the returned function is called.
func run(t *testing.T, queue ports.JobQueue, table worker.Table) (stop func()) {
	t.Helper()
	config := worker.Config{Slots: 10, Reserved: 3, Poll: 20 * time.Millisecond, Lease: 3 * time.Second}
	w := worker.New(config, queue, table, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	endedSignal := make(chan struct{})
	go func() {
		w.Run(ctx, 0)
		close(endedSignal)
	}()
	stop = func() {
		cancel()
		<-endedSignal
	}
	t.Cleanup(stop)
	return stop
}

// raise sets most to n if that is more.
func raise(maximum *atomic.Int64, n int64) {
	for previous := maximum.Load(); n > previous && !maximum.CompareAndSwap(previous, n); previous = maximum.Load() {
	}
}
