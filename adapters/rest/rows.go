package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/source"
)

const (
	defaultRows = 100       // of a page
	filterBegin = "filter[" // of the parameters filter[field]
)

func rowOperations() []operation {
	const one = "/api/datasources/{source_id}"
	return []operation{
		getOf(one+"/rows", rows()),
		getOf(one+"/validation/failing-rows", failingRows),
	}
}

// rows returns the rows of a source: a page as JSON, or all rows as a stream if Accept names its format.
func rows() streaming {
	return streaming{
		media:   func(r *http.Request) string { return preferred(r.Header.Get("Accept"), isRowFormat) },
		plain:   query(listRows),
		reserve: (*openStream).asDownload,
		open:    func(s *openStream) streamBody { return &rowStream{openStream: s, parse: rowsQuery} },
	}
}

func isRowFormat(media string) bool {
	_, ok := rowFormats[media]
	return ok
}

func rowsQuery(r *request) (q sources.RowsQuery, err error) {
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
func listRows(r *request) (reply, error) {
	q, err := rowsQuery(r)
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
	end, err := r.Sources.ReadRows(r.Context(), r.by, pathSource(r), q, begin, func(row sources.Row) error {
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

// rowStream is one stream of rows, which are sent as they are read, within the limits of the org. An error after the
// first byte closes the connection, so that the client notices.
type rowStream struct {
	*openStream
	parse  func(*request) (sources.RowsQuery, error)
	query  sources.RowsQuery
	format rowFormat
	begun  bool // the header is set
	w      http.ResponseWriter
}

func (s *rowStream) Open() (err error) {
	s.query, err = s.parse(s.request)
	return err
}

func (s *rowStream) Run(w http.ResponseWriter) error {
	s.w = w
	end, err := s.Sources.ReadRows(s.Context(), s.by, pathSource(s.request), s.query, s.begin, s.row)
	if err == nil && end.Cut {
		err = errRowsCut
	}
	if err == nil {
		err = s.format.end()
	}
	if err == nil {
		err = s.send()
	}
	return err
}

// begin prepares the stream. If the read ends, such as when the connection of the source is revoked, so does a write
// that waits for the client.
func (s *rowStream) begin(reading context.Context, start sources.RowsStart) error {
	context.AfterFunc(reading, func() {
		if cause := context.Cause(reading); !errors.Is(cause, context.Canceled) {
			s.end(cause)
		}
	})
	s.format = rowFormats[s.produces](&s.out, start.Fields, rowOptions{
		report: s.query.OnInvalid == sources.ReportInvalid || s.query.OnInvalid == sources.OnlyInvalid,
		number: s.query.OnInvalid == sources.OnlyInvalid, raw: s.query.Raw})
	if err := s.format.begin(); err != nil {
		return err
	}
	return s.removed(start.Removed)
}

func (s *rowStream) row(row sources.Row) error {
	if err := s.format.row(row); err != nil {
		return err
	}
	return s.sendFull()
}

// removed writes the ids of removed rows, as lines of JSON.
func (s *rowStream) removed(ids []string) error {
	for _, id := range ids {
		s.out.WriteString(`{"` + removedMember + `":"` + id + `"}` + "\n") // ids are base64url
		if err := s.sendFull(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowStream) sendFull() error {
	if s.out.Len() < rowsWrite {
		return nil
	}
	return s.send()
}

// send sends the collected rows.
func (s *rowStream) send() error {
	if !s.begun {
		s.begun = true
		s.answer.Set("Content-Type", s.produces)
		s.answer.Set("Cache-Control", "no-store")
		s.answer.Set("X-Accel-Buffering", "no") // nginx would keep parts of it
		s.w.WriteHeader(http.StatusOK)
	}
	if s.Method == http.MethodHead {
		s.out.Reset()
		return s.endedBy()
	}
	return s.flush(s.w)
}

// failingRows returns the rows that fail, which are read as they are sent.
var failingRows = streaming{
	media:   always(csvMedia),
	reserve: (*openStream).asDownload,
	open: func(s *openStream) streamBody {
		return &rowStream{openStream: s, parse: func(*request) (sources.RowsQuery, error) {
			return sources.RowsQuery{OnInvalid: sources.OnlyInvalid, Distinct: true}, nil
		}}
	},
}

func pathSource(r *request) source.ID { return pathID[source.ID](r, "source_id", source.Prefix) }

const csvMedia = "text/csv"

func rowsArea() area { return area{name: "rows", operations: rowOperations()} }
