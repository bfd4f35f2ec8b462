package contract

import (
	"context"
	"fmt"
	"strings"
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

const lease = time.Minute

var nobody []string // no subjects

// backlog is a queue with a job kind of its own, and the workspaces of its jobs.
type backlog struct {
	ports.Stores
	queue     ports.JobQueue
	kind      job.Kind
	by, other identity.Actor // of two orgs
}

func newBacklog(t *testing.T, a Adapter) *backlog {
	t.Helper()
	return &backlog{
		Stores: a.Stores, queue: a.Queue(), kind: job.Kind("test." + strings.ReplaceAll(t.Name(), "/", "_")),
		by: fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member, other: fixture.NewTeam(t, a.Stores, a.Orgs[1]).Member,
	}
}

// add queues a job that is due after a time.
func (b *backlog) add(t *testing.T, subject string, delay time.Duration) job.Job {
	t.Helper()
	j := job.New(b.by, b.kind, subject, fixture.At.Add(delay))
	must(t, b.Jobs.Enqueue(t.Context(), j))
	return j
}

// take takes at most n jobs that are due after a time.
func (b *backlog) take(t *testing.T, delay time.Duration, n int, extra ...job.Kind) []job.Job {
	t.Helper()
	batch, err := b.queue.Take(t.Context(), fixture.At.Add(delay), lease, append(extra, b.kind), n)
	must(t, err)
	return batch
}

// subjects takes the jobs that are due after a time and returns their subjects.
func (b *backlog) subjects(t *testing.T, delay time.Duration) []string {
	t.Helper()
	var out []string
	for _, j := range b.take(t, delay, 100) {
		out = append(out, j.Subject)
	}
	return out
}

func (b *backlog) settle(t *testing.T, j job.Job, o job.Outcome) {
	t.Helper()
	must(t, b.queue.Settle(t.Context(), j, o))
}

// Jobs is the suite for ports.Jobs.
func Jobs(t *testing.T, open Opener) {
	a := open(t)
	t.Run("History", func(t *testing.T) { jobHistory(t, a) })

	t.Run("a job is handed out as it was queued, in its first attempt", func(t *testing.T) {
		b := newBacklog(t, a)
		want := b.add(t, "a", time.Microsecond)
		want.Attempt = 1
		same(t, "taken", b.take(t, time.Microsecond, 10), []job.Job{want})
	})
	t.Run("jobs are queued and cancelled only if the transaction commits", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "old", 0)
		replace := func(fail error) error {
			return b.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
				cancelledCount, err := tx.Jobs.Cancel(t.Context(), b.by.Workspace, "old")
				must(t, err)
				same(t, "cancelled", cancelledCount, 1)
				must(t, tx.Jobs.Enqueue(t.Context(), job.New(b.by, b.kind, "new", fixture.At)))
				return fail
			})
		}
		wantErr(t, replace(errBoom), errBoom)
		old := b.take(t, 0, 10)
		if len(old) != 1 || old[0].Subject != "old" {
			t.Fatalf("after a transaction that was undone: %+v", old)
		}
		b.settle(t, old[0], old[0].Interruption(fixture.At))
		must(t, replace(nil))
		same(t, "subjects", b.subjects(t, 0), []string{"new"})
	})
	t.Run("one job per kind and subject is queued, due at the earliest requested time", func(t *testing.T) {
		for _, tt := range []struct {
			name          string
			first, second time.Duration
		}{{"later", time.Minute, time.Hour}, {"sooner", time.Hour, time.Minute}} {
			t.Run("the second request is "+tt.name, func(t *testing.T) {
				b := newBacklog(t, a)
				want := b.add(t, "a", tt.first)
				b.add(t, "a", tt.second)
				want.Due, want.Attempt = fixture.At.Add(time.Minute), 1
				same(t, "before", b.subjects(t, time.Minute-time.Microsecond), nobody)
				same(t, "taken", b.take(t, time.Minute, 10), []job.Job{want})
				b.settle(t, want, want.Success(fixture.At))
				same(t, "left", b.subjects(t, 24*time.Hour), nobody)
			})
		}
	})
	t.Run("a job that is enqueued again has no failures", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		first := b.take(t, 0, 10)[0]
		b.settle(t, first, job.Outcome{State: job.Queued, At: fixture.At, Due: fixture.At.Add(time.Hour), Failures: 2,
			Failure: "x"})
		b.add(t, "a", 0)
		second := b.take(t, 0, 10)[0]
		if second.ID != first.ID || second.Attempt != 2 || second.Failures != 0 {
			t.Fatalf("%+v after %+v", second, first)
		}
	})
	t.Run("jobs with another kind, subject, workspace or org are separate", func(t *testing.T) {
		b := newBacklog(t, a)
		another, peer := b.kind+"2", fixture.NewTeam(t, a.Stores, a.Orgs[0]).Member
		for _, j := range []job.Job{
			job.New(b.by, b.kind, "a", fixture.At), job.New(b.by, b.kind, "b", fixture.At),
			job.New(b.by, another, "a", fixture.At),
			job.New(peer, b.kind, "a", fixture.At), job.New(b.other, b.kind, "a", fixture.At),
			job.New(identity.System(a.Orgs[0], "", "test", fixture.At), b.kind, "a", fixture.At),
			job.New(identity.System(a.Orgs[1], "", "test", fixture.At), b.kind, "a", fixture.At),
		} {
			must(t, b.Jobs.Enqueue(t.Context(), j))
		}
		for n := range 7 {
			batch := b.take(t, 0, 1, another)
			if len(batch) != 1 {
				t.Fatalf("only %d are handed out", n)
			}
			b.settle(t, batch[0], batch[0].Success(fixture.At))
		}
		same(t, "left", len(b.take(t, 0, 1, another)), 0)
	})
	t.Run("Cancel cancels only the queued jobs about a subject in the workspace, and counts them", func(t *testing.T) {
		b := newBacklog(t, a)
		retriedKind, running, another := b.kind+"2", b.kind+"3", b.kind+"4"
		for _, j := range []job.Job{
			job.New(b.by, b.kind, "a", fixture.At.Add(6*time.Hour)), job.New(b.by, another, "a", fixture.At),
			job.New(b.by, b.kind, "b", fixture.At), job.New(b.other, b.kind, "a", fixture.At),
		} {
			must(t, b.Jobs.Enqueue(t.Context(), j))
		}
		for _, k := range []job.Kind{retriedKind, running} {
			must(t, b.Jobs.Enqueue(t.Context(), job.New(b.by, k, "a", fixture.At)))
			j, err := b.queue.Take(t.Context(), fixture.At, lease, []job.Kind{k}, 1)
			must(t, err)
			if k == retriedKind {
				b.settle(t, j[0], job.Outcome{State: job.Queued, At: fixture.At, Due: fixture.At.Add(time.Minute),
					Failures: 1, Failure: "x"})
			}
		}
		for _, want := range []int{3, 0} {
			cancelledCount, err := b.Jobs.Cancel(t.Context(), b.by.Workspace, "a")
			must(t, err)
			same(t, "cancelled", cancelledCount, want)
		}
		same(t, "left", len(b.take(t, 0, 100, retriedKind, another)), 2)
		same(t, "running still, and lost later", len(b.take(t, 24*time.Hour, 100, running)), 3)
	})
	t.Run("a job enqueued while the same runs starts after it", func(t *testing.T) {
		b := newBacklog(t, a)
		first := b.add(t, "a", 0)
		running := b.take(t, 0, 10)
		second := b.add(t, "a", 0)
		if len(running) != 1 || running[0].ID != first.ID || second.ID == first.ID {
			t.Fatalf("running %+v, then %+v", running, second)
		}
		same(t, "while the first one runs", b.subjects(t, time.Second), nobody)
		b.settle(t, running[0], running[0].Success(fixture.At))
		current := b.take(t, time.Second, 10)
		if len(current) != 1 || current[0].ID != second.ID {
			t.Fatalf("after it: %+v", current)
		}
	})
}

