package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAJobThatHasEndedStaysForAWeek(t *testing.T) {
	const day = 24 * time.Hour
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx, rows := t.Context(), databases.Raw(t, url)
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		by, queue := fixture.NewTeam(t, db.Stores(), ids["one"]).Member, jobs.NewQueue(db.DB)
		enqueue := func(subject string) {
			t.Helper()
			require.NoError(t, db.Stores().Jobs.Enqueue(ctx, job.New(by, "test.sweep", subject, fixture.At)))
		}
		for subject, outcome := range map[string]job.Outcome{
			"succeeded": {State: job.Succeeded, At: fixture.At},
			"failed":    {State: job.Failed, At: fixture.At, Failures: 1, Failure: "x"},
			"later":     {State: job.Succeeded, At: fixture.At.Add(time.Second)},
			"running":   {},
		} {
			enqueue(subject)
			batch, err := queue.Take(ctx, fixture.At, time.Minute, []job.Kind{"test.sweep"}, 1)
			if err != nil || len(batch) != 1 {
				t.Fatalf("%d taken, %v", len(batch), err)
			}
			if outcome.State == "" {
				continue
			}
			require.NoError(t, queue.Settle(ctx, batch[0], outcome))
		}
		enqueue("queued")
		for _, step := range []struct {
			after time.Duration
			left  int
		}{{7 * day, 5}, {7*day + time.Microsecond, 3}, {300 * day, 2}} {
			require.NoError(t, db.Sweep(ctx, fixture.At.Add(step.after), 400*day))
			if got := counts(t, rows)["jobs"]; got != step.left {
				t.Errorf("%d jobs are left after %s, want %d", got, step.after, step.left)
			}
		}
	})
}

func TestTheBacklogTellsHowTheQueueStands(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, queue := adapter(t, url), jobs.NewQueue(open(t, url, databases.Keyring(t)).DB)
		by := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		look := func(delay time.Duration) jobs.Backlog {
			t.Helper()
			b, err := queue.Backlog(ctx, fixture.At.Add(delay))
			require.NoError(t, err)
			return b
		}
		require.Equal(t, "an empty queue", look(0), (jobs.Backlog{}))
		var last, running job.Job
		for i, subject := range []string{"succeeds", "fails", "fails last", "runs", "waits", "waits longer"} {
			require.NoError(t, a.Jobs.Enqueue(ctx, job.New(by, "test.backlog", subject,
				fixture.At.Add(time.Duration(i)*time.Second))))
			if i >= 4 {
				continue
			}
			batch, err := queue.Take(ctx, fixture.At.Add(time.Duration(i)*time.Second),
				time.Hour, []job.Kind{"test.backlog"}, 1)
			if err != nil || len(batch) != 1 {
				t.Fatalf("%d taken, %v", len(batch), err)
			}
			o := batch[0].Success(fixture.At)
			if i > 0 {
				o = job.Policy{}.Failure(batch[0], subject, fixture.At.Add(time.Duration(i)*time.Minute), 0)
			}
			if i < 3 {
				err = queue.Settle(ctx, batch[0], o)
			}
			require.NoError(t, err)
			running = batch[0]
			if i == 2 {
				last = batch[0]
				last.Due, last.Failures = time.Time{}, 1
			}
		}
		want := jobs.Backlog{Queued: 2, Running: 1, Failed: 2, LastFailed: last, LastFailure: "fails last",
			LastFailedAt: fixture.At.Add(2 * time.Minute)}
		if got := look(4*time.Second - time.Microsecond); got != want {
			t.Errorf("before anything is due (-want +got):\n%s", cmp.Diff(want, got))
		}
		want.Due = fixture.At.Add(4 * time.Second)
		if got := look(time.Minute); got != want {
			t.Errorf("after (-want +got):\n%s", cmp.Diff(want, got))
		}

		// Another attempt of a running job is merged into the same job that was enqueued since.
		require.NoError(t, a.Jobs.Enqueue(ctx, job.New(by, "test.backlog", "runs", fixture.At)))
		require.NoError(t, queue.Settle(ctx, running, job.Policy{Attempts: 9}.Failure(running, "x", fixture.At, 0)))
		if got := look(0); got.Queued != 3 || got.Running != 0 || got.Failed != 3 {
			t.Errorf("after a merge: %+v", got)
		}
	})
}
