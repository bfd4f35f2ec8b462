package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/test/fixture"
)

func TestAJobThatHasEndedStaysForAWeek(t *testing.T) {
	const day = 24 * time.Hour
	onEach(t, func(t *testing.T, url string) {
		ctx, rows := t.Context(), raw(t, url)
		db := open(t, url, keyring(t))
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		by, queue := fixture.NewTeam(t, db.Stores(), ids["one"]).Member, sqlstore.NewJobQueue(db)
		enqueue := func(subject string) {
			t.Helper()
			if err := db.Stores().Jobs.Enqueue(ctx, job.New(by, "test.sweep", subject, fixture.At)); err != nil {
				t.Fatal(err)
			}
		}
		for subject, outcome := range map[string]job.Outcome{
			"succeeded": {State: job.Succeeded, At: fixture.At},
			"failed":    {State: job.Failed, At: fixture.At, Failures: 1, Failure: "x"},
			"later":     {State: job.Succeeded, At: fixture.At.Add(time.Second)},
			"running":   {},
		} {
			enqueue(subject)
			taken, err := queue.Take(ctx, fixture.At, map[job.Kind]time.Duration{"test.sweep": time.Minute}, 1)
			if err != nil || len(taken) != 1 {
				t.Fatalf("%d taken, %v", len(taken), err)
			}
			if outcome.State == "" {
				continue
			}
			if err := queue.Settle(ctx, taken[0], outcome); err != nil {
				t.Fatal(err)
			}
		}
		enqueue("queued")
		for _, step := range []struct {
			after time.Duration
			left  int
		}{{7 * day, 5}, {7*day + time.Microsecond, 3}, {300 * day, 2}} {
			if err := db.Sweep(ctx, fixture.At.Add(step.after), 400*day); err != nil {
				t.Fatal(err)
			}
			if got := counts(t, rows)["jobs"]; got != step.left {
				t.Errorf("%d jobs are left after %s, want %d", got, step.after, step.left)
			}
		}
	})
}
