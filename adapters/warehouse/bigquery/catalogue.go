package bigquery

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
)

// isName reports whether a table can have a name ("Table naming" of BigQuery's documentation). Such a name needs only
// backticks as quotes, and contains no decorators.
func isName(s string) bool {
	const most = 1024 // bytes
	return s != "" && len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc, unicode.Pd, unicode.Zs)
	})
}

// entry is a table in a list.
type entry struct {
	Reference struct {
		TableID string `json:"tableId"`
	} `json:"tableReference"`
	Type string `json:"type"`
}

// list returns one page of the dataset's tables, in any order, and the token of the next page.
func (s *session) list(limit int, page string) (tables []entry, next string, err error) {
	query := url.Values{"maxResults": {strconv.Itoa(limit)},
		"fields": {"nextPageToken,tables(tableReference/tableId,type)"}}
	if page != "" {
		query.Set("pageToken", page)
	}
	var answer struct {
		Next   string  `json:"nextPageToken"`
		Tables []entry `json:"tables"`
	}
	err = s.call(http.MethodGet, s.path("tables"), query, nil, &answer)
	return answer.Tables, answer.Next, err
}

// Read reports whether tables can be listed and statements can be run, with a dry run.
func (s *session) Read(server *connection.Server) error {
	server.Product, server.Version = "BigQuery", "v2"
	tables, _, err := s.list(1, "")
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		s.first = tables[0].Reference.TableID
	}
	_, err = s.job(`SELECT 1`, nil, 1, true)
	return err
}

// CanWrite reports whether the account, not Atrium's token, could change a table of the dataset. For an empty dataset
// this is unknown.
func (s *session) CanWrite() (bool, error) {
	if s.first == "" {
		return false, nil
	}
	request := map[string][]string{"permissions": {"bigquery.tables.updateData", "bigquery.tables.update",
		"bigquery.tables.delete"}}
	var answer struct {
		Permissions []string `json:"permissions"`
	}
	err := s.call(http.MethodPost, s.path("tables", s.first)+":testIamPermissions", nil, request, &answer)
	return len(answer.Permissions) > 0, err
}

// Tables lists a page of tables. The API has an order of its own, so all names are read each time. About ten thousand
// names fit into a call's byte limit.
func (s *session) Tables(q connection.TableQuery) ([]connection.Table, error) {
	var tables []connection.Table
	for page := ""; ; {
		found, next, err := s.list(1000, page)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			ref := connection.TableRef{Schema: s.dataset, Name: e.Reference.TableID}
			if kind, ok := kinds[e.Type]; ok && ref.Compare(q.After) > 0 {
				tables = append(tables, connection.Table{TableRef: ref, Kind: kind, RowEstimate: -1})
			}
		}
		if next == "" {
			break
		}
		if next == page {
			return nil, connection.NotThisDatabase // it would never end
		}
		page = next
	}
	slices.SortFunc(tables, func(a, b connection.Table) int { return a.Compare(b.TableRef) })
	return tables[:min(len(tables), min(max(q.Limit, 1), connection.MaxTables))], nil
}

// kinds are the types of tables that are listed. Models and others are not tables.
var kinds = map[string]connection.TableKind{
	"TABLE":             connection.BaseTable,
	"SNAPSHOT":          connection.BaseTable,
	"CLONE":             connection.BaseTable,
	"VIEW":              connection.View,
	"MATERIALIZED_VIEW": connection.MaterializedView,
	"EXTERNAL":          connection.ExternalTable,
}
