package source

import (
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// ValidateJob is the kind of job that checks a source's rows. Its subject is the source.
const ValidateJob job.Kind = "source.validate"

// A validation's limits.
const (
	ShownFailures = 20        // values of a field that a report names
	MaxDistinct   = 1_000_000 // values of unique fields that are compared with each other

	// staleAfter is when a validation counts as lost: its worker notes the progress every few seconds.
	staleAfter = 15 * time.Minute
)

// ValidationState is a validation's state.
type ValidationState string

// The states; empty if none was requested.
const (
	ValidationQueued  ValidationState = "queued"
	ValidationRunning ValidationState = "running"
	ValidationDone    ValidationState = "succeeded" // even if values are wrong
	ValidationFailed  ValidationState = "failed"    // the rows could not be read
)

// Validation is the last check of all source rows: how many values are invalid for their field, and in which rows. It
// holds no value.
type Validation struct {
	event.Log
	State       ValidationState
	Of          int64     // Source.Revision of the mapping that was checked
	RequestedAt time.Time // identifies the validation
	UpdatedAt   time.Time // of the last progress
	StartedAt   time.Time // zero while it is queued
	EndedAt     time.Time // zero until it has ended
	Rows        int       // that were read so far
	Failing     int       // of these, rows with a value that fails
	Complete    bool      // all rows were read; false if a limit of the org ended the read
	Failure     string    // why the rows could not be read; a code
	Fields      []FieldReport
}

// FieldReport counts a field's values.
type FieldReport struct {
	Field   string
	Empty   int
	Counts  map[column.Invalid]int // of values that fail, by reason
	First   []FailedValue          // at most ShownFailures, in the order of the rows
	Skipped int                    // values of a unique field that were not compared, because there were too many
}

// FailedValue is a value that fails.
type FailedValue struct {
	Row   int // number in the file; of a table: among the rows that were read
	Code  column.Invalid
	Class column.Type // what the value looks like; empty if it is empty
}

// HasEnded reports whether v has a result.
func (v *Validation) HasEnded() bool { return v.State == ValidationDone || v.State == ValidationFailed }

// Request makes v a new validation of s that by requested, and returns when it is due: now, but not sooner than
// interval after the last one ended. It changes nothing while one is queued or running. Requires the member role.
func (v *Validation) Request(by identity.Actor, s *Source, t *Type, interval time.Duration) (due time.Time, err error) {
	if err := s.Allow(by, Use); err != nil {
		return time.Time{}, err
	}
	if _, err := s.MappedFields(t); err != nil {
		return time.Time{}, err
	}
	if due = by.At; v.State != "" && !v.HasEnded() && by.At.Sub(v.UpdatedAt) < staleAfter {
		return due, nil
	}
	if free := v.EndedAt.Add(interval); free.After(due) {
		due = free
	}
	*v = Validation{State: ValidationQueued, Of: s.Revision, RequestedAt: by.At, UpdatedAt: by.At}
	return due, nil
}

// Progress notes a result so far. It reports whether the validation is still the one that was requested at a time; if
// not, v is unchanged.
func (v *Validation) Progress(by identity.Actor, requestedAt time.Time, result ValidationResult) (counts bool) {
	if !v.RequestedAt.Equal(requestedAt) || v.HasEnded() {
		return false
	}
	if v.StartedAt.IsZero() {
		v.StartedAt = by.At
	}
	v.State, v.UpdatedAt = ValidationRunning, by.At
	v.Rows, v.Failing, v.Fields = result.Rows, result.Failing, result.Fields
	return true
}

// ValidationResult is what a validation has found so far.
type ValidationResult struct {
	Rows, Failing int
	Fields        []FieldReport
}

// End ends v with a result: complete reports whether all rows were read, failure why they could not be. source is the
// one that was checked. It is Progress otherwise.
func (v *Validation) End(
	by identity.Actor, source *Source, requestedAt time.Time, r ValidationResult, complete bool, failure string,
) bool {
	if !v.Progress(by, requestedAt, r) {
		return false
	}
	v.EndedAt, v.State, v.Of, v.Complete, v.Failure = by.At, ValidationDone, source.Revision, complete, failure
	if failure != "" {
		v.State, v.Complete = ValidationFailed, false
	}
	failing := 0
	for _, f := range v.Fields {
		if len(f.Counts) > 0 {
			failing++
		}
	}
	data := map[string]any{"rows": v.Rows, "failing_rows": v.Failing, "failing_fields": failing,
		"complete": v.Complete}
	if failure != "" {
		data["code"] = failure
	}
	v.Record(by, "source.validated", string(source.ID), data)
	return true
}

// Seen returns v as readers of s see it: a pause of s has cancelled an unfinished validation's job.
func (v Validation) Seen(s *Source) Validation {
	if s.Paused != "" && v.State != "" && !v.HasEnded() {
		v.State, v.Failure, v.EndedAt = ValidationFailed, ErrPaused.Code, v.UpdatedAt
	}
	return v
}
