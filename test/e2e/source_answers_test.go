package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestWhatKeepsASourceFromBeingRead checks the responses if a warehouse or a host is unreachable, denies access, or has
// no table.
func TestWhatKeepsASourceFromBeingRead(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	ann := s.user(t, "member")
	shop, network := newShop(t).through(t)
	connection := ann.create(t, connections, shop.connection(fixture.Canary)).at("id")
	body := shop.people(t, connection)
	id := ann.create(t, sources, body).at("id")
	refreshed(t, ann, id) // or it would be while the warehouse is away
	mapping := object{"mapping": []object{{"field": "email", "column": "email"}}}
	table := sources + "/warehouse-preview?schema=public&table=" + body["location"].(object)["table"].(string) +
		"&connection_id="

	t.Run("a warehouse that is unreachable", func(t *testing.T) {
		other := shop.people(t, connection)
		network.Cut()
		defer network.Restore()
		ann.do(t, "POST", sources, other).problem(t, 502, "upstream_failed")
		ann.do(t, "PUT", sources+"/"+id, mapping).problem(t, 502, "upstream_failed")
		ann.do(t, "GET", table+connection, nil).problem(t, 502, "upstream_failed")
		ann.get(t, sources+"/"+id).has(t, map[string]string{"status": "active", "mapping_report.matched": "1",
			"revision": "1"})
	})
	t.Run("a table that the connection's user cannot read", func(t *testing.T) {
		reader := "reader_of_" + shop.name
		shop.sql(t, shop.name, `CREATE ROLE `+reader+` LOGIN`)
		shop.sql(t, shop.name, `GRANT SELECT ON orders TO `+reader)
		credential := shop.credential(fixture.Canary)
		credential["username"] = reader
		proxyID := ann.create(t, connections, object{"kind": "postgres", "credential": credential}).at("id")
		ann.do(t, "GET", table+proxyID, nil).problem(t, 422, "permission_denied")
	})
	t.Run("a key by which the database cannot order rows", func(t *testing.T) {
		places := "places_of_" + shop.people(t, connection)["location"].(object)["table"].(string)
		shop.sql(t, shop.name, `CREATE TABLE `+places+` AS SELECT point '(1,2)' AS spot, 'ada@example.com' AS email`)
		ann.get(t, sources+"/warehouse-preview?schema=public&table="+places+"&connection_id="+connection).has(t,
			map[string]string{"columns.0.sortable": "false", "columns.1.sortable": "true"})
		bySpot := []object{{"field": "full_name", "column": "email"}, {"field": "email", "column": "spot"}}
		body := object{"type": "contacts", "location": object{"connection_id": connection, "schema": "public",
			"table": places}, "mapping": mapping["mapping"]}
		ownText := sources + "/" + ann.create(t, sources, body).at("id")
		body["mapping"] = bySpot
		for name, got := range map[string]*answer{
			"attach": ann.do(t, "POST", sources, body), "map": ann.do(t, "PUT", ownText, object{"mapping": bySpot}),
		} {
			fields := got.problem(t, 422, "key_unsupported").wrong()
			if !slices.Equal(fields, []string{"/mapping/1/column key_unsupported"}) {
				t.Errorf("%s: %s", name, got.text)
			}
		}
		ann.get(t, ownText+"/rows").has(t, map[string]string{"data": `[{"email":"ada@example.com"}]`})
		shop.sql(t, shop.name, `ALTER TABLE `+places+` ALTER email TYPE point USING spot`)
		ann.do(t, "GET", ownText+"/rows", nil).problem(t, 422, "key_unsupported")
		ann.do(t, "GET", ownText+"/rows", nil, "Accept: application/x-ndjson").is(t, 200)
	})
	t.Run("a view with an error of its own", func(t *testing.T) {
		people := shop.people(t, connection)["location"].(object)["table"].(string)
		view := "shares_of_" + people
		shop.sql(t, shop.name, `CREATE VIEW `+view+` AS SELECT email || 1 / visits AS email FROM `+people)
		body := object{"type": "contacts", "location": object{"connection_id": connection, "schema": "public",
			"table": view}, "mapping": mapping["mapping"]}
		id := ann.create(t, sources, body).at("id")
		refreshed(t, ann, id)
		shop.sql(t, shop.name, `UPDATE `+people+` SET visits = 0`)
		shop.sql(t, shop.name, `CREATE VIEW other_`+view+` AS SELECT * FROM `+view)
		body["location"].(object)["table"] = "other_" + view
		for name, got := range map[string]*answer{
			"attach": ann.do(t, "POST", sources, body),
			"map":    ann.do(t, "PUT", sources+"/"+id, mapping),
			"rows":   ann.do(t, "GET", sources+"/"+id+"/rows", nil),
			"preview": ann.do(t, "GET", sources+"/warehouse-preview?schema=public&table="+view+"&connection_id="+
				connection, nil),
		} {
			if got.problem(t, 422, "table_unreadable"); got.at("sqlstate") != "22012" {
				t.Errorf("%s: %s", name, got.text)
			}
		}
		ann.do(t, "POST", connections+"/"+connection+"/verify", nil).is(t, 200)
		ann.do(t, "POST", sources+"/"+id+"/refresh", nil).is(t, 202)
		failing := refreshed(t, ann, id).has(t, map[string]string{"status": "failing",
			"failure.code": "table_unreadable"})
		if hint := failing.at("failure.hint"); !strings.Contains(hint, "22012") {
			t.Error(hint)
		}
	})
	t.Run("a table with more columns than are shown", func(t *testing.T) { wideTable(t, ann, shop, connection) })
	t.Run("a table where a sheet is expected", func(t *testing.T) {
		ann.do(t, "GET", sources+"/sheet-preview?source_id="+id, nil).problem(t, 409, "not_a_sheet")
	})
	t.Run("a host that is unreachable", func(t *testing.T) {
		network.Cut()
		defer network.Restore()
		ann.do(t, "GET", sources+"/sheet-preview?url=https://"+network.Addr()+"/people.csv", nil).problem(t, 502,
			"upstream_failed")
	})
	t.Run("a file that is too large, or no table", func(t *testing.T) {
		folder := filepath.Join(s.data, "sheets")
		require.NoError(t, os.MkdirAll(folder, 0o700))
		file := func(name, begin string, size int64) {
			t.Helper()
			path := filepath.Join(folder, name)
			require.NoError(t, os.WriteFile(path, []byte(begin), 0o600))
			if err := os.Truncate(path, size); err != nil { // which leaves a hole
				t.Fatal(err)
			}
		}
		file("large.csv", "E-mail\n", source.MaxSheetBytes+1)
		file("letter.csv", "%PDF-1.7\n\x00\x01", 4096)
		codePages(t, ann, file)
		ann.do(t, "GET", sources+"/sheet-preview?url=file:large.csv", nil).problem(t, 413, "file_too_large")
		ann.do(t, "GET", sources+"/sheet-preview?url=file:letter.csv", nil).problem(t, 415, "unsupported_format")
	})
	t.Run("rows", func(t *testing.T) { rowsAreRead(t, ann, shop, network, connection) })
	t.Run("changes of rows", func(t *testing.T) { rowsAreCompared(t, ann) })
	t.Run("validations", func(t *testing.T) { rowsAreValidated(t, ann, shop, connection) })
	t.Run("transformations", func(t *testing.T) { rowsAreTransformed(t, ann, shop, connection) })
	s.stop(t)
	lookForCanary(t, s)
}

