package bigquery

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// maxBilled is what a view preview, or a request for rows, may read, in bytes: at the list price it costs less than a
// cent.
const maxBilled = 1 << 30

// Preview reads a table's columns, and some of its rows: of a table as it is stored, which costs nothing; of a
// view, by a statement.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	var p connection.Preview
	ref := q.Table
	all, kind, err := s.fields(ref)
	if err != nil {
		return p, err
	}
	choice := connection.Choose(q, all, func(f field) string { return f.Name })
	fields := choice.Columns
	p.Total, p.Truncated = choice.Total, choice.Truncated
	for _, f := range fields {
		p.Columns = append(p.Columns, f.column())
	}
	rows := min(q.Rows, connection.MaxSampleRows)
	if rows <= 0 || len(fields) == 0 {
		return p, nil
	}
	var found []row
	if kind == connection.BaseTable {
		found, err = s.stored(ref.Name, fields, rows)
	} else {
		var first result
		first, err = s.job(s.statement(ref.Name, fields, rows), fields, connection.MaxSampleRows, false)
		found = first.Rows
	}
	if err != nil {
		return p, err
	}
	for _, r := range found {
		cells, err := r.cells(fields)
		if err != nil {
			return connection.Preview{}, err
		}
		p.Rows = append(p.Rows, cells)
	}
	return p, nil
}

// fields returns the table columns that the catalogue has.
func (s *session) fields(ref connection.TableRef) ([]field, connection.TableKind, error) {
	if ref.Schema != s.dataset || !isName(ref.Name) {
		return nil, "", connection.TableNotFound
	}
	var table struct {
		Type   string `json:"type"`
		Schema struct {
			Fields []field `json:"fields"`
		} `json:"schema"`
	}
	if err := s.call(http.MethodGet, s.path("tables", ref.Name), url.Values{"fields": {"type,schema"}}, nil,
		&table); err != nil {
		return nil, "", err
	}
	kind, ok := kinds[table.Type]
	if !ok {
		return nil, "", connection.TableNotFound
	}
	return table.Schema.Fields[:min(len(table.Schema.Fields), connection.MaxListed)], kind, nil
}

// stored reads rows by tabledata.list.
func (s *session) stored(table string, fields []field, rows int) ([]row, error) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	var answer struct {
		Rows []row `json:"rows"`
	}
	option, value := timestampOption(fields)
	err := s.call(http.MethodGet, s.path("tables", table, "data"), url.Values{
		"maxResults": {strconv.Itoa(rows)}, "selectedFields": {strings.Join(names, ",")},
		"formatOptions." + option: {fmt.Sprint(value)}, "fields": {"rows"},
	}, nil, &answer)
	return answer.Rows, err
}

// statement returns the query for rows of a view or an external table.
func (s *session) statement(table string, fields []field, rows int) string {
	return `SELECT ` + list(fields, connection.MaxCell) + ` FROM ` + s.quoted(table) + ` LIMIT ` + strconv.Itoa(rows)
}

// job runs a statement with jobs.query, or only has it checked, and returns its first rows, which have these fields.
// The job ends with our timeout.
func (s *session) job(sql string, fields []field, rows int, dryRun bool, parameters ...parameter) (result, error) {
	var answer result
	option, value := timestampOption(fields)
	request := map[string]any{
		"query": sql, "useLegacySql": false, "dryRun": dryRun, "maxResults": rows,
		"maximumBytesBilled": strconv.Itoa(maxBilled),
		"timeoutMs":          s.to.Limits.Statement.Milliseconds(),
		"jobTimeoutMs":       strconv.FormatInt(max(1, s.to.Limits.Statement.Milliseconds()), 10),
		"formatOptions":      map[string]any{option: value},
	}
	if parameters != nil {
		request["parameterMode"], request["queryParameters"] = "NAMED", parameters
	}
	err := s.call(http.MethodPost, "projects/"+url.PathEscape(s.project)+"/queries",
		url.Values{"fields": {"jobComplete,rows,pageToken,jobReference"}}, request, &answer)
	if err == nil && !answer.Complete && !dryRun {
		err = connection.QueryTimeout
	}
	return answer, err
}

// quote writes a name as an identifier ("Lexical structure" of GoogleSQL).
func quote(name string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(name) + "`"
}
