package e2e

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// validated waits until the validation of a source has ended, and returns it.
func validated(t *testing.T, c *client, path string) *answer {
	t.Helper()
	return proof.Await(t, "the validation has ended", func() *answer { return c.get(t, path+"/validation") },
		func(v *answer) bool { return v.at("ended_at") != "null" })
}

// rowsAreValidated checks the rows of files and tables, and downloads those that fail.
func rowsAreValidated(t *testing.T, ann *client, shop *shopWarehouse, connection string) {
	s := ann.server
	viewer := s.user(t, "viewer")
	put(t, s, "members.csv", "Mail;Name\nada@example.com;Ada\ncanary-value;Bob\nada@example.com;\n;Eve\n")
	path := sources + "/" + ann.create(t, sources, object{"type": "contacts",
		"location": object{"url": "file:members.csv", "header_row": 1}, "mapping": []object{
			{"field": "email", "column": "Mail"}, {"field": "first_name", "column": "Name"}}}).at("id")
	refreshed(t, ann, strings.TrimPrefix(path, sources+"/"))
	t.Run("the rows of a file, with row numbers and no values", func(t *testing.T) {
		ann.get(t, path+"/validation").has(t, map[string]string{"state": "none", "requested_at": "null"})
		viewer.do(t, "POST", path+"/validate", nil).problem(t, 403, "source_forbidden")
		ann.do(t, "POST", path+"/validate", nil).is(t, 202).has(t, map[string]string{"state": "queued",
			"outdated": "false", "fields": "[]"})
		report := validated(t, viewer, path).has(t, map[string]string{
			"state": "succeeded", "rows": "4", "failing_rows": "3", "complete": "true", "failure": "null",
			"fields.0.field": "email", "fields.0.rows": "4", "fields.0.empty": "1", "fields.0.missing": "1",
			"fields.0.wrong_type": "1", "fields.0.duplicate": "1", "fields.0.not_in_enum": "0",
			"fields.0.first": `[{"class":"string","code":"wrong_type","row":3},` +
				`{"class":"email","code":"duplicate","row":4},{"class":null,"code":"missing","row":5}]`,
			"fields.1.empty": "1", "fields.1.first": "[]",
		})
		events := s.user(t, "owner").get(t, "/api/events?type=source.validated&subject="+
			strings.TrimPrefix(path, sources+"/")).has(t, map[string]string{
			"data.0.data": `{"complete":true,"failing_fields":1,"failing_rows":3,"rows":4}`})
		if strings.Contains(report.text+events.text, "canary-value") {
			t.Error("a value is in the report or the event")
		}
		ann.get(t, path+"/jobs").has(t, map[string]string{"data.0.kind": "source.validate"})
	})
	t.Run("as a stream that ends with the report", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path+"/validation", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+ann.token)
		request.Header.Set("Accept", "text/event-stream")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		var last string
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if line := lines.Text(); strings.HasPrefix(line, "data: ") {
				last = line
			}
		}
		if response.StatusCode != 200 || lines.Err() != nil || !strings.Contains(last, `"state":"succeeded"`) {
			t.Errorf("%d, %q, %v", response.StatusCode, last, lines.Err())
		}
		viewer.do(t, "GET", sources+"/src_01jb4rqnx1e0g8w5t2m7k4y6zc/validation", nil, "Accept: text/event-stream").
			problem(t, 404, "source_not_found")
	})
	t.Run("the rows that fail are downloaded as they are", func(t *testing.T) {
		rows := ann.do(t, "GET", path+"/validation/failing-rows", nil).is(t, 200)
		if want := "$row,email,first_name,$invalid\r\n3,canary-value,Bob,email:wrong_type\r\n" +
			"4,ada@example.com,,email:duplicate\r\n5,,Eve,email:missing\r\n"; rows.text != want {
			t.Errorf("%q", rows.text)
		}
		viewer.do(t, "GET", path+"/validation/failing-rows", nil).problem(t, 403, "source_forbidden")
	})
	t.Run("a mapping that changes makes the report outdated, and a file that is gone fails it", func(t *testing.T) {
		ann.do(t, "PUT", path, object{"mapping": []object{{"field": "email", "column": "Mail"}}}).is(t, 200)
		ann.get(t, path+"/validation").has(t, map[string]string{"outdated": "true"})
	})
	t.Run("the rows of a table", func(t *testing.T) {
		people := shop.people(t, connection)
		table := sources + "/" + ann.create(t, sources, people).at("id")
		refreshed(t, ann, strings.TrimPrefix(table, sources+"/"))
		shop.sql(t, shop.name, `INSERT INTO `+people["location"].(object)["table"].(string)+
			` VALUES ('no address', 'x', 1)`)
		ann.do(t, "POST", table+"/validate", nil).is(t, 202)
		validated(t, ann, table).has(t, map[string]string{"state": "succeeded", "rows": "4", "failing_rows": "1",
			"fields.0.wrong_type": "1", "fields.0.first.0.class": "string"})
		shop.sql(t, shop.name, `DROP TABLE `+people["location"].(object)["table"].(string))
	})
}
