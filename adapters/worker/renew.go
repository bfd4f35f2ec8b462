package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// errLost ends an attempt whose lease could not be extended in time: another worker has the job, or may take it.
var errLost = errors.New("the lease of the job has passed")

// renewals is how many times a lease is extended within its length, so that one of them may fail.
const renewals = 4

// renewing extends the lease for a job that was taken at a time, until the caller calls stop. It calls lost if the job
// is no longer this worker's. A short job ends before its lease is extended for the first time. The lease for a job
// that ignores its limit is no longer extended after that.
func (w *Worker) renewing(
	ctx context.Context, work Work, j job.Job, start time.Time, lost context.CancelCauseFunc,
) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(w.Lease / renewals)
		defer tick.Stop()
		expiry := start.Add(w.Lease)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			next := time.Now().Add(w.Lease)
			if next.After(start.Add(work.Limit + w.Lease)) {
				return
			}
			try, end := context.WithTimeout(ctx, w.Lease/renewals)
			err := w.queue.Renew(try, j, next)
			end()
			switch {
			case err == nil:
				expiry = next
			case errors.Is(err, ports.ErrJobLost), !time.Now().Before(expiry):
				lost(errLost)
				return
			}
		}
	})
	return func() { cancel(); running.Wait() }
}
