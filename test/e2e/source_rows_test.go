package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// rowsAreRead reads the rows of tables of a shop, and of files.
func rowsAreRead(t *testing.T, ann *client, shop *shopWarehouse, network interface {
	Cut()
	Restore()
}, connection string) {
	s := ann.server
	attach := func(t *testing.T, body object) string {
		t.Helper()
		id := ann.create(t, sources, body).at("id")
		refreshed(t, ann, id)
		return sources + "/" + id
	}
	put(t, s, "visits.csv", "Mail;Visits;Since\nada@example.com;1.234,5;25/12/2025\nno address;x;03/04/2026\n\n"+
		"grace@example.com;7;\n")
	file := func(name string) object {
		return object{"type": "contacts", "location": object{"url": "file:" + name, "header_row": 1},
			"mapping": []object{{"field": "email", "column": "Mail"}}}
	}
	visits := attach(t, file("visits.csv"))

	t.Run("of a file, page by page, until it changes", func(t *testing.T) {
		first := ann.get(t, visits+"/rows?limit=1").has(t, map[string]string{
			"data": `[{"email":"ada@example.com"}]`, "invalid": "[]", "has_more": "true", "filtered_by": "null", "sorted_by": "null"})
		second := ann.get(t, visits+"/rows?limit=1&cursor="+first.at("next_cursor")).has(t,
			map[string]string{"data": `[{"email":null}]`, "has_more": "true"})
		ann.get(t, visits+"/rows?limit=2&cursor="+second.at("next_cursor")).has(t, map[string]string{
			"data": `[{"email":"grace@example.com"}]`, "has_more": "false", "next_cursor": "null"})
		ann.get(t, visits+"/rows?on_invalid=skip").has(t,
			map[string]string{"data": `[{"email":"ada@example.com"},{"email":"grace@example.com"}]`})
		ann.get(t, visits+"/rows?on_invalid=report").has(t,
			map[string]string{"invalid": `[{"code":"wrong_type","field":"email","row":3}]`})
		ann.get(t, visits+"/rows?raw=true&filter[email]=no%20address").has(t,
			map[string]string{"data": `[{"email":"no address"}]`, "has_more": "false"})
		ann.get(t, visits+"/rows?filter[email]=grace@example.com&fields=email").has(t,
			map[string]string{"data": `[{"email":"grace@example.com"}]`, "filtered_by": "atrium"})
		last := ann.get(t, visits+"/rows?sort=-email&limit=1").has(t, map[string]string{"sorted_by": "atrium",
			"data": `[{"email":"grace@example.com"}]`, "filtered_by": "null"})
		ann.get(t, visits+"/rows?sort=-email&limit=2&cursor="+last.at("next_cursor")).has(t,
			map[string]string{"data": `[{"email":"ada@example.com"},{"email":null}]`, "has_more": "false"})
		ann.do(t, "GET", visits+"/rows?sort=email&cursor="+last.at("next_cursor"), nil).
			problem(t, 400, "invalid_cursor")
		put(t, s, "visits.csv", "Mail\nzoe@example.com\n")
		ann.do(t, "GET", visits+"/rows?limit=1&cursor="+first.at("next_cursor"), nil).problem(t, 409, "source_changed")
		put(t, s, "visits.csv", "E-mail\nzoe@example.com\n")
		ann.do(t, "GET", visits+"/rows", nil).problem(t, 409, "source_changed")
		for query, code := range map[string]string{
			"?fields=age": "invalid_parameter", "?limit=1001": "invalid_parameter",
			"?filter[age]=1": "invalid_parameter", "?filter=1": "unknown_parameter", "?cursor=x": "invalid_cursor",
			"?email[x]=1": "unknown_parameter", "?filter[email]=x": "invalid_parameter",
			"?filter[email][like]=x": "invalid_parameter", "?sort=age": "invalid_parameter", "?sort=email,-age": "invalid_parameter", "?raw=true&filter[email][lt]=x": "invalid_parameter"} {
			ann.do(t, "GET", visits+"/rows"+query, nil).problem(t, 400, code)
		}
	})
	t.Run("of a file that is too large, no table, or at no allowed place", func(t *testing.T) {
		path := filepath.Join(s.data, "sheets", "changes.csv")
		put(t, s, "changes.csv", "Mail\nada@example.com\n")
		changing := attach(t, file("changes.csv"))
		rows, failing := changing+"/rows", changing+"/validation/failing-rows"
		require.NoError(t, os.Truncate(path, source.MaxSheetBytes+1))
		ann.do(t, "GET", rows, nil).problem(t, 413, "file_too_large")
		ann.do(t, "GET", failing, nil).problem(t, 413, "file_too_large")
		put(t, s, "changes.csv", "%PDF-1.7\n\x00\x01")
		ann.do(t, "GET", rows, nil).problem(t, 415, "unsupported_format")
		ann.do(t, "GET", failing, nil).problem(t, 415, "unsupported_format")
		require.NoError(t, os.Remove(path))
		ann.do(t, "GET", rows, nil).problem(t, 404, "sheet_not_found")
	})
	people := shop.people(t, connection)
	table := people["location"].(object)["table"].(string)
	rows := attach(t, people) + "/rows"
	t.Run("of a table, by its key", func(t *testing.T) {
		first := ann.get(t, rows+"?limit=2").has(t, map[string]string{
			"data": `[{"email":"ada@example.com"},{"email":"emmy@example.com"}]`, "has_more": "true"})
		shop.sql(t, shop.name, `INSERT INTO `+table+` VALUES ('aaa@example.com', 'new', 1)`) // not on the next page
		ann.get(t, rows+"?limit=2&cursor="+first.at("next_cursor")).has(t, map[string]string{
			"data": `[{"email":"grace@example.com"}]`, "has_more": "false", "next_cursor": "null"})
	})
	t.Run("of a table, that satisfy filters", func(t *testing.T) { rowsAreFiltered(t, ann, shop, connection) })
	t.Run("as streams", func(t *testing.T) {
		for accept, want := range map[string]string{
			"application/x-ndjson": `{"email":"ada@example.com"}` + "\n" + `{"email":"grace@example.com"}` + "\n",
			"text/csv":             "email\r\nada@example.com\r\ngrace@example.com\r\n",
		} {
			a := ann.do(t, "GET", rows+"?limit=2", nil, "Accept: "+accept).is(t, 200)
			if a.text != want || a.header.Get("Content-Type") != accept {
				t.Errorf("%s: %q", accept, a.text)
			}
			ann.do(t, "GET", visits+"/rows", nil, "Accept: "+accept).problem(t, 409, "source_changed")
		}
		ann.do(t, "GET", visits+"/validation/failing-rows", nil).problem(t, 409, "source_changed")
		a := ann.do(t, "GET", rows+"?limit=2", nil, "Accept: application/vnd.apache.arrow.stream").is(t, 200)
		read, err := ipc.NewReader(strings.NewReader(a.text))
		if err != nil || !read.Next() || read.RecordBatch().NumRows() != 2 ||
			read.RecordBatch().Column(0).ValueStr(1) != "grace@example.com" {
			t.Errorf("Arrow: %q, %v", a.text, err)
		}
	})
	t.Run("of a table that the connection's user cannot read, or that is away", func(t *testing.T) {
		network.Cut()
		ann.do(t, "GET", rows, nil).problem(t, 502, "upstream_failed")
		ann.do(t, "GET", strings.TrimSuffix(rows, "/rows")+"/validation/failing-rows", nil).problem(t, 502,
			"upstream_failed")
		network.Restore()
		role := "lost_on_" + table
		shop.sql(t, shop.name, `CREATE ROLE `+role+` LOGIN`)
		shop.sql(t, shop.name, `GRANT SELECT ON `+table+` TO `+role)
		credential := shop.credential("p")
		credential["username"] = role
		id := ann.create(t, connections, object{"kind": "postgres", "credential": credential}).at("id")
		people["location"].(object)["connection_id"] = id
		ownText := attach(t, people)
		shop.sql(t, shop.name, `REVOKE SELECT ON `+table+` FROM `+role)
		ann.do(t, "GET", ownText+"/rows", nil, "Accept: text/csv").problem(t, 422, "permission_denied")
		ann.do(t, "GET", ownText+"/validation/failing-rows", nil).problem(t, 422, "permission_denied")
		shop.sql(t, shop.name, `DROP TABLE `+table)
		ann.do(t, "GET", rows, nil).problem(t, 404, "table_not_found")
	})
	t.Run("and noted in the audit trail once an hour", func(t *testing.T) {
		id := strings.TrimSuffix(strings.TrimPrefix(rows, sources+"/"), "/rows")
		owner := s.user(t, "owner")
		if n := len(owner.events(t, "&type=source.read&subject="+id)); n < 1 || n > 2 { // an hour may have begun
			t.Errorf("%d events", n)
		}
	})
	t.Run("until the connection is revoked", func(t *testing.T) {
		shop.sql(t, shop.name, `CREATE VIEW endless AS SELECT 'user' || g || '@example.com' AS email
			FROM (SELECT generate_series(1, 1000000000) AS g) AS s`)
		shop.sql(t, shop.name, `GRANT SELECT ON endless TO PUBLIC`)
		ownID := ann.create(t, connections, shop.connection("p")).at("id")
		endless := shop.people(t, ownID)
		endless["location"].(object)["table"] = "endless"
		rows := attach(t, endless) + "/rows?fields=email"
		in, end := openRows(t, ann, rows)
		defer end()
		begin := time.Now()
		ann.do(t, "DELETE", connections+"/"+ownID, nil).is(t, 200)
		in.endsByRevocation(t)
		proof.Within(t, "a revoked stream", time.Since(begin), 2*time.Second)
		ann.do(t, "GET", rows, nil).problem(t, 409, "source_paused")
	})
}
