package bigquery

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// pageRows is how many rows of a result are read at a time.
const pageRows = 500

// Rows implements warehouse.RowSession. The rows come from one statement, whose result BigQuery keeps: pages of it
// are of one snapshot. tabledata.list would cost nothing, but reads what a table has at the time of each page.
func (s *session) Rows(q connection.RowsQuery, out *warehouse.Batches) error {
	fields, _, err := s.fields(q.Table)
	if err != nil {
		return err
	}
	tableColumns := make([]connection.Column, len(fields))
	for i, f := range fields {
		tableColumns[i] = f.column()
	}
	columns, err := out.Begin(q, tableColumns)
	if err != nil || len(columns) == 0 {
		return err
	}
	selection := make([]field, len(columns))
	for i, c := range columns {
		selection[i] = fields[slices.IndexFunc(fields, func(f field) bool { return f.Name == c.Name })]
	}
	place, ordered := -1, ``
	var parameters []parameter
	var conditions []string
	if q.Key != "" {
		place = slices.IndexFunc(selection, func(f field) bool { return f.Name == q.Key })
		key := quote(q.Key)
		if q.After != nil {
			conditions = append(conditions, `(`+key+` > CAST(@after AS `+selection[place].sqlType()+`) OR `+key+
				` IS NULL)`)
			parameters = append(parameters, newParameter("after", "STRING", *q.After))
		}
		ordered = ` ORDER BY ` + key + ` ASC NULLS LAST`
	}
	compare := func(c connection.Column) (warehouse.Comparison, bool) {
		i := slices.IndexFunc(selection, func(f field) bool { return f.Name == c.Name })
		return selection[i].comparison(func(typeName, text string) string {
			name := "value" + strconv.Itoa(len(parameters))
			parameters = append(parameters, newParameter(name, typeName, text))
			return `@` + name
		})
	}
	conditions = append(conditions, warehouse.Where(q, columns, out, compare)...)
	page, err := s.job(`SELECT `+list(selection, warehouse.MaxValue)+` FROM `+s.quoted(q.Table.Name)+
		warehouse.Clause(conditions)+ordered+` LIMIT `+strconv.Itoa(q.Limit), selection, pageRows, false, parameters...)
	for err == nil {
		for _, r := range page.Rows {
			values, err := r.values(selection)
			if err != nil {
				return err
			}
			if place >= 0 {
				values = append(values, warehouse.Place(values[place]))
			}
			if err := out.Add(values); err != nil {
				return err
			}
		}
		if page.PageToken == "" {
			return nil
		}
		page, err = s.page(page, selection)
	}
	return err
}

// result is a page with a statement's rows.
type result struct {
	Complete  bool   `json:"jobComplete"`
	Rows      []row  `json:"rows"`
	PageToken string `json:"pageToken"`
	Job       struct {
		ID       string `json:"jobId"`
		Location string `json:"location"`
	} `json:"jobReference"`
}

// page reads the page after another one, by jobs.getQueryResults.
func (s *session) page(previous result, fields []field) (result, error) {
	next := result{}
	option, value := timestampOption(fields)
	err := s.call(http.MethodGet,
		"projects/"+url.PathEscape(s.project)+"/queries/"+url.PathEscape(previous.Job.ID), url.Values{
			"pageToken": {previous.PageToken}, "maxResults": {strconv.Itoa(pageRows)},
			"location":                {previous.Job.Location},
			"formatOptions." + option: {fmt.Sprint(value)}, "fields": {"jobComplete,rows,pageToken"},
			"timeoutMs": {strconv.FormatInt(s.to.Limits.Statement.Milliseconds(), 10)},
		}, nil, &next)
	if err == nil && (len(next.Rows) == 0 || next.PageToken == previous.PageToken) {
		err = connection.NotThisDatabase // it would not end
	}
	next.Job = previous.Job
	return next, err
}

// parameter is a named statement parameter ("Running parameterized queries" of BigQuery's documentation).
type parameter struct {
	Name string `json:"name"`
	Type struct {
		Type string `json:"type"`
	} `json:"parameterType"`
	Value struct {
		Value string `json:"value"`
	} `json:"parameterValue"`
}

func newParameter(name, typeName, value string) (p parameter) {
	p.Name, p.Type.Type, p.Value.Value = name, typeName, value
	return p
}

// list returns a statement's columns. The server cuts texts.
func list(fields []field, limit int) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = quote(f.Name)
		if f.Mode != "REPEATED" && f.Type == "STRING" {
			columns[i] = `LEFT(` + columns[i] + `, ` + strconv.Itoa(limit) + `)`
		}
	}
	return strings.Join(columns, `, `)
}

func (s *session) quoted(table string) string {
	return quote(s.project) + `.` + quote(s.dataset) + `.` + quote(table)
}
