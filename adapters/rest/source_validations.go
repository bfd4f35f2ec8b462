package rest

import (
	"cmp"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	validationPoll = 500 * time.Millisecond // between looks at the progress
	noValidation   = "none"                 // the state of a source that was not validated yet
)

func validateSource(r *request) (reply, error) {
	v, err := r.Sources.Validate(r.Context(), r.by, sourceID(r))
	if err != nil {
		return reply{}, err
	}
	out := ok(toValidation(&v, v.Of))
	out.status = http.StatusAccepted
	return out, nil
}

// validation returns the last validation: as JSON, or as a stream of its progress.
func validation() streaming {
	return streaming{
		media:   eventsWanted,
		plain:   query(getValidation),
		reserve: (*openStream).asSubscription,
		open:    func(s *openStream) streamBody { return &followedValidation{openStream: s} },
	}
}

func getValidation(r *request) (reply, error) {
	v, revision, err := r.Sources.Validation(r.Context(), r.by, sourceID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toValidation(&v, revision)), nil
}

// followedValidation is one open stream of the progress of a validation, which ends with its report.
type followedValidation struct {
	*openStream
	last     source.Validation
	revision int64
}

// Open finds the validation.
func (s *followedValidation) Open() (err error) {
	s.last, s.revision, err = s.Sources.Validation(s.Context(), s.by, sourceID(s.request))
	if err == nil {
		setStreamHeaders(s.answer)
	}
	return err
}

// Run sends each progress until the report, or until the caller can no longer read it.
func (s *followedValidation) Run(w http.ResponseWriter) error {
	_ = s.to.SetReadDeadline(time.Time{}) // the server's is for requests that end
	if s.Method == http.MethodHead {
		return nil
	}
	poll, comment := time.NewTicker(validationPoll), time.NewTicker(streamComment)
	defer poll.Stop()
	defer comment.Stop()
	for isNew := true; ; {
		if isNew {
			s.event("validation", toValidation(&s.last, s.revision))
		}
		if s.flush(w) != nil || s.last.HasEnded() {
			return nil
		}
		isNew = false
		select {
		case <-s.Context().Done():
			return nil
		case <-comment.C:
			s.out.WriteString(":\n\n")
		case <-poll.C:
			latest, revision, err := s.Sources.Validation(s.Context(), s.current(), sourceID(s.request))
			if err != nil {
				return nil //nolint:nilerr // the stream ends, as when its reader is gone
			}
			isNew = latest.UpdatedAt != s.last.UpdatedAt || latest.State != s.last.State
			s.last, s.revision = latest, revision
		}
	}
}

// toValidation returns a validation of a source that now has a revision.
func toValidation(v *source.Validation, revision int64) openapi.SourceValidation {
	return openapi.SourceValidation{
		State:       openapi.SourceValidationState(cmp.Or(v.State, noValidation)),
		Outdated:    v.State != "" && v.Of != revision,
		RequestedAt: convert.OrNullTime(v.RequestedAt),
		StartedAt:   convert.OrNullTime(v.StartedAt),
		EndedAt:     convert.OrNullTime(v.EndedAt),
		Rows:        v.Rows,
		FailingRows: v.Failing,
		Complete:    v.Complete,
		Failure:     openapi.OrNull(v.Failure),
		Fields: convert.Slice(v.Fields, func(f *source.FieldReport) openapi.SourceFieldValidation {
			return openapi.SourceFieldValidation{
				Field:       f.Field,
				Rows:        v.Rows,
				Empty:       f.Empty,
				Missing:     f.Counts[column.Missing],
				WrongType:   f.Counts[column.WrongType],
				Ambiguous:   f.Counts[column.Ambiguous],
				NotInEnum:   f.Counts[column.NotInEnum],
				Duplicate:   f.Counts[column.Duplicate],
				NotCompared: f.Skipped,
				First: convert.Slice(f.First, func(failed *source.FailedValue) openapi.SourceFailedValue {
					return openapi.SourceFailedValue{
						Row:   failed.Row,
						Code:  openapi.SourceFailedValueCode(failed.Code),
						Class: openapi.OrNull(openapi.SourceFieldType(failed.Class)),
					}
				}),
			}
		}),
	}
}