// JobQueue is the suite for ports.JobQueue.
func JobQueue(t *testing.T, open Opener) {
	a := open(t)
	t.Run("fairness", func(t *testing.T) { jobFairness(t, a) })
	another := func(j job.Job, due time.Duration) job.Outcome {
		return job.Outcome{State: job.Queued, At: fixture.At, Due: fixture.At.Add(due), Failures: j.Failures + 1,
			Failure: "x"}
	}

	t.Run("jobs of a workspace are taken in the order they become due, at most as many as requested",
		func(t *testing.T) {
			b := newBacklog(t, a)
			for subject, delay := range map[string]time.Duration{"third": 3, "first": 1, "fourth": 4, "second": 2} {
				b.add(t, subject, delay*time.Second)
			}
			var got []string
			for range 2 {
				for _, j := range b.take(t, 3*time.Second, 2) {
					got = append(got, j.Subject)
					b.settle(t, j, j.Success(fixture.At))
				}
			}
			same(t, "taken", got, []string{"first", "second", "third"})
		})
	t.Run("a kind that was not requested stays queued", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		for _, kinds := range [][]job.Kind{nil, {"test.unheard_of"}} {
			batch, err := b.queue.Take(t.Context(), fixture.At, lease, kinds, 100)
			must(t, err)
			same(t, "taken", len(batch), 0)
		}
		same(t, "then", b.subjects(t, 0), []string{"a"})
	})
	t.Run("a job whose lease has expired is handed out again, and its former worker cannot settle it",
		func(t *testing.T) {
			b := newBacklog(t, a)
			first := b.add(t, "a", 0)
			dead := b.take(t, time.Second, 10)[0]
			same(t, "under the lease", b.subjects(t, time.Second+lease-time.Microsecond), nobody)
			second := b.take(t, time.Second+lease, 10)
			if len(second) != 1 || second[0].ID != first.ID || second[0].Attempt != 2 || second[0].Failures != 1 {
				t.Fatalf("after it: %+v", second)
			}
			wantErr(t, b.queue.Settle(t.Context(), dead, dead.Success(fixture.At)), ports.ErrJobLost)
			wantErr(t, b.queue.Settle(t.Context(), dead, another(dead, 0)), ports.ErrJobLost)
			b.settle(t, second[0], second[0].Success(fixture.At))
			same(t, "left", b.subjects(t, 24*time.Hour), nobody)
		})
	t.Run("a lease that is extended keeps a job from others, until it is lost or settled", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		dead := b.take(t, 0, 10)[0]
		must(t, b.queue.Renew(t.Context(), dead, fixture.At.Add(3*lease)))
		same(t, "under the longer lease", b.subjects(t, 3*lease-time.Microsecond), nobody)
		second := b.take(t, 3*lease, 10)[0]
		wantErr(t, b.queue.Renew(t.Context(), dead, fixture.At.Add(9*lease)), ports.ErrJobLost)
		b.settle(t, second, second.Success(fixture.At))
		wantErr(t, b.queue.Renew(t.Context(), second, fixture.At.Add(9*lease)), ports.ErrJobLost)
		same(t, "left", b.subjects(t, 24*time.Hour), nobody)
	})
	t.Run("the leases of dead workers can be ended at once", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "running", 0)
		b.add(t, "later", time.Hour)
		dead := b.take(t, 0, 10)[0]
		must(t, b.queue.Release(t.Context(), fixture.At.Add(time.Second)))
		same(t, "before", b.subjects(t, 0), nobody)
		second := b.take(t, time.Second, 10)
		if len(second) != 1 || second[0].Subject != "running" || second[0].Failures != 1 {
			t.Errorf("taken over: %+v", second)
		}
		wantErr(t, b.queue.Renew(t.Context(), dead, fixture.At.Add(9*lease)), ports.ErrJobLost)
	})
	t.Run("a job whose lease has expired can be settled until another worker takes it", func(t *testing.T) {
		b := newBacklog(t, a)
		b.add(t, "a", 0)
		late := b.take(t, 0, 10)[0]
		b.settle(t, late, late.Success(fixture.At.Add(2*lease)))
		same(t, "left", b.subjects(t, 24*time.Hour), nobody)
	})
	t.Run("an attempt is settled once", func(t *testing.T) {
		b := newBacklog(t, a)
		for subject, o := range map[string]func(job.Job) job.Outcome{
			"succeeded": func(j job.Job) job.Outcome { return j.Success(fixture.At) },
			"failed": func(job.Job) job.Outcome {
				return job.Outcome{State: job.Failed, At: fixture.At, Failures: 1, Failure: "x"}
			},
			"again": func(j job.Job) job.Outcome { return another(j, time.Hour) },
		} {
			b.add(t, subject, 0)
			j := b.take(t, 0, 10)[0]
			b.settle(t, j, o(j))
			wantErr(t, b.queue.Settle(t.Context(), j, o(j)), ports.ErrJobLost)
		}
		same(t, "left", b.subjects(t, 24*time.Hour), []string{"again"})
	})
	t.Run("a failed attempt is followed by another when it is due, with the count of failures", func(t *testing.T) {
		b := newBacklog(t, a)
		want := b.add(t, "a", 0)
		for attempt := 1; attempt <= 3; attempt++ {
			delay := time.Duration(attempt) * time.Hour
			want.Attempt, want.Failures = attempt, attempt-1
			batch := b.take(t, delay, 10)
			same(t, "taken", batch, []job.Job{want})
			b.settle(t, batch[0], another(batch[0], delay+time.Hour))
			same(t, "before the next one", b.subjects(t, delay+time.Hour-time.Microsecond), nobody)
			want.Due = fixture.At.Add(delay + time.Hour)
		}
	})
	t.Run("a retry and the same job enqueued meanwhile become one job", func(t *testing.T) {
		for name, wait := range map[string]time.Duration{"due before": time.Second, "due after": time.Hour} {
			t.Run(name, func(t *testing.T) {
				b := newBacklog(t, a)
				b.add(t, "a", 0)
				j := b.take(t, 0, 10)[0]
				want := b.add(t, "a", time.Minute)
				b.settle(t, j, another(j, wait))
				want.Due, want.Attempt = fixture.At.Add(min(wait, time.Minute)), 1
				same(t, "taken", b.take(t, 2*time.Hour, 10), []job.Job{want})
			})
		}
	})
	t.Run("concurrent workers never take the same job, and take all", func(t *testing.T) {
		const jobs = 200
		b, other := newBacklog(t, a), a.Queue()
		for i := range jobs {
			b.add(t, fmt.Sprint("subject ", i), 0)
		}
		var mu sync.Mutex
		runs := map[string]int{}
		var workers sync.WaitGroup
		for _, queue := range []ports.JobQueue{b.queue, b.queue, other, other} {
			workers.Go(func() {
				if err := drain(t.Context(), queue, b.kind, func(j job.Job) {
					mu.Lock()
					defer mu.Unlock()
					runs[j.Subject]++
				}); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		assert.Equal(t, "jobs were run", len(runs), jobs)
		for subject, n := range runs {
			if n != 1 {
				t.Errorf("%s was run %d times", subject, n)
			}
		}
	})
	t.Run("two jobs of one kind and subject never run at the same time", func(t *testing.T) {
		b, other := newBacklog(t, a), a.Queue()
		var running, runs atomic.Int64
		var workers sync.WaitGroup
		for _, queue := range []ports.JobQueue{b.queue, b.queue, other, other} {
			workers.Go(func() {
				for range 20 {
					err := b.Jobs.Enqueue(t.Context(), job.New(b.by, b.kind, "a", fixture.At))
					if err == nil {
						err = drain(t.Context(), queue, b.kind, func(job.Job) {
							if n := running.Add(1); n > 1 {
								t.Errorf("%d run at once", n)
							}
							runs.Add(1)
							batch, err := other.Take(t.Context(), fixture.At, lease, []job.Kind{b.kind}, 7)
							if err != nil || len(batch) > 0 {
								t.Errorf("%+v is taken while one runs, %v", batch, err)
							}
							running.Add(-1)
						})
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		workers.Wait()
		if runs.Load() == 0 {
			t.Error("none was run")
		}
	})
}

// drain takes and settles jobs of a kind until there are none. It settles every second attempt as interrupted.
func drain(ctx context.Context, queue ports.JobQueue, kind job.Kind, run func(job.Job)) error {
	for {
		batch, err := queue.Take(ctx, fixture.At, lease, []job.Kind{kind}, 7)
		if err != nil || len(batch) == 0 {
			return err
		}
		for _, j := range batch {
			o := j.Interruption(fixture.At)
			if j.Attempt%2 == 0 {
				run(j)
				o = j.Success(fixture.At)
			}
			if err := queue.Settle(ctx, j, o); err != nil {
				return err
			}
		}
	}
}
