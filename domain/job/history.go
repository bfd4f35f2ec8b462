package job

import "time"

// Entry is a job in the history of its subject.
type Entry struct {
	Job
	State     State
	Failure   string    // code of its last attempt's failure; empty if that did not fail, or another attempt is pending
	StartedAt time.Time // start of its last attempt; zero before the first
	EndedAt   time.Time // zero while it is queued or running
}
