package sources

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

const (
	progressInterval = 2 * time.Second // between notes of the progress
	progressRows     = 1000            // between looks at the clock
)

// errValidationReplaced ends a validation after which another one was requested.
var errValidationReplaced = errors.New("the validation was requested again")

// Validate queues a check of all source rows, unless one is queued or running. It starts not sooner than Limits.Refresh
// after the last one ended. Requires the member role.
func (s *Service) Validate(ctx context.Context, by identity.Actor, id source.ID) (out source.Validation, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		src, err := tx.Sources.Lock(ctx, by.Workspace, id)
		if err != nil {
			return err
		}
		var due time.Time
		v, err := tx.SourceValidations.UpdateValidation(ctx, by.Workspace, id, func(v *source.Validation) (err error) {
			due, err = v.Request(by, src, s.typeOf(by.Org, src.Type), s.deps.Limits.Refresh)
			return err
		})
		if err != nil {
			return err
		}
		out = *v
		return tx.Jobs.Enqueue(ctx, job.New(by, source.ValidateJob, string(id), due))
	})
	if err != nil {
		return source.Validation{}, err
	}
	return out, nil
}

// Validation returns a source's last validation, zero if not found, and the source's revision. It holds no values, so
// that viewers may read it.
func (s *Service) Validation(
	ctx context.Context, by identity.Actor, id source.ID,
) (v source.Validation, revision int64, err error) {
	src, err := s.get(ctx, by, id, source.See)
	if err != nil {
		return source.Validation{}, 0, err
	}
	last, err := s.validations.Validation(ctx, by.Workspace, id)
	if err != nil {
		return source.Validation{}, 0, err
	}
	return last.Seen(src), src.Revision, nil
}

// RunValidation reads all source rows, within the limits of the org for rows, and records how many values fail. by is
// the system. It returns nil for a source that is gone.
func (s *Service) RunValidation(ctx context.Context, by identity.Actor, id source.ID) error {
	v, err := s.validations.Validation(ctx, by.Workspace, id)
	if errors.Is(err, source.ErrNotFound) || (err == nil && (v.State == "" || v.HasEnded())) {
		return nil
	}
	if err != nil {
		return err
	}
	src, err := s.get(ctx, by, id, source.Use)
	if err != nil {
		return err
	}
	if w, err := s.deps.Workspaces.Find(ctx, by.Org, string(by.Workspace)); err != nil || !w.DeletedAt.IsZero() {
		return err
	}
	c := &rowChecker{Service: s, by: by, id: id, requested: v.RequestedAt, startedAt: time.Now()}
	end, err := c.read(ctx, src)
	switch cause := errors.Join(err, context.Cause(ctx)); {
	case errors.Is(err, connection.ErrTooManyReads):
		return job.Postponed(err)
	case errors.Is(err, errValidationReplaced), errors.Is(err, source.ErrNotFound):
		return nil
	case errors.Is(err, errOvertaken): // it was mapped again: what was counted no longer counts
		return s.deps.Jobs.Enqueue(ctx, job.New(by, source.ValidateJob, string(id), c.now().At))
	case context.Cause(ctx) != nil:
		return cause
	}
	failure, ok := failureCode(err)
	if !ok {
		return err
	}
	for i := range c.found.Fields {
		c.found.Fields[i].Skipped = end.Skipped[c.found.Fields[i].Field]
	}
	_, err = s.validations.UpdateValidation(ctx, by.Workspace, id, func(v *source.Validation) error {
		v.End(c.now(), src, c.requested, c.found, !end.More, failure)
		return nil
	})
	if errors.Is(err, source.ErrNotFound) {
		return nil
	}
	return err
}

// failureCode returns the code for an error that reading rows returned, empty without a code. ok is false if it is not
// about the source.
func failureCode(err error) (code string, ok bool) {
	if err == nil {
		return "", true
	}
	if f, ok := errors.AsType[*fault.Error](toFault(err)); ok && f.Kind != fault.Unavailable {
		return f.Code, true
	}
	return "", false
}

// rowChecker counts the values that fail.
type rowChecker struct {
	*Service
	by         identity.Actor
	id         source.ID
	requested  time.Time
	startedAt  time.Time
	notedAt    time.Time // when the progress was noted last
	found      source.ValidationResult
	fieldIndex map[string]int // place of a field in found.Fields
}

// now returns the system at the current time.
func (c *rowChecker) now() identity.Actor {
	by := c.by
	by.At = by.At.Add(time.Since(c.startedAt))
	return by
}

// read checks all rows and notes the progress from time to time. It stops when the source is changed.
func (c *rowChecker) read(ctx context.Context, src *source.Source) (RowsEnd, error) {
	ctx, stop := c.whileUnchanged(ctx, c.by, src)
	defer stop()
	if err := c.note(ctx); err != nil {
		return RowsEnd{}, err
	}
	end, err := c.ReadRows(ctx, c.by, src.ID, RowsQuery{OnInvalid: ReportInvalid, Distinct: true},
		func(_ context.Context, start RowsStart) error {
			c.fieldIndex = map[string]int{}
			for i, f := range start.Fields {
				c.fieldIndex[f.Key] = i
				c.found.Fields = append(c.found.Fields,
					source.FieldReport{Field: f.Key, Counts: map[column.Invalid]int{}})
			}
			return nil
		}, func(r Row) error {
			c.count(r)
			if c.found.Rows%progressRows == 0 && time.Since(c.notedAt) >= progressInterval {
				return c.note(ctx)
			}
			return nil
		})
	if errors.Is(context.Cause(ctx), errOvertaken) {
		return RowsEnd{}, errOvertaken
	}
	return end, err
}

// note stores the progress.
func (c *rowChecker) note(ctx context.Context) error {
	c.notedAt = time.Now()
	counts := false
	_, err := c.validations.UpdateValidation(ctx, c.by.Workspace, c.id, func(v *source.Validation) error {
		counts = v.Progress(c.now(), c.requested, c.found)
		return nil
	})
	if err == nil && !counts {
		err = errValidationReplaced
	}
	return err
}

// count adds a row's failures to the report.
func (c *rowChecker) count(r Row) {
	c.found.Rows++
	if len(r.Invalid) > 0 {
		c.found.Failing++
	}
	for i, value := range r.Values {
		if value.IsNull() {
			c.found.Fields[i].Empty++
		}
	}
	for _, v := range r.Invalid {
		f := &c.found.Fields[c.fieldIndex[v.Field]]
		if v.Code != column.Missing {
			f.Empty-- // it is null, and not empty
		}
		if f.Counts[v.Code]++; len(f.First) == source.ShownFailures {
			continue
		}
		failure := source.FailedValue{Row: r.Number, Code: v.Code}
		if v.Code != column.Missing {
			failure.Class = column.Infer([]*string{v.text})
		}
		f.First = append(f.First, failure)
	}
}
