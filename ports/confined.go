package ports

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Confined runs a job in a child process with its own limits, within a time. The job reads in and its result is decoded
// into out, both as JSON. Adapters that parse a tenant's bytes use it. The job counts against the slots of ws's tenant,
// so that no tenant can occupy all slots. A job that finds no free slot waits for one, unless ctx comes from
// WithoutWaiting. It returns one of the errors below or the error of ctx; in either case the child process has ended.
type Confined func(ctx context.Context, ws identity.WorkspaceID, job string, timeout time.Duration, in, out any) error

// Errors of confined jobs.
var (
	ErrJobTooLarge    = errors.New("the job's answer is larger than allowed")
	ErrJobOutOfMemory = errors.New("the job ran out of memory")
	ErrJobTimeout     = errors.New(
		"the job was not done in time, used up its time on the processor, or was slow while " +
			"others waited",
	)
	ErrJobCrashed = errors.New("the job ended without an answer")
	ErrJobRefused = errors.New("there is no room for the job, and too many of its tenant's wait already, or it may " +
		"not wait")
)

// JobNeeds lists the system access that a confined job needs besides memory and processor time. The
// system refuses the process everything else.
type JobNeeds struct {
	Folders []string // folders whose files it can read
	Network bool     // whether it resolves hosts and connects to them
	Ports   []uint16 // TCP ports that it connects to; empty: any port
}

type withoutWaiting struct{}

// WithoutWaiting returns a copy of ctx whose confined jobs do not wait for a slot: they fail with
// ErrJobRefused. It is for background work, which is retried later and must not delay other work.
func WithoutWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutWaiting{}, true)
}

// MayWait reports whether confined jobs of ctx wait for a slot.
func MayWait(ctx context.Context) bool { return ctx.Value(withoutWaiting{}) == nil }

// ConfinedStream is Confined for a job whose answer has many parts. It calls yield with one part after another, as
// JSON; the child process waits in the meantime. If yield returns an error, the job ends with it.
type ConfinedStream func(
	ctx context.Context, ws identity.WorkspaceID, job string, timeout time.Duration, in any,
	yield func(part json.RawMessage) error,
) error
