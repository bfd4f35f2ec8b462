// Package worker runs queued jobs. It calls use cases for background work, as rest does for requests.
package worker

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// Work does the jobs of one kind.
type Work struct {
	job.Policy

	// Do does the work for one subject. by is the system as an actor in the job's workspace. The context
	// ends at the policy's limit, and earlier if the program must stop. A job runs at least once: a worker
	// may die after the work and before it is recorded.
	Do func(ctx context.Context, by identity.Actor, subject string) error
}

// Table maps each kind of job to its Work.
type Table map[job.Kind]Work

// Config configures a worker.
type Config struct {
	Slots    int           // how many jobs run at the same time
	Reserved int           // how many of Slots are for urgent jobs only (job.Kind.Urgent)
	Poll     time.Duration // the interval between two polls of the queue

	// Lease is the time for which a running job belongs to its worker, which extends it while the job runs. After that
	// the worker counts as dead, and another one takes the job. It is longer than the clocks of nodes differ.
	Lease time.Duration
}

// Worker takes jobs from a queue and runs them.
type Worker struct {
	Config
	queue    ports.JobQueue
	table    Table
	kinds    []job.Kind
	urgent   []job.Kind // the urgent ones among kinds
	log      *slog.Logger
	measured *measures
}

// New returns a worker for the kinds in table. It leaves jobs of other kinds in the queue.
func New(c Config, queue ports.JobQueue, table Table, metrics prometheus.Registerer, log *slog.Logger) *Worker {
	w := &Worker{
		Config:   c,
		queue:    queue,
		table:    table,
		kinds:    slices.Sorted(maps.Keys(table)),
		log:      log,
		measured: newMeasures(metrics),
	}
	w.urgent = slices.DeleteFunc(slices.Clone(w.kinds), func(k job.Kind) bool { return !k.Urgent() })
	return w
}

const (
	queueTimeout = 5 * time.Second // for one call to the queue
	stopGrace    = 2 * time.Second // for interrupted work to end
)

var (
	errOverran  = errors.New("the job has reached its time limit")
	errStopping = errors.New("the program is stopping")
)

// Run works until ctx ends. Then it takes no more jobs and lets running ones continue until finish ends. Jobs that are
// still running then are interrupted and queued again.
func (w *Worker) Run(ctx context.Context, finish time.Duration) {
	work, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer interrupt(nil)
	var running sync.WaitGroup
	w.fetch(ctx, work, &running)
	end := make(chan struct{})
	go func() {
		running.Wait()
		close(end)
	}()
	select {
	case <-end:
		return
	case <-time.After(finish):
		interrupt(errStopping)
	}
	select {
	case <-end:
	case <-time.After(stopGrace):
		w.log.Warn("some jobs do not end: others take them over when their time is up")
	}
}

// fetch takes jobs and starts them, until ctx ends.
func (w *Worker) fetch(ctx, work context.Context, running *sync.WaitGroup) {
	// Urgent jobs use reserved slots only while no other is free.
	general, special := make(slots, w.Slots-w.Reserved), make(slots, w.Reserved)
	vacancies := make(chan struct{}, 1)
	start := func(in slots, jobs []job.Job, now time.Time) {
		for _, j := range jobs {
			in <- struct{}{}
			running.Go(func() {
				w.run(work, j, now)
				<-in
				select {
				case vacancies <- struct{}{}:
				default:
				}
			})
		}
	}
	tick := time.NewTicker(w.Poll)
	defer tick.Stop()
	silent := false // whether the queue did not respond
	for ctx.Err() == nil {
		now := time.Now()
		jobs, err := w.take(ctx, now, w.kinds, general.free())
		start(general, jobs, now)
		if err == nil && len(w.urgent) > 0 {
			jobs, err = w.take(ctx, now, w.urgent, special.free())
			start(special, jobs, now)
		}
		if err != nil && !silent {
			w.log.Warn("the queue of jobs does not answer", "error", err)
		}
		silent = err != nil
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-vacancies:
		}
	}
}

// slots holds a token for each job that runs.
type slots chan struct{}

func (s slots) free() int { return cap(s) - len(s) }

// take completes even if the program is told to stop: jobs that the queue has handed out would otherwise wait
// until their leases expire.
func (w *Worker) take(ctx context.Context, now time.Time, kinds []job.Kind, n int) ([]job.Job, error) {
	if n == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queueTimeout)
	defer cancel()
	return w.queue.Take(ctx, now, w.Lease, kinds, n)
}

// run runs a job that was taken at a time, and settles it.
func (w *Worker) run(ctx context.Context, j job.Job, start time.Time) {
	w.measured.running.WithLabelValues(string(j.Kind)).Inc()
	defer w.measured.running.WithLabelValues(string(j.Kind)).Dec()
	work := w.table[j.Kind]
	r := report{job: j, lag: start.Sub(j.Due)}
	jobCtx, end := context.WithCancelCause(ctx)
	stop := w.renewing(ctx, work, j, start, end)
	if work.Exhausted(j) {
		r.outcome = j.Abandonment(time.Now())
	} else {
		r.err = attempt(jobCtx, work, j, start)
		r.took = time.Since(start)
		switch {
		case r.err == nil:
			r.outcome = j.Success(time.Now())
		case errors.Is(r.err, errStopping):
			r.outcome = j.Interruption(time.Now())
		case job.IsPostponed(r.err):
			r.outcome = j.Postponement(time.Now(), rand.Float64()) //nolint:gosec // jitter needs no secrecy
		case job.IsFinal(r.err):
			r.outcome = j.End(code(r.err), time.Now())
		default:
			r.outcome = work.Failure(j, code(r.err), time.Now(), rand.Float64()) //nolint:gosec // jitter needs no secrecy
		}
	}
	r.unsettled = w.settle(jobCtx, j, r.outcome)
	stop()
	end(nil)
	w.report(r)
}

// settle retries for as long as a lease lasts, unless ctx ends because it is lost, so that a short outage of the
// database does not make the work run again.
func (w *Worker) settle(ctx context.Context, j job.Job, o job.Outcome) error {
	var err error
	_, _ = backoff.Retry(ctx, func() (struct{}, error) { // its own error hides the queue's error when ctx ends
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), queueTimeout)
		defer cancel()
		if err = w.queue.Settle(try, j, o); errors.Is(err, ports.ErrJobLost) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(w.Poll)), backoff.WithMaxElapsedTime(w.Lease))
	return err
}
