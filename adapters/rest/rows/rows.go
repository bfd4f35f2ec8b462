package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
)

const defaultRows = 100 // of a page

// rows returns a source's rows: a page as JSON, or all rows as a stream if Accept names its format.
func rows() server.Streaming {
	return server.Streaming{
		Media:   func(r *http.Request) string { return server.Preferred(r.Header.Get("Accept"), isRowFormat) },
		Plain:   server.Query(listRows),
		Reserve: (*server.Stream).AsDownload,
		Open:    func(s *server.Stream) server.StreamBody { return &rowStream{Stream: s, parse: rowsQuery} },
	}
}

func isRowFormat(media string) bool {
	_, ok := rowFormats[media]
	return ok
}

// rowsQuery reads the query parameters.
func rowsQuery(r *server.Call) (q sources.RowsQuery, err error) {
	page, err := r.Page()
	if err != nil {
		return q, err
	}
	q = sources.RowsQuery{Limit: r.Number("limit", 0), After: page.After, Raw: r.Query.Get("raw") == "true",
		Since: r.Query.Get("since"), Sort: r.Query.Get("sort"),
		Removed: r.Query.Get("removed") == "true", IDs: r.Query.Get("ids") == "true",
		OnInvalid: sources.OnInvalid(r.Query.Get("on_invalid")), Count: sources.Count(r.Query.Get("count"))}
	if fields := r.Query.Get("fields"); fields != "" {
		q.Fields = strings.Split(fields, ",")
	}
	if q.Removed && isRowFormat(r.Produces) && r.Produces != linesOfJSON {
		return q, errRemovedFormat
	}
	if q.Count != "" && isRowFormat(r.Produces) {
		return q, errCountFormat
	}
	q.Filters, err = filters(r.Query)
	return q, err
}

// listRows returns a page of rows.
func listRows(r *server.Call) (server.Reply, error) {
	q, err := rowsQuery(r)
	if err != nil {
		return server.Reply{}, err
	}
	if q.Limit == 0 {
		q.Limit = defaultRows
	}
	q.Pages = true
	p := rowPage{invalid: []openapi.SourceInvalidValue{}, removals: []string{}}
	end, err := r.Sources.ReadRows(r.Context(), r.By, pathSource(r), q, p.begin, p.add)
	if err != nil {
		return server.Reply{}, err
	}
	next, err := r.Next(end.Next)
	if err != nil {
		return server.Reply{}, err
	}
	if p.data == nil {
		p.data = []byte("[")
	}
	text, err := json.Marshal(struct {
		Data       json.RawMessage              `json:"data"`
		Invalid    []openapi.SourceInvalidValue `json:"invalid"`
		Removed    []string                     `json:"removed"`
		HasMore    bool                         `json:"has_more"`
		NextCursor nullable.Nullable[string]    `json:"next_cursor"`
		FilteredBy nullable.Nullable[string]    `json:"filtered_by"`
		SortedBy   nullable.Nullable[string]    `json:"sorted_by"`
		Count      *int64                       `json:"count"`
	}{append(p.data, ']'), p.invalid, p.removals, end.More, next, openapi.OrNull(string(end.FilteredBy)),
		openapi.OrNull(string(end.SortedBy)), end.Count})
	return server.OK(server.JSON(text)), err
}

// rowPage collects a page of rows.
type rowPage struct {
	object   objectWriter
	data     []byte // JSON, without the bracket at the end; nil without rows
	invalid  []openapi.SourceInvalidValue
	removals []string
}

// begin takes what the page says before its first row.
func (p *rowPage) begin(_ context.Context, start sources.RowsStart) error {
	p.object, p.removals = newObjectWriter(start.Fields), append(p.removals, start.Removed...)
	return nil
}

