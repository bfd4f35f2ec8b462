package job

import (
	"errors"
	"time"
)

// Policy is how jobs of one kind are tried.
type Policy struct {
	// Limit is an attempt's longest duration: after it, the attempt's context is cancelled and the attempt has failed.
	Limit time.Duration

	// Attempts is the number of attempts that may fail before the job fails permanently.
	Attempts int
}

// State is a job's state.
type State string

// The states. A succeeded or failed job is listed for one week. A cancelled job is deleted.
const (
	Queued    State = "queued"
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed" // permanently
)

// Reasons why an attempt failed, used if its error has no code.
const (
	Overran  = "timeout"  // it was still running at its limit
	Lost     = "lost"     // its worker stopped responding
	Panicked = "panic"    // the code panicked
	Internal = "internal" // any other unexpected error
)

// Busy is a queued job's Failure if it could not start because its tenant has used up its slots. It does not count as a
// failed attempt.
const Busy = "busy"

// Outcome is an attempt's result.
type Outcome struct {
	State    State     // Succeeded, Failed, or Queued for another attempt
	At       time.Time // when the attempt ended
	Due      time.Time // of the next attempt
	Failures int       // of the job so far
	Failure  string    // why the attempt failed: a code, never a text that may reveal too much
}

// The waits between attempts, before jitter. Each is twice the previous one, up to longestWait.
const (
	firstWait   = 10 * time.Second
	longestWait = time.Hour
)

// Success returns the outcome after a success.
func (j Job) Success(now time.Time) Outcome {
	return Outcome{State: Succeeded, At: now, Failures: j.Failures}
}

// Failure returns a failed attempt's outcome: another attempt after a wait, or Failed after too many failures. chance,
// from 0 to 1, varies the wait by up to a quarter in both directions, so that jobs that failed together do not retry
// together.
func (p Policy) Failure(j Job, code string, now time.Time, chance float64) Outcome {
	o := Outcome{State: Failed, At: now, Failures: j.Failures + 1, Failure: code}
	if o.Failures >= p.Attempts {
		return o
	}
	wait := longestWait
	if doublings := o.Failures - 1; doublings < 16 { // a larger shift would overflow
		wait = min(firstWait<<doublings, longestWait)
	}
	o.State, o.Due = Queued, now.Add(time.Duration(float64(wait)*(0.75+chance/2)))
	return o
}

// errFinal marks an error after which the job is not retried.
var errFinal = errors.New("the attempt is not repeated")

// Final marks err as final: the job fails for err's reason and is not retried. Use it if the handler
// has dealt with the consequences already.
func Final(err error) error { return errors.Join(err, errFinal) }

// IsFinal reports whether err was marked by Final.
func IsFinal(err error) bool { return errors.Is(err, errFinal) }

// End returns the outcome after a failure that is not retried.
func (j Job) End(code string, now time.Time) Outcome {
	return Outcome{State: Failed, At: now, Failures: j.Failures + 1, Failure: code}
}

// Interruption returns the outcome after an interruption from outside, for example by a shutdown. It does not count,
// and the next attempt may start at once.
func (j Job) Interruption(now time.Time) Outcome {
	return Outcome{State: Queued, At: now, Due: now, Failures: j.Failures}
}

// busyWait is a postponed job's wait, before jitter adds up to as much again.
const busyWait = 2 * time.Second

// errBusy marks the error if an attempt could not start.
var errBusy = errors.New("the tenant's share is taken")

// Postponed marks err as the error if an attempt could not start because its tenant has used up its slots. The worker
// does not wait, so that its slot is free for other tenants.
func Postponed(err error) error { return errors.Join(err, errBusy) }

// IsPostponed reports whether err was marked by Postponed.
func IsPostponed(err error) bool { return errors.Is(err, errBusy) }

// Postponement returns the outcome if an attempt could not start: another attempt within some seconds. It does not
// count as a failure. chance, from 0 to 1, spreads the waits.
func (j Job) Postponement(now time.Time, chance float64) Outcome {
	return Outcome{State: Queued, At: now, Due: now.Add(busyWait + time.Duration(chance*float64(busyWait))),
		Failures: j.Failures, Failure: Busy}
}

// Exhausted reports whether too many attempts of j have failed for another one. This happens if the
// worker died during the last attempt.
func (p Policy) Exhausted(j Job) bool { return j.Failures >= p.Attempts }

// Abandonment returns an Exhausted job's outcome.
func (j Job) Abandonment(now time.Time) Outcome {
	return Outcome{State: Failed, At: now, Failures: j.Failures, Failure: Lost}
}
