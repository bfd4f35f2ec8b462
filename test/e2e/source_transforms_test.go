package e2e

import (
	"testing"
)

// rowsAreTransformed maps columns with transformations, and reads what they make of the rows of files and tables.
func rowsAreTransformed(t *testing.T, ann *client, shop *shopWarehouse, connection string) {
	s := ann.server
	put(t, s, "guests.csv", "Mail;Who;Since\n ADA@Example.com ;LOVELACE, ada;03/04/2026\ngrace@example.com;Hopper;x\n")
	mapping := []object{
		{"field": "email", "column": "Mail", "transform": object{"trim": true, "case": "lower"}},
		{"field": "first_name", "column": "Who", "transform": object{"case": "title",
			"split": object{"part": "rest", "separator": ","}}},
		{"field": "last_name", "column": "Who", "transform": object{"case": "title",
			"split": object{"part": "first", "separator": ","}}},
		{"field": "full_name", "column": "Who", "transform": object{"join": object{"columns": []string{"Since"}}}},
	}
	t.Run("a preview shows values before and after", func(t *testing.T) {
		ann.do(t, "POST", sources+"/transform-preview", object{"type": "contacts", "backend": "sheet",
			"columns": []string{"Mail", "Who", "Since"}, "mapping": mapping,
			"rows": [][]any{{" ADA@Example.com ", "LOVELACE, ada", nil}, {"x", nil}}}).is(t, 200).has(t, map[string]string{
			"rows.0.0": `{"after":"ada@example.com","before":[" ADA@Example.com "],"code":null,"field":"email"}`,
			"rows.0.1": `{"after":"Ada","before":["LOVELACE, ada"],"code":null,"field":"first_name"}`,
			"rows.0.3": `{"after":"LOVELACE, ada","before":["LOVELACE, ada",null],"code":null,"field":"full_name"}`,
			"rows.1.0": `{"after":null,"before":["x"],"code":"wrong_type","field":"email"}`,
			"rows.1.2": `{"after":null,"before":[null],"code":null,"field":"last_name"}`,
		})
	})
	response := ann.create(t, sources, object{"type": "contacts", "location": object{"url": "file:guests.csv",
		"header_row": 1}, "mapping": mapping})
	id := response.at("id")
	t.Run("they are remembered with the mapping, and rows and changes of the mapping apply them", func(t *testing.T) {
		ann.get(t, sources+"/"+id).has(t, map[string]string{
			"mapping.0.transform":              `{"case":"lower","trim":true}`,
			"mapping.1.transform.split":        `{"part":"rest","separator":","}`,
			"mapping.3.transform.join":         `{"columns":["Since"],"separator":" "}`,
			"mapping_report.unmapped_columns":  `[]`,
			"mapping_report.warnings":          `[]`,
			"mapping_report.unmapped_required": `[]`,
		})
		ann.get(t, sources+"/"+id+"/rows").has(t, map[string]string{
			"data.0": `{"email":"ada@example.com","first_name":"Ada","full_name":"LOVELACE, ada 03/04/2026","last_name":"Lovelace"}`,
			"data.1": `{"email":"grace@example.com","first_name":null,"full_name":"Hopper x","last_name":"Hopper"}`,
		})
		ann.get(t, sources+"/"+id+"/rows?filter[last_name]=Lovelace&fields=first_name").has(t,
			map[string]string{"data": `[{"first_name":"Ada"}]`})
		ann.get(t, sources+"/"+id+"/rows?raw=true&limit=1").has(t, map[string]string{
			"data.0.email": " ADA@Example.com ", "data.0.first_name": "LOVELACE, ada"})
		ann.do(t, "PUT", sources+"/"+id, object{"mapping": mapping[:2]}).is(t, 200).has(t, map[string]string{
			"rows.0.email": "ada@example.com", "rows.0.first_name": "Ada"})
	})
	t.Run("one that does not fit its field is refused", func(t *testing.T) {
		invalid := ann.do(t, "PUT", sources+"/"+id, object{"mapping": []object{{"field": "email", "column": "Mail",
			"transform": object{"decimal": "comma", "join": object{"columns": []string{"Nothing"}}}}}}).
			problem(t, 422, "mapping_invalid").wrong()
		if len(invalid) != 2 || invalid[0] != "/mapping/0/transform/decimal not_allowed_value" ||
			invalid[1] != "/mapping/0/transform/join/columns unknown_column" {
			t.Errorf("%q", invalid)
		}
	})
	t.Run("a database looks for the values of a format", func(t *testing.T) {
		shop.sql(t, shop.name, `CREATE TABLE joined (email TEXT UNIQUE, day INT)`)
		shop.sql(t, shop.name, `INSERT INTO joined VALUES ('ada@example.com', 5012024), ('bob@example.com', 6012024)`)
		rows := sources + "/" + ann.create(t, sources, object{"type": "contacts", "location": object{
			"connection_id": connection, "schema": "public", "table": "joined"}, "mapping": []object{
			{"field": "email", "column": "email"},
			{"field": "created_at", "column": "day", "transform": object{"format": "DDMMYYYY"}}}}).at("id") + "/rows"
		ann.get(t, rows+"?filter[created_at]=2024-01-05&fields=created_at").has(t, map[string]string{
			"data": `[{"created_at":"2024-01-05T00:00:00"}]`, "filtered_by": "source"})
		ann.get(t, rows+"?filter[created_at][gt]=2024-01-05&fields=email").has(t, map[string]string{
			"data": `[{"email":"bob@example.com"}]`, "filtered_by": "atrium"})
	})
	t.Run("a table's columns are joined", func(t *testing.T) {
		people := shop.people(t, connection)
		people["mapping"] = []object{{"field": "email", "column": "email"},
			{"field": "full_name", "column": "First Name", "transform": object{"case": "upper",
				"join": object{"columns": []string{"email"}, "separator": " – "}}}}
		rows := sources + "/" + ann.create(t, sources, people).at("id") + "/rows"
		ann.get(t, rows+"?limit=1").has(t, map[string]string{
			"data": `[{"email":"ada@example.com","full_name":"ADA – ADA@EXAMPLE.COM"}]`, "has_more": "true"})
	})
}
