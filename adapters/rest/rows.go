package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/application/sources"
)

const (
	defaultRows = 100       // of a page
	rowsWrite   = 64 << 10  // bytes that are written at a time
	filterBegin = "filter[" // of the parameters filter[field]
)

// readRows is handle for the rows of a source: a page as JSON, or all rows as a stream if Accept names its format.
func (a *API) readRows(op *openapi.Operation) http.Handler {
	page := a.handle(op, query(a.listRows).perform)
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		if media := preferred(hr.Header.Get("Accept"), isRowFormat); media != "" {
			a.streamRows(op, media, (*request).rowsQuery, w, hr)
			return
		}
		page.ServeHTTP(w, hr)
	})
}

func isRowFormat(media string) bool {
	_, ok := rowFormats[media]
	return ok
}

func (r *request) rowsQuery() (q sources.RowsQuery, err error) {
	page, err := r.page()
	if err != nil {
		return q, err
	}
	q = sources.RowsQuery{Limit: r.number("limit", 0), After: page.After, Raw: r.query.Get("raw") == "true",
		Since: r.query.Get("since"), Removed: r.query.Get("removed") == "true", IDs: r.query.Get("ids") == "true",
		OnInvalid: sources.OnInvalid(r.query.Get("on_invalid")), Filter: map[string]string{}}
	if fields := r.query.Get("fields"); fields != "" {
		q.Fields = strings.Split(fields, ",")
	}
	if q.Removed && isRowFormat(r.produces) && r.produces != linesOfJSON {
		return q, errRemovedFormat
	}
	for name := range r.query {
		if field, ok := strings.CutPrefix(name, filterBegin); ok {
			q.Filter[strings.TrimSuffix(field, "]")] = r.query.Get(name)
		}
	}
	return q, nil
}

// listRows returns a page of rows.
func (a *API) listRows(r *request) (reply, error) {
	q, err := r.rowsQuery()
	if err != nil {
		return reply{}, err
	}
	if q.Limit == 0 {
		q.Limit = defaultRows
	}
	q.Pages = true
	var object objectWriter
	var data []byte
	invalid, removed := []openapi.SourceInvalidValue{}, []string{}
	begin := func(_ context.Context, at sources.RowsStart) error {
		object, removed = newObjectWriter(at.Fields), append(removed, at.Removed...)
		return nil
	}
	end, err := r.Sources.ReadRows(r.Context(), r.by, sourceID(r), q, begin, func(row sources.Row) error {
		if data = append(data, ','); len(data) == 1 {
			data[0] = '['
		}
		for _, v := range row.Invalid {
			invalid = append(invalid, openapi.SourceInvalidValue{Row: row.Number, Field: v.Field,
				Code: openapi.SourceInvalidValueCode(v.Code)})
		}
		data = object.append(data, row.Values)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	next, err := r.next(end.Next)
	if err != nil {
		return reply{}, err
	}
	if data == nil {
		data = []byte("[")
	}
	text, err := json.Marshal(struct {
		Data       json.RawMessage              `json:"data"`
		Invalid    []openapi.SourceInvalidValue `json:"invalid"`
		Removed    []string                     `json:"removed"`
		HasMore    bool                         `json:"has_more"`
		NextCursor nullable.Nullable[string]    `json:"next_cursor"`
	}{append(data, ']'), invalid, removed, end.More, next})
	return ok(encoded(text)), err
}

// streamRows writes the rows as they are read. The usual timeout of a request applies until the caller is known, then
// only the limits of the org: a client that reads too slowly is disconnected. An error after the first byte closes the
// connection, so that the client notices.
func (a *API) streamRows(
	op *openapi.Operation, media string, query func(*request) (sources.RowsQuery, error), w http.ResponseWriter,
	hr *http.Request,
) {
	obs := observation(hr)
	obs.route = op.Path
	ctx, cancel := context.WithCancel(hr.Context())
	defer cancel()
	to := http.NewResponseController(w)
	defer context.AfterFunc(a.streams, func() {
		cancel()
		_ = to.SetWriteDeadline(time.Now()) // ends a write that waits for the client
	})()
	hr = hr.WithContext(ctx)
	r := &request{Request: hr, Services: a.Services, api: a, op: op, answer: w.Header(), produces: media}
	opening, opened := context.WithTimeout(ctx, a.config.RequestTimeout)
	var q sources.RowsQuery
	var err error
	if r.by, r.owner, err = a.authenticate(w, hr.WithContext(opening), obs, op, false); err == nil {
		err = r.parse(w)
	}
	opened()
	if err == nil {
		q, err = query(r)
	}
	if err != nil {
		r.recordRefusal(err)
		a.problem(w, hr, err)
		return
	}
	s := &rowStream{w: w, to: to, media: media, head: hr.Method == http.MethodHead}
	begin := func(reading context.Context, at sources.RowsStart) error {
		s.reading = reading
		context.AfterFunc(reading, func() {
			if s.isRevoked() {
				_ = s.to.SetWriteDeadline(time.Now())
			}
		})
		s.format = rowFormats[media](&s.out, at.Fields, rowOptions{
			report: q.OnInvalid == sources.ReportInvalid || q.OnInvalid == sources.OnlyInvalid,
			number: q.OnInvalid == sources.OnlyInvalid, raw: q.Raw})
		if err := s.format.begin(); err != nil {
			return err
		}
		return s.removed(at.Removed)
	}
	end, err := r.Sources.ReadRows(ctx, r.by, sourceID(r), q, begin, s.row)
	if err == nil && end.More && q.Limit == 0 {
		err = errRowsCut
	}
	if err == nil {
		if err = s.format.end(); err == nil {
			err = s.flush()
		}
	}
	switch {
	case err != nil && !s.begun:
		r.recordRefusal(err)
		a.problem(w, hr, err)
	case err != nil:
		if ctx.Err() == nil {
			a.Log.WarnContext(ctx, "a stream of rows was not completed", "request_id", obs.id, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// rowStream is one stream of rows.
type rowStream struct {
	w      http.ResponseWriter
	to     *http.ResponseController
	media  string
	head   bool
	format rowFormat
	out    bytes.Buffer
	begun  bool // the status is sent

	reading context.Context //nolint:containedctx // of the read; when it ends, so does a write that waits for the client
}

func (s *rowStream) row(row sources.Row) error {
	if err := s.format.row(row); err != nil {
		return err
	}
	return s.flushFull()
}

// removed writes the ids of removed rows, as lines of JSON.
func (s *rowStream) removed(ids []string) error {
	for _, id := range ids {
		s.out.WriteString(`{"` + removedMember + `":"` + id + `"}` + "\n") // ids are base64url
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowStream) flushFull() error {
	if s.out.Len() < rowsWrite {
		return nil
	}
	return s.flush()
}

// isRevoked reports whether the read was ended by something other than its own end or that of the request.
func (s *rowStream) isRevoked() bool {
	cause := context.Cause(s.reading)
	return cause != nil && !errors.Is(cause, context.Canceled)
}

// flush sends the collected rows.
func (s *rowStream) flush() error {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", s.media)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would keep parts of it
		s.w.WriteHeader(http.StatusOK)
	}
	if s.head {
		s.out.Reset()
		return nil
	}
	if err := s.to.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	if s.isRevoked() {
		return context.Cause(s.reading)
	}
	if _, err := s.out.WriteTo(s.w); err != nil {
		return err
	}
	return s.to.Flush()
}
