package job

import "time"

// Entry is a job as its history tells of it.
type Entry struct {
	Job
	State     State
	Failure   string    // of its last attempt: a code; "" if none failed, or a new one is on its way
	StartedAt time.Time // of its last attempt; zero before the first
	EndedAt   time.Time // zero while it is queued or running
}