// wideTable maps a column that a preview shows only to those who search for it.
func wideTable(t *testing.T, ann *client, shop *shopWarehouse, connection string) {
	columns := make([]string, 300)
	for i := range columns {
		columns[i] = fmt.Sprintf("col_%d text", i)
	}
	shop.sql(t, shop.name, `CREATE TABLE crm (`+strings.Join(columns, ", ")+`)`)
	shop.sql(t, shop.name, `INSERT INTO crm (col_250) VALUES ('ada@example.com')`)
	table := sources + "/warehouse-preview?schema=public&table=crm&connection_id=" + connection
	ann.get(t, table).has(t, map[string]string{"columns_total": "300", "truncated": "true",
		"columns.199.name": "col_199"})
	ann.get(t, table+"&column_query=COL_25").has(t, map[string]string{"columns_total": "300", "truncated": "false",
		"columns.1.name": "col_250", "rows": `[[null,"ada@example.com",null,null,null,null,null,null,null,null,null]]`})
	id := ann.create(t, sources, object{
		"type": "contacts", "location": object{"connection_id": connection, "schema": "public", "table": "crm"},
		"mapping": []object{{"field": "email", "column": "col_250"}},
	}).at("id")
	refreshed(t, ann, id).has(t, map[string]string{"status": "active", "drift.level": "none", "columns_total": "300",
		"truncated": "true", "columns.200.name": "col_250"})
	ann.get(t, sources+"/"+id+"/rows").has(t, map[string]string{"data": `[{"email":"ada@example.com"}]`})
	for column, code := range map[string]string{"col_299": "", "col_300": "unknown_column"} {
		got := ann.do(t, "PUT", sources+"/"+id, object{"mapping": []object{{"field": "email", "column": column}}})
		if code == "" {
			got.is(t, 200)
		} else if got.problem(t, 422, "mapping_invalid").at("errors.0.code") != code {
			t.Error(got)
		}
	}
}

