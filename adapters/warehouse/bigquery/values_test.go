package bigquery_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestATextThatIsEqualToOthersIsNoKey(t *testing.T) {
	b := newServer(t, hosted.Authority)
	b.Datasets["shop"]["collated"] = fixture.BigQueryTable{Type: "TABLE", Schema: `[{"name": "n", "type": "INTEGER"},
		{"name": "word", "type": "STRING", "collation": "und:ci"}]`, Rows: `[]`}
	w, remote := hosted.Direct(t), target(t, portOf(b.Server), nil)
	p, err := w.Preview(t.Context(), remote, connection.PreviewQuery{Table: ref("collated")})
	if err != nil || p.Columns[0].Unordered || !p.Columns[1].Unordered {
		t.Errorf("columns %+v, %v", p.Columns, err)
	}
	q := connection.RowsQuery{Table: ref("collated"), Columns: []string{"word"}, Key: "word", Limit: 1}
	assert.ErrorIs(t, w.Rows(t.Context(), remote, q, nil), connection.KeyUnsupported)
}

func TestValuesAreExactInTheTypeOfTheirFieldOrReported(t *testing.T) {
	b := newServer(t, hosted.Authority)
	b.Datasets["shop"]["exact"] = fixture.BigQueryTable{Type: "TABLE",
		Schema: `[{"name": "n", "type": "INTEGER"}, {"name": "rate", "type": "FLOAT"}, {"name": "big",
			"type": "BIGNUMERIC"}, {"name": "ok", "type": "BOOLEAN"}, {"name": "tags", "type": "STRING", "mode": "REPEATED"},
			{"name": "numbers", "type": "INTEGER", "mode": "REPEATED"}, {"name": "pair", "type": "RECORD", "fields": [
			{"name": "n", "type": "INTEGER"}, {"name": "ok", "type": "BOOLEAN"}, {"name": "rate", "type": "FLOAT"},
			{"name": "doc", "type": "JSON"}]}, {"name": "doc", "type": "JSON"}]`,
		Rows: `[{"f": [{"v": "1"}, {"v": "NaN"}, {"v": "99999999999999999999"}, {"v": "true"}, {"v": [{"v": "a"},
			{"v": "1"}]}, {"v": [{"v": "9007199254740993"}]}, {"v": {"f": [{"v": "1"}, {"v": "true"}, {"v": "NaN"},
				{"v": "{\"a\":1}"}]}},
			{"v": "[]"}]},
			{"f": [{"v": "2"}, {"v": "1e+300"}, {"v": null}, {"v": "false"}, {"v": []}, {"v": []}, {"v": null},
				{"v": "null"}]}]`}
	recipient := target(t, portOf(b.Server), nil)
	warehouses.Exact(t, hosted.Direct(t), recipient, ref("exact"), []warehouses.Values{
		{Column: "rate", Field: column.Number, Want: []string{"!wrong_type", "1e+300"}},
		{Column: "big", Field: column.Number, Want: []string{"99999999999999999999", "null"}},
		{Column: "big", Field: column.Integer, Want: []string{"!wrong_type", "null"}},
		{Column: "ok", Field: column.Boolean, Want: []string{"true", "false"}},
		{Column: "tags", Field: column.JSON, Want: []string{`["a","1"]`, "[]"}},
		{Column: "numbers", Field: column.JSON, Want: []string{"[9007199254740993]", "[]"}},
		{Column: "pair", Field: column.JSON, Want: []string{`{"doc":{"a":1},"n":1,"ok":true,"rate":"NaN"}`, "null"}},
		{Column: "doc", Field: column.JSON, Want: []string{"[]", "null"}},
	})
}
