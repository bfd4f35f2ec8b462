package db

import (
	"strings"
	"testing"
)

func TestAPackedRowWithAnotherNumberOfPartsIsNotRead(t *testing.T) {
	type row struct {
		ID   string `db:"id"`
		Name string `db:"name"`
	}
	p := Pack[row](ColumnsOf(`t.%`, ``, []string{"id", "name"}))
	for text, isRow := range map[string]bool{"1\x1fAnn": true, "1\x1f": true, "1": false, "1\x1fAnn\x1fLee": false} {
		var r row
		if p.Unpack(text, &r) != isRow {
			t.Errorf("%q was read: %v, as %+v", text, !isRow, r)
		}
	}
}

func TestARowWithoutTheRowOfAJoinHasZerosOrCannotBeRead(t *testing.T) {
	type row struct {
		ID    string `db:"id"`
		Name  string `db:"name"`
		Count int    `db:"count"`
		IsOn  bool   `db:"is_on"`
	}
	p := Pack[row](ColumnsOf(`t.%`, ``, []string{"id"}),
		PackedJoin{Table: `users u`, On: `u.id = t.id`, Columns: ColumnsOf(`u.%`, ``, []string{"name"})},
		PackedJoin{Table: `parts p`, On: `p.id = t.id`, Columns: ColumnsOf(`p.%`, ``, []string{"count", "is_on"}),
			IsLeft: true, Index: `parts_by_id`})
	const (
		columns = `t.id AS "id", u.name AS "name", COALESCE(p.count, 0) AS "count", COALESCE(p.is_on, FALSE) AS "is_on"`
		joins   = ` JOIN users u ON u.id = t.id LEFT JOIN parts p ON p.id = t.id`
		joined  = `concat_ws('` + separator + `', t.id, u.name, COALESCE(p.count, 0), COALESCE(p.is_on, FALSE))`
	)
	if p.Columns != columns || p.Joins != joins || p.joined != joined {
		t.Errorf("%s\n%s\n%q", p.Columns, p.Joins, p.joined)
	}
	if p.sqliteJoins != strings.Replace(joins, "parts p", "parts p INDEXED BY parts_by_id", 1) {
		t.Error(p.sqliteJoins)
	}
	var r row
	if !p.Unpack("1\x1fAnn\x1f0\x1fFALSE", &r) || r != (row{ID: "1", Name: "Ann"}) {
		t.Errorf("without parts: %+v", r)
	}
	if !strings.Contains(p.Text, "FROM users u WHERE u.id = t.id), '"+strings.Repeat(separator, len(p.fields))) {
		t.Errorf("%q can be read without a user", p.Text)
	}
}
