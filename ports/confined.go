package ports

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Confined has a child process with limits of its own do a job within a time: in is what the job
// reads, and what it answers is read into out, both as JSON. Adapters that parse bytes of a tenant's
// are handed it. tenant is for whom: no tenant's jobs take all the room that there is for jobs at the
// same time. Errors are those below, or that of ctx; then the child is gone.
type Confined func(ctx context.Context, tenant identity.WorkspaceID, job string, within time.Duration, in, out any) error

// What can become of a confined job beside its answer.
var (
	ErrJobTooLarge = errors.New("the job's answer is larger than allowed, or it ran out of memory")
	ErrJobTimeout  = errors.New("the job was not done in time, or used up its time on the processor")
	ErrJobCrashed  = errors.New("the job ended without an answer")
)

// JobNeeds is what a confined job needs of its system beside memory and processor time. The system refuses its
// process everything else.
type JobNeeds struct {
	Folders []string // the folders whose files it reads
	Network bool     // whether it looks up hosts and connects to them
	Ports   []uint16 // the TCP ports that it connects to; none: any port
}