// codePages previews a file in a code page, and attaches it with another one.
func codePages(t *testing.T, ann *client, file func(name, begin string, size int64)) {
	t.Helper()
	const content = "\xcf\xee\xf7\xf2\xe0;\xc8\xec\xff\na@example.com;\xc8\xe2\xe0\xed\n" // Windows-1251
	file("russian.csv", content, int64(len(content)))
	preview := sources + "/sheet-preview?url=file:russian.csv&header_row=1"
	ann.get(t, preview).has(t, map[string]string{"charset": "windows-1251", "delimiter": "semicolon",
		"headers.0.name": "Почта", "rows.0.1": "Иван"})
	ann.get(t, preview+"&charset=windows-1252&delimiter=comma").has(t, map[string]string{"charset": "windows-1252",
		"headers.0.name": "Ïî÷òà;Èìÿ"})
	ann.do(t, "GET", preview+"&locale=de", nil).problem(t, 400, "invalid_parameter")
	ann.do(t, "GET", preview+"&charset=windows-1", nil).problem(t, 400, "invalid_parameter")
	response := ann.do(t, "POST", sources, object{"type": "contacts",
		"mapping": []object{{"field": "email", "column": "Ïî÷òà"}},
		"location": object{"url": "file:russian.csv", "header_row": 1, "charset": "windows-1252",
			"locale": "de-DE"}}).is(t, 201)
	response.has(t, map[string]string{"location.charset": "windows-1252", "location.locale": "de-DE",
		"columns.0.name": "Ïî÷òà"})
	ann.get(t, sources+"/sheet-preview?source_id="+response.at("id")).has(t,
		map[string]string{"charset": "windows-1252", "headers.0.name": "Ïî÷òà"})
	const unclosed = "Mail,Name\na@example.com,\"A\n"
	file("unclosed.csv", unclosed, int64(len(unclosed)))
	if p := ann.do(t, "GET", sources+"/sheet-preview?url=file:unclosed.csv", nil).problem(t, 415,
		"unsupported_format"); !strings.Contains(p.at("detail"), "line 2 ") {
		t.Errorf("detail %s", p.at("detail"))
	}
}
