package confine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

// Job is something that a child can be started for.
type Job struct {
	// Do does it. The result is the answer, as JSON.
	Do func(ctx context.Context, input json.RawMessage) (any, error)
	// Needs returns what Do needs for an input. nil: neither files nor a network.
	Needs func(input json.RawMessage) ports.JobNeeds
}

// The codes with which a child ends. 2 is that of Go's runtime when it gives up: for want of memory
// most of all, since a panic of a job is caught.
const (
	exitFailed  = 3
	exitRuntime = 2
)

// lazily lets the heap of a child, some MiB, grow to five times what is live between collections.
const lazily = 400

// maxOrder bounds what a child reads.
const maxOrder = 1 << 20

// taken is what a child says first: it has its whole order, and whatever becomes of it was begun. A
// child that ends without a word has begun nothing, so that another one may.
const taken = '+'

// Serve is what a child does: it reads the order from its standard input, binds itself to the order's
// limits and to what the job needs, does the job, and writes the answer to its standard output. It
// returns the process's exit code. An input that ends at once is the end of the parent.
func Serve(jobs map[string]Job, in io.Reader, out io.Writer) (code int) {
	if err := prepare(); err != nil {
		return exitFailed
	}
	text, err := io.ReadAll(io.LimitReader(in, maxOrder))
	if err != nil || len(text) == 0 {
		return 0
	}
	if _, err := out.Write([]byte{taken}); err != nil {
		return exitFailed
	}
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return exitFailed
	}
	job, ok := jobs[o.Job]
	if !ok {
		return exitFailed
	}
	var needs ports.JobNeeds
	if job.Needs != nil {
		needs = job.Needs(o.Input)
	}
	if err := bind(o.Limits, needs); err != nil {
		return exitFailed
	}
	// The collector works harder before the limit, rather than the kernel say no at it. Far below it there is
	// little to gain from it.
	debug.SetMemoryLimit(o.Limits.Memory * 3 / 4)
	debug.SetGCPercent(lazily)
	ctx, cancel := context.WithTimeout(context.Background(), o.Within)
	defer cancel()
	answer, err := do(ctx, job, o.Input)
	if err != nil {
		return exitFailed
	}
	if _, err := out.Write(answer); err != nil {
		return exitFailed
	}
	return 0
}

func do(ctx context.Context, job Job, input json.RawMessage) (answer []byte, err error) {
	defer func() {
		if recover() != nil { // what it says may hold what the tenant sent
			err = errors.New("the job panicked")
		}
	}()
	result, err := job.Do(ctx, input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// ending says why a child gave no answer.
func ending(state *os.ProcessState, limits Limits) error {
	if state.UserTime()+state.SystemTime() >= time.Duration(limits.CPU)*time.Second {
		return ports.ErrJobTimeout // the kernel told it so, at which Go gives up as it does for want of memory
	}
	if state.ExitCode() == exitRuntime {
		return ports.ErrJobTooLarge
	}
	return ports.ErrJobCrashed
}
