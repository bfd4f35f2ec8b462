package rest

import (
	"cmp"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	validationPoll = 500 * time.Millisecond // between looks at the progress
	csvMedia       = "text/csv"
	noValidation   = "none" // the state of a source that was not validated yet
)

func (a *API) validateSource(r *request) (reply, error) {
	v, err := r.Sources.Validate(r.Context(), r.by, sourceID(r))
	if err != nil {
		return reply{}, err
	}
	out := ok(toValidation(&v, v.Of))
	out.status = http.StatusAccepted
	return out, nil
}

// validation is handle for the last validation: as JSON, or as a stream of its progress.
func (a *API) validation(op *openapi.Operation) http.Handler {
	plain := a.handle(op, query(a.getValidation).perform)
	stream := a.handleStream(op, func(s *sseStream) sseHandler { return &followedValidation{sseStream: s} })
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if preferred(hr.Header.Get("Accept"), func(media string) bool { return media == eventStream }) != "" {
			stream.ServeHTTP(w, hr)
			return
		}
		plain.ServeHTTP(w, hr)
	})
}

func (a *API) getValidation(r *request) (reply, error) {
	v, revision, err := r.Sources.Validation(r.Context(), r.by, sourceID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toValidation(&v, revision)), nil
}

// followedValidation is one open stream of the progress of a validation, which ends with its report.
type followedValidation struct {
	*sseStream
	last     source.Validation
	revision int64
}

func (*followedValidation) close() {}

// open finds the validation.
func (s *followedValidation) open(w http.ResponseWriter) (err error) {
	if s.last, s.revision, err = s.Sources.Validation(s.Context(), s.by, sourceID(s.request)); err != nil {
		return err
	}
	setStreamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return nil
}

// run sends each progress until the report, or until the caller can no longer read it.
func (s *followedValidation) run(w http.ResponseWriter) {
	_ = s.to.SetReadDeadline(time.Time{}) // the server's is for requests that end
	if s.Method == http.MethodHead {
		return
	}
	poll, comment := time.NewTicker(validationPoll), time.NewTicker(streamComment)
	defer poll.Stop()
	defer comment.Stop()
	for isNew := true; ; {
		if isNew {
			s.out.WriteString("event: validation\ndata: ")
			if encode(&s.out, toValidation(&s.last, s.revision)) != nil { // which ends the line
				return
			}
			s.out.WriteString("\n")
		}
		if s.flush(w) != nil || s.last.HasEnded() {
			return
		}
		isNew = false
		select {
		case <-s.Context().Done():
			return
		case <-comment.C:
			s.out.WriteString(":\n\n")
		case <-poll.C:
			by, err := s.Accounts.Now(s.Context(), s.by)
			if err != nil {
				return
			}
			now, revision, err := s.Sources.Validation(s.Context(), by, sourceID(s.request))
			if err != nil {
				return
			}
			isNew = now.UpdatedAt != s.last.UpdatedAt || now.State != s.last.State
			s.last, s.revision = now, revision
		}
	}
}

// failingRows is handle for the rows that fail, which are read as they are sent.
func (a *API) failingRows(op *openapi.Operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		a.streamRows(op, csvMedia, func(*request) (sources.RowsQuery, error) {
			return sources.RowsQuery{OnInvalid: sources.OnlyInvalid, Distinct: true}, nil
		}, w, hr)
	})
}

// toValidation returns a validation of a source that now has a revision.
func toValidation(v *source.Validation, revision int64) openapi.SourceValidation {
	return openapi.SourceValidation{
		State:       openapi.SourceValidationState(cmp.Or(v.State, noValidation)),
		Outdated:    v.State != "" && v.Of != revision,
		RequestedAt: orNullTime(v.RequestedAt),
		StartedAt:   orNullTime(v.StartedAt),
		EndedAt:     orNullTime(v.EndedAt),
		Rows:        v.Rows,
		FailingRows: v.Failing,
		Complete:    v.Complete,
		Failure:     openapi.OrNull(v.Failure),
		Fields: mapSlice(v.Fields, func(f *source.FieldReport) openapi.SourceFieldValidation {
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
				First: mapSlice(f.First, func(failed *source.FailedValue) openapi.SourceFailedValue {
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
