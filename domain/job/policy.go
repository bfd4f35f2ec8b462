package job

import (
	"errors"
	"time"
)

// Policy says how jobs of one kind are tried.
type Policy struct {
	// Limit ends an attempt: its context is cancelled then, and the attempt has failed.
	Limit time.Duration

	// Attempts is how many may fail before the job has failed for good.
	Attempts int
}

// State is where a job stands.
type State string

// The states. One that has succeeded or failed stays for a week, so that it can be seen what became of it; a
// cancelled one is gone.
const (
	Queued    State = "queued"
	Running   State = "running"
	Succeeded State = "succeeded"
	Failed    State = "failed" // for good
)

// Why an attempt failed, where its error has no code of its own.
const (
	Overran  = "timeout"  // it was still running at its limit
	Lost     = "lost"     // whoever ran it has not been heard of since
	Panicked = "panic"    // the program is wrong
	Internal = "internal" // anything else that nobody foresaw
)

// Busy is the Failure of a queued job that could not begin: its tenant's share of something that tenants
// share was taken. No attempt has failed then.
const Busy = "busy"

// Outcome is what an attempt leads to.
type Outcome struct {
	State    State     // Succeeded, Failed, or Queued for another attempt
	At       time.Time // when the attempt ended
	Due      time.Time // of another attempt
	Failures int       // of the job so far
	Failure  string    // why the attempt failed: a code, never a text that may tell too much
}

// The waits between two attempts, before chance changes them: each is twice the one before, and
// none longer than longestWait.
const (
	firstWait   = 10 * time.Second
	longestWait = time.Hour
)

// Success is what an attempt leads to that did its work.
func (j Job) Success(now time.Time) Outcome {
	return Outcome{State: Succeeded, At: now, Failures: j.Failures}
}

// Failure is what a failed attempt leads to: another one after a wait, or none if too many have
// failed. chance, from 0 to 1, spreads the waits by a quarter in both directions, so that jobs
// which failed together do not come back together.
func (p Policy) Failure(j Job, code string, now time.Time, chance float64) Outcome {
	o := Outcome{State: Failed, At: now, Failures: j.Failures + 1, Failure: code}
	if o.Failures >= p.Attempts {
		return o
	}
	wait := longestWait
	if doublings := o.Failures - 1; doublings < 16 { // beyond, the shift would overflow
		wait = min(firstWait<<doublings, longestWait)
	}
	o.State, o.Due = Queued, now.Add(time.Duration(float64(wait)*(0.75+chance/2)))
	return o
}

// errFinal marks the error of an attempt that wants no other.
var errFinal = errors.New("the attempt is not repeated")

// Final returns err as that of an attempt after which no other is wanted: who did the work has seen
// to what follows. The job has failed then, for the reason that err has.
func Final(err error) error { return errors.Join(err, errFinal) }

// IsFinal reports whether err is one of Final.
func IsFinal(err error) bool { return errors.Is(err, errFinal) }

// End is what an attempt leads to that failed and wants no other.
func (j Job) End(code string, now time.Time) Outcome {
	return Outcome{State: Failed, At: now, Failures: j.Failures + 1, Failure: code}
}

// Interruption is what an attempt leads to that was cut short through no fault of its own: it does
// not count, and the next one may begin at once.
func (j Job) Interruption(now time.Time) Outcome {
	return Outcome{State: Queued, At: now, Due: now, Failures: j.Failures}
}

// The wait of a job that was postponed, before chance adds up to as much again.
const busyWait = 2 * time.Second

// errBusy marks the error of an attempt that could not begin.
var errBusy = errors.New("the tenant's share is taken")

// Postponed returns err as that of an attempt that could not begin, because its tenant's share of
// something that tenants share is taken. A worker does not wait for it: the slot is for other tenants.
func Postponed(err error) error { return errors.Join(err, errBusy) }

// IsPostponed reports whether err is one of Postponed.
func IsPostponed(err error) bool { return errors.Is(err, errBusy) }

// Postponement is what an attempt leads to that could not begin: another one within some seconds. It
// does not count as a failure. chance, from 0 to 1, spreads the waits.
func (j Job) Postponement(now time.Time, chance float64) Outcome {
	return Outcome{State: Queued, At: now, Due: now.Add(busyWait + time.Duration(chance*float64(busyWait))), Failures: j.Failures, Failure: Busy}
}

// Exhausted reports whether too many attempts of j have failed for it to be tried again. That is
// so when the one who ran the last attempt died in it.
func (p Policy) Exhausted(j Job) bool { return j.Failures >= p.Attempts }

// Abandonment is what becomes of a job that is Exhausted.
func (j Job) Abandonment(now time.Time) Outcome {
	return Outcome{State: Failed, At: now, Failures: j.Failures, Failure: Lost}
}
