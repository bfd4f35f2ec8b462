package job

import "time"

// Policy says how jobs of one kind are tried.
type Policy struct {
	// Limit ends an attempt: its context is cancelled then, and the attempt has failed.
	Limit time.Duration

	// Attempts is how often a job is tried before it has failed for good.
	Attempts int
}

// The waits between two attempts, before chance changes them: each is twice the one before, and
// none longer than longestWait.
const (
	firstWait   = 10 * time.Second
	longestWait = time.Hour
)

// Retry returns how long j waits after its attempt has failed; none if that was the last one.
// chance, from 0 to 1, spreads the waits by a quarter in both directions, so that jobs which
// failed together do not come back together.
func (p Policy) Retry(j Job, chance float64) (wait time.Duration, again bool) {
	if j.Attempt >= p.Attempts {
		return 0, false
	}
	wait = longestWait
	if doublings := max(j.Attempt-1, 0); doublings < 16 { // beyond, the shift would overflow
		wait = min(firstWait<<doublings, longestWait)
	}
	return time.Duration(float64(wait) * (0.75 + chance/2)), true
}
