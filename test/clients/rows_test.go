package clients

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestRowsAreStreamed reads the rows of files: one within the limits of the organisation, one beyond them.
func TestRowsAreStreamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	folder := filepath.Join(w.deployment.Data(), "sheets")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	long := strings.Repeat("x", 1000)
	for name, rows := range map[string]int{"some.csv": 4000, "many.csv": 6000} {
		var text bytes.Buffer // some megabytes
		text.WriteString("Mail;Name\nada@example.com;Ada\nno address;Bob\n")
		for n := range rows - 2 {
			fmt.Fprintf(&text, "user%d@example.com;%s\n", n, long)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o600))
	}
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		attach := func(file string) string {
			return s.must(t, command{Name: "dataSources.attach", HasBody: true, Body: object{"type": "contacts",
				"location": object{"url": "file:" + file, "header_row": 1}, "mapping": []object{
					{"field": "email", "column": "Mail"}, {"field": "full_name", "column": "Name"}}}}).at(t, "id")
		}
		sample, multiple := attach("some.csv"), attach("many.csv")
		defer func() {
			for _, id := range []string{sample, multiple} {
				s.must(t, command{Name: "dataSources.detach", Args: []string{id}})
			}
		}()
		stream := func(id string, query object, o callOptions) command {
			return command{Name: "dataSources.rowsStream", Args: []string{id}, HasQuery: true, Query: query, Options: o}
		}
		all := callOptions{All: true}
		t.Run("all of them, more than a page", func(t *testing.T) {
			rows := s.must(t, stream(sample, object{}, all)).Value.([]any)
			if len(rows) != 4000 || fmt.Sprint(rows[0]) != "map[email:ada@example.com full_name:Ada]" {
				t.Errorf("%d rows, %v", len(rows), rows[0])
			}
			assert.Equal(t, "it accepts", last(s.requests()).headers.Get("Accept"), "application/x-ndjson")
		})
		t.Run("that satisfy filters", func(t *testing.T) {
			rows := s.must(t, stream(sample, object{"fields": "email", "sort": "-email", "filter": object{
				"email[starts_with]": "user1", "email[in]": "user1@example.com,user17@example.com,ada@example.com",
			}}, all)).Value
			want := "[map[email:user1@example.com] map[email:user17@example.com]]" // "@" is behind "7"
			if got := fmt.Sprint(rows); got != want {
				t.Error(got)
			}
		})
		t.Run("as the query says", func(t *testing.T) {
			rows := s.must(t, stream(sample, object{"fields": "email", "on_invalid": "report", "limit": 2}, all)).Value
			want := "[map[email:ada@example.com] map[$invalid:map[email:wrong_type] email:<nil>]]"
			if got := fmt.Sprint(rows); got != want {
				t.Error(got)
			}
			rows = s.must(t, stream(sample, object{"filter": object{"email": "ada@example.com", "full_name": "Ada"}},
				all)).Value
			if got := fmt.Sprint(rows); got != "[map[email:ada@example.com full_name:Ada]]" {
				t.Error(got)
			}
		})
		t.Run("until the caller stops, which closes the connection", func(t *testing.T) {
			rows := s.must(t, stream(sample, object{}, callOptions{First: 2})).Value.([]any)
			if len(rows) != 2 {
				t.Errorf("%v", rows)
			}
			proof.Eventually(t, "the request is closed", func() bool { return s.open.Load() == 0 })
		})
		t.Run("with an error at the end if rows are missing", func(t *testing.T) {
			r := s.call(t, stream(multiple, object{}, all))
			if r.Error == nil || r.Error.Kind != "api" || r.Error.Code != "row_limit_reached" {
				t.Errorf("%d rows, %+v", len(fmt.Sprint(r.Value)), r.Error)
			}
		})
		t.Run("after a server that was not available", func(t *testing.T) {
			s.breaks(script{fault: refuse}, script{status: 503})
			rows := s.must(t, stream(sample, object{"limit": 1}, all))
			assert.Equal(t, "the attempts were", rows.statuses(), "0+ 503+ 200")
		})
		t.Run("after lines with the ids of those that were removed", func(t *testing.T) {
			write := func(text string) {
				require.NoError(t, os.WriteFile(filepath.Join(folder, "team.csv"), []byte(text), 0o600))
			}
			write("Mail;Name\nada@example.com;Ada\nbob@example.com;Bob\n")
			id := attach("team.csv")
			defer s.must(t, command{Name: "dataSources.detach", Args: []string{id}})
			s.comparesRows(t, id, 1)
			query := object{"fields": "email", "ids": true}
			previous := s.must(t, stream(id, query, all)).Value.([]any)
			write("Mail;Name\nada@example.com;Augusta\n")
			s.comparesRows(t, id, 2)
			query["since"], query["removed"] = "1", true
			got := fmt.Sprint(s.must(t, stream(id, query, all)).Value)
			ada, bob := previous[0].(map[string]any)["$id"], previous[1].(map[string]any)["$id"]
			if want := fmt.Sprintf("[map[$removed:%s] map[$id:%s email:ada@example.com]]", bob, ada); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
		t.Run("not of a source that is not there", func(t *testing.T) {
			r := s.call(t, stream("of-nothing", object{}, all))
			if r.Error == nil || r.Error.Code != "source_not_found" {
				t.Errorf("%+v", r.Error)
			}
		})
	})
}

// comparesRows compares the rows of a source by their address, and waits until it has a number of changes.
func (s *session) comparesRows(t *testing.T, id string, changes int) {
	t.Helper()
	for _, key := range []any{nil, "email"} {
		s.must(t, command{Name: "dataSources.update", Args: []string{id}, HasBody: true,
			Body: object{"change_key": key}})
	}
	proof.Await(t, fmt.Sprint(changes, " changes"), func() []any {
		return s.must(t, command{Name: "dataSources.changes.list", Args: []string{id},
			Options: callOptions{All: true}}).Value.([]any)
	}, func(found []any) bool { return len(found) == changes })
}

func last(all []seen) seen { return all[len(all)-1] }
