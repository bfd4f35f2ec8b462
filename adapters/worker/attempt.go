package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
)

// attempt does the work for a job that was taken at a time. Its error also shows whether the context ended.
func attempt(ctx context.Context, work Work, j job.Job, start time.Time) (err error) {
	ctx, cancel := context.WithDeadlineCause(ctx, start.Add(work.Limit), errOverran)
	defer cancel()
	ctx, span := otel.Tracer("github.com/atrium-hq/atrium/adapters/worker").Start(ctx, "job "+string(j.Kind))
	defer span.End()
	defer func() {
		if p := recover(); p != nil {
			err = newPanic(p)
		}
	}()
	err = work.Do(ports.WithoutWaiting(ctx), j.Actor(time.Now().Truncate(time.Microsecond)), j.Subject)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// panicked is a panic in a job's work. The panic value may hold a secret, so only runtime errors are quoted; the
// stack holds no texts.
type panicked struct {
	what  string
	stack []byte
}

func newPanic(p any) *panicked {
	cause := fmt.Sprintf("panic with a value of type %T", p)
	if e, ok := p.(runtime.Error); ok {
		cause = e.Error()
	}
	return &panicked{what: cause, stack: debug.Stack()}
}

func (p *panicked) Error() string { return p.what }

// code names why an attempt failed.
func code(err error) string {
	if errors.Is(err, errOverran) {
		return job.Overran
	}
	if errors.Is(err, errLost) {
		return job.Lost
	}
	if _, ok := errors.AsType[*panicked](err); ok {
		return job.Panicked
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return job.Internal
}
