package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// compared waits until a source has a number of changes, and returns them.
func compared(t *testing.T, c *client, path string, changes int) *answer {
	t.Helper()
	return proof.Await(t, fmt.Sprint(changes, " changes"), func() *answer { return c.get(t, path+"/changes") },
		func(found *answer) bool { return len(found.items(t)) == changes })
}

// TestRemovedRowsAreReported reads the rows of a table as an application does that keeps a copy of them.
func TestRemovedRowsAreReported(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		ann, shop := s.user(t, "member"), newShop(t)
		people := shop.people(t, ann.create(t, connections, shop.connection(fixture.Canary)).at("id"))
		people["mapping"] = []object{{"field": "email", "column": "email"},
			{"field": "first_name", "column": "First Name"}}
		table := people["location"].(object)["table"].(string)
		id := ann.create(t, sources, people).at("id")
		refreshed(t, ann, id)
		path := sources + "/" + id
		rows := path + "/rows?fields=first_name"
		ann.do(t, "GET", rows+"&ids=true", nil).problem(t, 422, "rows_not_compared")
		ann.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200)
		compared(t, ann, path, 1)
		all := ann.get(t, rows+"&ids=true") // Ada, Emmy and one without a name
		ada, emmy := all.at("data.0.$id"), all.at("data.1.$id")
		if len(ada) != 16 || len(emmy) != 16 || ada == emmy || all.at("removed") != "[]" {
			t.Fatal(all)
		}
		csv := ann.do(t, "GET", rows+"&ids=true&filter[first_name]=Ada", nil, "Accept: text/csv").is(t, 200).text
		assert.Equal(t, "csv", csv, "first_name,$id\r\nAda,"+ada+"\r\n")
		shop.sql(t, shop.name, `DELETE FROM `+table+` WHERE email = 'emmy@example.com'`)
		shop.sql(t, shop.name, `UPDATE `+table+` SET "First Name" = 'Augusta' WHERE email = 'ada@example.com'`)
		ann.do(t, "PATCH", path, object{"change_key": nil}).is(t, 200)
		ann.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200) // compares, as a refresh does
		cursor := compared(t, ann, path, 2).has(t, map[string]string{"data.0.removed": "1"}).at("data.0.cursor")
		shop.sql(t, shop.name, `INSERT INTO `+table+` VALUES ('zoe@example.com', 'Zoe', 1)`)
		text := rows + "&ids=true&removed=true&since=" + cursor
		first := ann.get(t, text+"&limit=1").has(t, map[string]string{"removed": `["` + emmy + `"]`,
			"data": `[{"$id":"` + ada + `","first_name":"Augusta"}]`, "has_more": "true"})
		ann.get(t, text+"&limit=1&cursor="+first.at("next_cursor")).has(t, map[string]string{"removed": "[]",
			"data.0.first_name": "Zoe", "has_more": "false"})
		lines := ann.do(t, "GET", text+"&filter[first_name]=Augusta", nil, "Accept: application/x-ndjson").is(t, 200)
		if want := `{"$removed":"` + emmy + `"}` + "\n" + `{"first_name":"Augusta","$id":"` + ada + `"}` +
			"\n"; lines.text != want {
			t.Errorf("%q, want %q", lines.text, want)
		}
		for _, accept := range []string{"text/csv", "application/vnd.apache.arrow.stream"} {
			ann.do(t, "GET", text, nil, "Accept: "+accept).problem(t, 400, "invalid_parameter")
		}
		ann.do(t, "GET", rows+"&removed=true", nil).problem(t, 400, "invalid_parameter")
		ann.do(t, "GET", rows+"&ids=true&raw=true", nil).problem(t, 400, "invalid_parameter")
	})
}

// rowsAreCompared follows the changes of a file's rows.
func rowsAreCompared(t *testing.T, ann *client) {
	s := ann.server
	put(t, s, "guild.csv", "Mail;Name\nada@example.com;Ada\nbob@example.com;Bob\ncy@example.com;Cy\n")
	id := ann.create(t, sources, object{"type": "contacts",
		"location": object{"url": "file:guild.csv", "header_row": 1},
		"mapping":  []object{{"field": "email", "column": "Mail"}, {"field": "first_name", "column": "Name"}}}).at("id")
	path := sources + "/" + id
	refreshed(t, ann, id)
	ann.get(t, path).has(t, map[string]string{"change_key": "null"})
	ann.do(t, "PATCH", path, object{"change_key": "phone"}).problem(t, 422, "invalid_fields")
	s.user(t, "viewer").do(t, "PATCH", path, object{"change_key": "email"}).problem(t, 403, "source_forbidden")
	ann.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200).has(t, map[string]string{"change_key": "email"})
	first := compared(t, ann, path, 1).has(t, map[string]string{"data.0.first": "true", "data.0.rows": "3",
		"data.0.added": "0"}).at("data.0.cursor")
	put(t, s, "guild.csv", "Mail;Name\nada@example.com;Ada\nbob@example.com;Robert\ndee@example.com;Dee\n")
	t.Run("rows are compared with the last comparison as they are read", func(t *testing.T) {
		ann.get(t, path+"/rows?since="+first).has(t, map[string]string{
			"data": `[{"email":"bob@example.com","first_name":"Robert"},{"email":"dee@example.com","first_name":"Dee"}]`})
		ann.do(t, "GET", path+"/rows?since="+first+"9", nil).problem(t, 400, "invalid_cursor")
		ann.do(t, "GET", path+"/rows?raw=true&since="+first, nil).problem(t, 400, "invalid_parameter")
	})
	t.Run("a refresh counts the changes, and the event has the cursor that finds them", func(t *testing.T) {
		ann.do(t, "PATCH", path, object{"change_key": nil}).is(t, 200)
		ann.do(t, "PATCH", path, object{"change_key": "email"}).is(t, 200) // compares, as a refresh does
		compared(t, ann, path, 2).has(t, map[string]string{"data.0.added": "1", "data.0.changed": "1",
			"data.0.removed": "1", "data.0.rows": "3", "data.0.first": "false"})
		events := s.user(t, "owner").get(t, "/api/events?type=source.rows_changed&subject="+id)
		cursor := events.at("data.0.data.cursor")
		ann.get(t, path+"/rows?fields=email&since="+cursor).has(t,
			map[string]string{"data": `[{"email":"bob@example.com"},{"email":"dee@example.com"}]`})
		if strings.Contains(events.text, "example.com") {
			t.Error("a value is in the event")
		}
	})
	t.Run("another mapping is compared from the beginning", func(t *testing.T) {
		ann.do(t, "PUT", path, object{"mapping": []object{{"field": "email", "column": "Mail"}}}).is(t, 200)
		ann.do(t, "GET", path+"/rows?since="+first, nil).problem(t, 409, "source_changed")
		compared(t, ann, path, 3).has(t, map[string]string{"data.0.first": "true"}) // after the refresh of the mapping
	})
}
