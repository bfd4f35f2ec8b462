package ports

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Confined has a child process with limits of its own do a job within a time: in is what the job
// reads, and what it answers is read into out, both as JSON. Adapters that parse bytes of a tenant's
// are handed it. The job runs on the share of ws's tenant: no tenant's jobs take all the room that there is
// for jobs at the same time, and those that find none wait for their turn, unless ctx is one of WithoutWaiting.
// Errors are those below, or that of ctx; then the child is gone.
type Confined func(ctx context.Context, ws identity.WorkspaceID, job string, within time.Duration, in, out any) error

// What can become of a confined job beside its answer.
var (
	ErrJobTooLarge = errors.New("the job's answer is larger than allowed, or it ran out of memory")
	ErrJobTimeout  = errors.New("the job was not done in time, used up its time on the processor, or was slow while others waited")
	ErrJobCrashed  = errors.New("the job ended without an answer")
	ErrJobRefused  = errors.New("there is no room for the job, and too many of its tenant's wait already, or it may not wait")
)

// JobNeeds is what a confined job needs of its system beside memory and processor time. The system refuses its
// process everything else.
type JobNeeds struct {
	Folders []string // the folders whose files it reads
	Network bool     // whether it looks up hosts and connects to them
	Ports   []uint16 // the TCP ports that it connects to; none: any port
}

type withoutWaiting struct{}

// WithoutWaiting returns a copy of ctx whose confined jobs do not wait for room: ErrJobRefused. It is for
// background work, which is tried again later and must not hold up others meanwhile.
func WithoutWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutWaiting{}, true)
}

// MayWait reports whether confined jobs of ctx wait for room.
func MayWait(ctx context.Context) bool { return ctx.Value(withoutWaiting{}) == nil }
