package snowflake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Rows implements warehouse.RowSession. The rows come from one statement, whose result Snowflake keeps in
// partitions: all are of one snapshot ("Handling responses" of the SQL API's documentation).
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	tableColumns, err := s.existing(q.Table)
	if err != nil {
		return err
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = cell(c, warehouse.MaxValue, "9")
	}
	var args, conditions []string
	place, ordered := -1, ``
	if q.Key != "" {
		place = slices.IndexFunc(columns, func(c connection.Column) bool { return c.Name == q.Key })
		key := quote(q.Key)
		if q.After != nil {
			args = append(args, *q.After)
			conditions = append(conditions, `(`+compared(columns[place], key)+` > `+compared(columns[place], `?`)+
				` OR `+key+` IS NULL)`)
		}
		ordered = ` ORDER BY ` + compared(columns[place], key) + ` ASC NULLS LAST`
	}
	compare := func(c connection.Column) (warehouse.Comparison, bool) {
		return comparison(c, func(text string) { args = append(args, text) })
	}
	conditions = append(conditions, warehouse.Where(q, columns, out, compare)...)
	sql := `SELECT ` + strings.Join(list, `, `) + ` FROM ` + s.quoted(q.Table) + warehouse.Clause(conditions) + ordered
	answer, err := s.finished(s.to.Limits.Statement, sql+` LIMIT `+strconv.Itoa(q.Limit), args...)
	if errors.Is(err, connection.TableNotFound) {
		err = connection.PermissionDenied // as in Preview
	}
	if err != nil {
		return err
	}
	r := rowReader{columns: columns, place: place, left: s.to.Limits.Bytes, out: out}
	description, err := r.read(answer)
	if err != nil {
		return err
	}
	if description.Meta == nil {
		return connection.NotThisDatabase
	}
	for n := 1; n < len(description.Meta.Partitions); n++ {
		answer, err := s.partition(description.Handle, n)
		if err != nil {
			return err
		}
		if _, err := r.read(answer); err != nil {
			return err
		}
	}
	if r.rows != description.Meta.Rows {
		return connection.NotThisDatabase // rows are missing
	}
	return nil
}

// about is what in a response is not its rows.
type about struct {
	Handle string `json:"statementHandle"`
	Meta   *struct {
		Rows       int        `json:"numRows"`
		Partitions []struct{} `json:"partitionInfo"`
	} `json:"resultSetMetaData"`
}

// pollInterval is how long the session waits before it asks again for a statement's result.
const pollInterval = 500 * time.Millisecond

// finished runs a statement, and waits for its result even if it takes longer than the 45 seconds after which the
// server responds. If the context ends in the meantime, the statement is cancelled.
func (s *session) finished(limit time.Duration, sql string, args ...string) (warehouse.Answer, error) {
	ctx, cancel := context.WithTimeout(s.ctx, limit+grace)
	defer cancel()
	answer, err := s.begun(ctx, limit, sql, args...)
	for err == nil && answer.Status == http.StatusAccepted {
		var running about
		if json.Unmarshal(answer.Body, &running) != nil || running.Handle == "" {
			return answer, connection.NotThisDatabase
		}
		select {
		case <-ctx.Done():
			err = warehouse.UnlessCanceled(s.ctx, connection.QueryTimeout)
		case <-time.After(pollInterval):
			answer, err = s.call(ctx, http.MethodGet, statements+"/"+url.PathEscape(running.Handle), nil)
		}
		if err != nil {
			s.cancel(running.Handle)
		}
	}
	if err == nil && answer.Status != http.StatusOK {
		err = refusal(answer)
	}
	return answer, err
}

// cancel cancels a statement that runs.
func (s *session) cancel(handle string) {
	ctx, end := context.WithTimeout(context.WithoutCancel(s.ctx), warehouse.CancelTimeout)
	defer end()
	_, _ = s.call(ctx, http.MethodPost, statements+"/"+url.PathEscape(handle)+"/cancel", nil) // its limit ends it, too
}

// partition returns a further result part.
func (s *session) partition(handle string, n int) (warehouse.Answer, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement+grace)
	defer cancel()
	answer, err := s.call(ctx, http.MethodGet,
		statements+"/"+url.PathEscape(handle)+"?partition="+strconv.Itoa(n), nil)
	if err == nil && answer.Status != http.StatusOK {
		err = refusal(answer)
	}
	return answer, err
}

// rowReader passes rows of responses on.
type rowReader struct {
	columns []connection.Column
	place   int   // of the key among the columns; -1 for none
	left    int64 // bytes that may still be read, after decompression
	rows    int
	out     *warehouse.Batches
}

// read passes a response's rows on, one after another, and returns the rest of it. Snowflake compresses all partitions
// but the first.
func (r *rowReader) read(answer warehouse.Answer) (rest about, err error) {
	var body io.Reader = bytes.NewReader(answer.Body)
	if answer.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return rest, connection.NotThisDatabase
		}
	}
	limit := &io.LimitedReader{R: body, N: r.left}
	in := json.NewDecoder(limit)
	defer func() {
		if r.left = limit.N; r.left <= 0 {
			err = connection.ResponseTooLarge
		}
	}()
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return rest, connection.NotThisDatabase
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return rest, connection.NotThisDatabase
		}
		switch name {
		case "data":
			err = r.data(in)
		case "statementHandle":
			err = decoded(in, &rest.Handle)
		case "resultSetMetaData":
			err = decoded(in, &rest.Meta)
		default:
			err = decoded(in, new(json.RawMessage))
		}
		if err != nil {
			return rest, err
		}
	}
	if _, err := in.Token(); err != nil {
		return rest, connection.NotThisDatabase
	}
	return rest, nil
}

func decoded(in *json.Decoder, value any) error {
	if in.Decode(value) != nil {
		return connection.NotThisDatabase // without the error, which may quote a value
	}
	return nil
}

// data passes the rows of one partition on.
func (r *rowReader) data(in *json.Decoder) error {
	if token, err := in.Token(); err != nil || token != json.Delim('[') {
		return connection.NotThisDatabase
	}
	for in.More() {
		row := make([]*string, 0, len(r.columns)+1)
		if err := decoded(in, &row); err != nil {
			return err
		}
		if err := exact(row, r.columns); err != nil {
			return err
		}
		if r.rows++; r.place >= 0 {
			row = append(row, warehouse.Place(row[r.place]))
		}
		if err := r.out.Add(row); err != nil {
			return err
		}
	}
	_, err := in.Token()
	if err != nil {
		return connection.NotThisDatabase
	}
	return nil
}

// existing lists the table columns that the catalogue confirms.
func (s *session) existing(ref connection.TableRef) ([]connection.Column, error) {
	if slices.Contains([]string{"", "INFORMATION_SCHEMA"}, ref.Schema) || ref.Name == "" || !isText(ref.Schema) ||
		!isText(ref.Name) {
		return nil, connection.TableNotFound
	}
	all, err := s.columns(ref)
	if err == nil && len(all) == 0 {
		err = connection.TableNotFound
	}
	return all, err
}

func (s *session) quoted(ref connection.TableRef) string {
	return quote(s.database) + `.` + quote(ref.Schema) + `.` + quote(ref.Name)
}
