package sources

import (
	"cmp"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	validationPoll = 500 * time.Millisecond // between looks at the progress
	noValidation   = "none"                 // the state for a source that was not validated yet
)

func validateSource(r *server.Call) (server.Reply, error) {
	v, err := r.Sources.Validate(r.Context(), r.By, sourceID(r))
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(toValidation(&v, v.Of))
	out.Status = http.StatusAccepted
	return out, nil
}

// validation returns the last validation: as JSON, or as a stream of its progress.
func validation() server.Streaming {
	return server.Streaming{
		Media:   server.EventsWanted,
		Plain:   server.Query(getValidation),
		Reserve: (*server.Stream).AsSubscription,
		Open:    func(s *server.Stream) server.StreamBody { return &followedValidation{Stream: s} },
	}
}

func getValidation(r *server.Call) (server.Reply, error) {
	v, revision, err := r.Sources.Validation(r.Context(), r.By, sourceID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toValidation(&v, revision)), nil
}

// followedValidation is one open stream about a validation's progress, which ends with its report.
type followedValidation struct {
	*server.Stream
	last     source.Validation
	revision int64
}

// Open finds the validation.
func (s *followedValidation) Open() (err error) {
	s.last, s.revision, err = s.Sources.Validation(s.Context(), s.By, sourceID(s.Call))
	return err
}

// Run sends each progress until the report, or until the caller can no longer read it.
func (s *followedValidation) Run() error {
	if s.Method == http.MethodHead {
		return nil
	}
	poll, comment := time.NewTicker(validationPoll), time.NewTicker(server.StreamComment)
	defer poll.Stop()
	defer comment.Stop()
	for isNew := true; ; {
		if isNew {
			s.Event("validation", toValidation(&s.last, s.revision))
		}
		if s.Flush() != nil || s.last.HasEnded() {
			return nil
		}
		isNew = false
		select {
		case <-s.Context().Done():
			return nil
		case <-comment.C:
			s.Out.WriteString(":\n\n")
		case <-poll.C:
			latest, revision, err := s.Sources.Validation(s.Context(), s.Current(), sourceID(s.Call))
			if err != nil {
				return nil //nolint:nilerr // the stream ends, as when its reader is gone
			}
			isNew = latest.UpdatedAt != s.last.UpdatedAt || latest.State != s.last.State
			s.last, s.revision = latest, revision
		}
	}
}

// toValidation returns the validation of a source that now has a revision.
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
				First: convert.Slice(f.First, func(value *source.FailedValue) openapi.SourceFailedValue {
					return openapi.SourceFailedValue{
						Row:   value.Row,
						Code:  openapi.SourceFailedValueCode(value.Code),
						Class: openapi.OrNull(openapi.SourceFieldType(value.Class)),
					}
				}),
			}
		}),
	}
}