// add adds a row.
func (p *rowPage) add(row sources.Row) error {
	if p.data = append(p.data, ','); len(p.data) == 1 {
		p.data[0] = '['
	}
	for _, v := range row.Invalid {
		p.invalid = append(p.invalid, openapi.SourceInvalidValue{Row: row.Number, Field: v.Field,
			Code: openapi.SourceInvalidValueCode(v.Code)})
	}
	p.data = p.object.append(p.data, row.Values)
	return nil
}

// rowStream is one stream of rows, which are sent as they are read, within the limits of the org. An error after the
// first byte is the last thing in it. It is complete for HTTP then, so that each client receives the reason.
type rowStream struct {
	*server.Stream
	parse  func(*server.Call) (sources.RowsQuery, error)
	query  sources.RowsQuery
	format rowFormat
	last   int // the number of the last row that was read
}

// Open implements server.StreamBody.
func (s *rowStream) Open() (err error) {
	s.query, err = s.parse(s.Call)
	return err
}

// Run implements server.StreamBody.
func (s *rowStream) Run() error {
	end, err := s.Sources.ReadRows(s.Context(), s.By, pathSource(s.Call), s.query, s.begin, s.row)
	s.last = end.Last
	if err == nil && end.Cut != nil {
		err = end.Cut
	}
	if err == nil {
		err = s.format.end()
	}
	if err == nil {
		err = s.Flush()
	}
	return err
}

// begin prepares the stream. If the read ends, such as when the connection of the source is revoked, so does a write
// that waits for the client.
func (s *rowStream) begin(reading context.Context, start sources.RowsStart) error {
	context.AfterFunc(reading, func() {
		if cause := context.Cause(reading); !errors.Is(cause, context.Canceled) {
			s.End(cause)
		}
	})
	s.format = rowFormats[s.Produces](&s.Out, start.Fields, rowOptions{
		report: s.query.OnInvalid == sources.ReportInvalid || s.query.OnInvalid == sources.OnlyInvalid,
		number: s.query.OnInvalid == sources.OnlyInvalid, raw: s.query.Raw})
	s.ReplyHeader.Set("Trailer", server.ErrorTrailer)
	if err := s.format.begin(); err != nil {
		return err
	}
	return s.removed(start.Removed)
}

// Explain implements server.Explainer.
func (s *rowStream) Explain(reason *fault.Error, isLost bool) {
	s.format.fail(rowsError{Code: reason.Code, Detail: reason.Detail, LastRow: s.last}, isLost)
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
		s.Out.WriteString(`{"` + removedMember + `":"` + id + `"}` + "\n") // ids are base64url
		if err := s.sendFull(); err != nil {
			return err
		}
	}
	return nil
}

func (s *rowStream) sendFull() error {
	if s.Out.Len() < server.RowsWrite {
		return nil
	}
	return s.Flush()
}

// failingRows returns the rows that fail, which are read as they are sent.
var failingRows = server.Streaming{
	Media:   server.Always(csvMedia),
	Reserve: (*server.Stream).AsDownload,
	Open: func(s *server.Stream) server.StreamBody {
		return &rowStream{Stream: s, parse: func(*server.Call) (sources.RowsQuery, error) {
			return sources.RowsQuery{OnInvalid: sources.OnlyInvalid, Distinct: true}, nil
		}}
	},
}

func pathSource(r *server.Call) source.ID {
	return server.PathID[source.ID](r, "source_id", source.Prefix)
}

const csvMedia = "text/csv"

// rowFormats has the formats of streams by their media type. Each writes to a buffer.
var rowFormats = map[string]func(buffer *bytes.Buffer, fields []column.Field, o rowOptions) rowFormat{
	linesOfJSON: func(buffer *bytes.Buffer, fields []column.Field, _ rowOptions) rowFormat {
		return &ndjson{buffer, newObjectWriter(fields)}
	},
	"text/csv": func(buffer *bytes.Buffer, fields []column.Field, o rowOptions) rowFormat {
		return &csvRows{buffer, fields, o}
	},
	arrowStream: newArrowRows,
}
