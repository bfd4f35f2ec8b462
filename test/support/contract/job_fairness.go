package contract

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// addFor queues a job of by's workspace that is due after a time.
func (b *backlog) addFor(t *testing.T, by identity.Actor, kind job.Kind, subject string, delay time.Duration) {
	t.Helper()
	must(t, b.Jobs.Enqueue(t.Context(), job.New(by, kind, subject, fixture.At.Add(delay))))
}

func subjectsOf(jobs []job.Job) (out []string) {
	for _, j := range jobs {
		out = append(out, j.Subject)
	}
	return out
}

func jobFairness(t *testing.T, a Adapter) {
	t.Run("a workspace has at most two running jobs, and another one runs beside them", func(t *testing.T) {
		b := newBacklog(t, a)
		for i := range 5 {
			b.add(t, fmt.Sprint(i), 0)
		}
		b.addFor(t, b.other, b.kind, "another's", time.Second)
		batch := b.take(t, time.Second, 10)
		same(t, "taken", subjectsOf(batch), []string{"0", "another's", "1"})
		same(t, "while they run", b.subjects(t, time.Second), nobody)
		b.settle(t, batch[0], batch[0].Success(fixture.At))
		same(t, "after one", b.subjects(t, time.Second), []string{"2"})
	})
	t.Run("a running job whose lease has expired does not count", func(t *testing.T) {
		b := newBacklog(t, a)
		for i := range 4 {
			b.add(t, fmt.Sprint(i), time.Duration(i))
		}
		same(t, "taken", b.subjects(t, time.Second), []string{"0", "1"})
		same(t, "under the lease", b.subjects(t, lease), nobody)
		same(t, "after it", b.subjects(t, time.Second+lease), []string{"2", "3"})
	})
	t.Run("jobs without a workspace count together for each org", func(t *testing.T) {
		b := newBacklog(t, a)
		for i := range 3 {
			for _, org := range a.Orgs[:2] {
				b.addFor(t, identity.System(org, "", "test", fixture.At), b.kind, fmt.Sprint(i), 0)
			}
		}
		same(t, "taken", len(b.take(t, 0, 10)), 4)
	})
	t.Run("workspaces take turns, however many jobs each has queued", func(t *testing.T) {
		b := newBacklog(t, a)
		for i := range 10 {
			b.add(t, fmt.Sprint("many ", i), 0)
		}
		peer := fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		for i := range 2 {
			b.addFor(t, b.other, b.kind, fmt.Sprint("late ", i), time.Second)
			b.addFor(t, peer, b.kind, fmt.Sprint("later ", i), 2*time.Second)
		}
		var got []string
		for i := range 6 {
			for _, j := range b.take(t, time.Minute+time.Duration(i)*time.Second, 1) {
				got = append(got, j.Subject)
				b.settle(t, j, j.Success(fixture.At))
			}
		}
		same(t, "taken", got, []string{"many 0", "late 0", "later 0", "many 1", "late 1", "later 1"})
	})
	t.Run("urgent jobs of a workspace come before its others", func(t *testing.T) {
		b := newBacklog(t, a)
		urgent := "payment." + b.kind
		b.add(t, "first", 0)
		b.add(t, "second", 0)
		b.addFor(t, b.by, urgent, "paid", time.Second)
		same(t, "taken", subjectsOf(b.take(t, time.Second, 10, urgent)), []string{"paid", "first"})
	})
	t.Run("a workspace with a postponed job starts only urgent jobs until that is due, and no failure is counted",
		func(t *testing.T) {
			b := newBacklog(t, a)
			urgent := "payment." + b.kind
			want := b.add(t, "postponed", 0)
			b.add(t, "waits too", time.Second)
			b.addFor(t, b.other, b.kind, "another's", time.Second)
			first := b.take(t, 0, 10)[0]
			b.settle(t, first, first.Postponement(fixture.At, 0)) // by two seconds
			b.addFor(t, b.by, urgent, "paid", time.Second)
			same(t, "meanwhile", subjectsOf(b.take(t, time.Second, 10, urgent)), []string{"another's", "paid"})
			second := b.take(t, 2*time.Second, 10)
			want.Attempt, want.Due = 2, fixture.At.Add(2*time.Second)
			if len(second) != 1 || second[0].Subject != "waits too" { // one job is running already
				t.Fatalf("then %+v", second)
			}
			b.settle(t, second[0], second[0].Success(fixture.At))
			same(t, "at last", b.take(t, 3*time.Second, 10), []job.Job{want})
		})
	t.Run("a postponed job and one enqueued meanwhile become one job, which has had its turn", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		first := b.take(t, time.Second, 10)[0]
		want := b.add(t, "a", time.Hour)
		b.settle(t, first, first.Postponement(fixture.At, 0.5)) // by three seconds
		entries := fixture.Pages(t, 10, b.history(t, "a"))
		if len(entries) != 1 || entries[0].ID != want.ID || entries[0].State != job.Queued ||
			entries[0].Failure != job.Busy ||
			!entries[0].StartedAt.Equal(fixture.At.Add(time.Second)) {
			t.Fatalf("%+v", entries)
		}
		same(t, "before", b.subjects(t, 3*time.Second-time.Microsecond), nobody)
		want.Due, want.Attempt = fixture.At.Add(3*time.Second), 1
		same(t, "taken", b.take(t, 3*time.Second, 10), []job.Job{want})
	})
	t.Run("a postponed job that is enqueued again is due at once", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		first := b.take(t, 0, 10)[0]
		b.settle(t, first, first.Postponement(fixture.At, 1))
		b.add(t, "a", time.Second)
		same(t, "taken", b.subjects(t, time.Second), []string{"a"})
	})
	t.Run("a workspace never has more than two running jobs, with any number of workers", func(t *testing.T) {
		const each = 40
		b, other := newBacklog(t, a), a.Queue()
		var running, limit, runs atomic.Int64
		var workers sync.WaitGroup
		for w, queue := range []ports.JobQueue{b.queue, b.queue, other, other} {
			workers.Go(func() {
				for i := range each { // jobs that become due earlier than those which another is taking
					j := job.New(b.by, b.kind, fmt.Sprint(w, " ", i), fixture.At.Add(-time.Duration(i)*time.Second))
					if err := b.Jobs.Enqueue(t.Context(), j); err != nil {
						t.Error(err)
						return
					}
					batch, err := queue.Take(t.Context(), fixture.At, lease, []job.Kind{b.kind}, 3)
					if err != nil {
						t.Error(err)
						return
					}
					limit.Store(max(limit.Load(), running.Add(int64(len(batch)))))
					for _, j := range slices.Backward(batch) {
						running.Add(-1) // before others may know
						runs.Add(1)
						assert.NoError(t, queue.Settle(t.Context(), j, j.Success(fixture.At)))
					}
				}
			})
		}
		workers.Wait()
		if limit.Load() > job.PerWorkspace || runs.Load() == 0 {
			t.Errorf("%d ran at the same time; %d in all", limit.Load(), runs.Load())
		}
	})
}
