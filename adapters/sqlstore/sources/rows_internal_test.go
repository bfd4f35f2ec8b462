package sources

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestColumnsAndMappingsAreReadAsByEncodingJSON(t *testing.T) {
	for _, text := range []string{"a", "", `"`, `\`, `","`, "é🍵", "<&>\u2028\n", `{"name":`, `},{"field":"x`, `]`} {
		columns := []column.Header{{Name: text, Column: "A", Type: column.Email}, {Name: "b", Type: column.String},
			{Name: text + "c", Column: text, Type: column.Integer, Empty: true},
			{Name: "d", Type: column.JSON, Unordered: true}, {Name: "e", Empty: true, Unordered: true}}
		array, err := db.EncodeList(columns, func(h column.Header) headerRow { return headerRow(h) })
		require.NoError(t, err)
		if got, err := headers(array); err != nil || !slices.Equal(got, columns) {
			t.Errorf("%s: %+v, %v", array, got, err)
		}
		mapping := []source.Pair{{Field: "email", Column: text}, {Field: text, Column: "b"}}
		array, err = db.EncodeList(mapping, func(p source.Pair) pairRow { return pairRow{p.Field, p.Column} })
		if err != nil {
			t.Fatal(err)
		}
		got, err := pairs(array)
		if err != nil || !slices.EqualFunc(got, mapping, func(a, b source.Pair) bool {
			return a.Field == b.Field && a.Column == b.Column
		}) {
			t.Errorf("%s: %+v, %v", array, got, err)
		}
	}
	if got, err := headers(` [ {"type":"email", "name":"a"} ] `); err != nil || len(got) != 1 || got[0].Name != "a" ||
		got[0].Type != column.Email {
		t.Errorf("JSON that is written in another way: %+v, %v", got, err)
	}
	if got, err := headers("[]"); got != nil || err != nil {
		t.Errorf("no columns: %+v, %v", got, err)
	}
	for _, array := range []string{"", "x", `[{"name":"a"`, `[{"name":"a\"}]`, `[{"name":"a","type":"email"}`,
		`[{"name":"a","type":"email"}]]`, `[{"name":1,"type":"email"}]`} {
		if got, err := headers(array); err == nil {
			t.Errorf("%s: %+v", array, got)
		}
	}
}
