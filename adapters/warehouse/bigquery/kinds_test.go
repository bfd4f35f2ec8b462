package bigquery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// documented are the types of https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types.
var documented = []string{"ARRAY", "BOOL", "BYTES", "DATE", "DATETIME", "GEOGRAPHY", "INTERVAL", "JSON", "INT64",
	"NUMERIC", "BIGNUMERIC", "FLOAT64", "RANGE", "STRING", "STRUCT", "TIME", "TIMESTAMP"}

// schemas are the members of a field of a type but its name
// (https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema).
var schemas = map[string]string{
	"INT64": `"type": "INTEGER"`, "FLOAT64": `"type": "FLOAT"`, "BOOL": `"type": "BOOLEAN"`,
	"ARRAY<BYTES>": `"type": "BYTES", "mode": "REPEATED"`, "ARRAY<INT64>": `"type": "INTEGER", "mode": "REPEATED"`,
	"ARRAY<RANGE<TIMESTAMP>>": `"type": "RANGE", "mode": "REPEATED", "rangeElementType": {"type": "TIMESTAMP"}`,
	"RANGE<DATE>":             `"type": "RANGE", "rangeElementType": {"type": "DATE"}`,
	"RANGE<TIMESTAMP>":        `"type": "RANGE", "rangeElementType": {"type": "TIMESTAMP"}`,
	"TIMESTAMP(12)":           `"type": "TIMESTAMP", "timestampPrecision": "12"`,
	"STRUCT<…>": `"type": "RECORD", "fields": [{"name": "n", "type": "INTEGER"}, {"name": "rate", "type": "FLOAT"},
		{"name": "at", "type": "TIMESTAMP"}, {"name": "raw", "type": "BYTES"}, {"name": "tags", "type": "STRING",
		"mode": "REPEATED"}, {"name": "doc", "type": "JSON"}, {"name": "inner", "type": "RECORD",
		"fields": [{"name": "big", "type": "BIGNUMERIC"}]}]`,
}

const most38 = "99999999999999999999999999999.999999999"

// samples have the values v as https://cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/list has them; nil is
// NULL, and an empty array in its place.
var samples = []warehouses.Kind{
	{Type: "INT64", Field: column.Integer, Samples: []warehouses.Sample{
		{`"9223372036854775807"`, "9223372036854775807"}, {`"-9223372036854775808"`, "-9223372036854775808"}, {nil, "null"}}},
	{Type: "NUMERIC", Field: column.Number, Samples: []warehouses.Sample{{`"` + most38 + `"`, most38},
		{`"-0.000000001"`, "-0.000000001"}, {nil, "null"}}},
	{Type: "BIGNUMERIC", Field: column.Number, Samples: []warehouses.Sample{
		{`"0.00000000000000000000000000000000000001"`, "0.00000000000000000000000000000000000001"},
		{`"578960446186580977117854925043439539266.34992332820282019728792003956564819967"`,
			"578960446186580977117854925043439539266.34992332820282019728792003956564819967"}, {nil, "null"}}},
	{Type: "BIGNUMERIC", Field: column.Integer, Samples: []warehouses.Sample{{`"99999999999999999999"`, "!wrong_type"}}},
	{Type: "FLOAT64", Field: column.Number, Samples: []warehouses.Sample{{`"0.1"`, "0.1"}, {`"0.30000000000000004"`,
		"0.30000000000000004"}, {`"1.7976931348623157E308"`, "1.7976931348623157e+308"}, {`"4.9E-324"`, "5e-324"},
		{`"NaN"`, "!wrong_type"}, {`"Infinity"`, "!wrong_type"}, {`"-Infinity"`, "!wrong_type"}, {nil, "null"}}},
	{Type: "FLOAT64", Field: column.Integer, Samples: []warehouses.Sample{{`"4.611686018427388E18"`,
		"4611686018427387904"}, {`"0.5"`, "!wrong_type"}}},
	{Type: "BOOL", Field: column.Boolean, Samples: []warehouses.Sample{{`"true"`, "true"}, {`"false"`, "false"},
		{nil, "null"}}},
	{Type: "STRING", Field: column.String, Samples: []warehouses.Sample{{`""`, "null"}, {`"n/a"`, `"n/a"`},
		{`"𝄞\u0000"`, `"𝄞\u0000"`}, {nil, "null"}}},
	{Type: "BYTES", Field: column.String, Samples: []warehouses.Sample{{`"AP8="`, `"0x00ff"`}, {`""`, `"0x"`},
		{nil, "null"}}},
	{Type: "BYTES", Field: column.Integer, Samples: []warehouses.Sample{{`"MTI="`, "!wrong_type"}}},
	{Type: "DATE", Field: column.Date, Samples: []warehouses.Sample{{`"0001-01-01"`, `"0001-01-01"`},
		{`"9999-12-31"`, `"9999-12-31"`}, {nil, "null"}}},
	{Type: "DATETIME", Field: column.DateTime, Samples: []warehouses.Sample{
		{`"0001-01-01T00:00:00"`, `"0001-01-01T00:00:00"`},
		{`"9999-12-31T23:59:59.999999"`, `"9999-12-31T23:59:59.999999"`}, {nil, "null"}}},
	{Type: "TIME", Field: column.String, Samples: []warehouses.Sample{{`"23:59:59.999999"`, `"23:59:59.999999"`},
		{`"00:00:00"`, `"00:00:00"`}, {nil, "null"}}},
	{Type: "TIMESTAMP", Field: column.DateTime, Samples: []warehouses.Sample{
		{`"1767323045123456"`, `"2026-01-02T03:04:05.123456Z"`}, {`"-62135596800000000"`, `"0001-01-01T00:00:00Z"`},
		{`"253402300799999999"`, `"9999-12-31T23:59:59.999999Z"`}, {nil, "null"}}},
	{Type: "TIMESTAMP(12)", Field: column.DateTime, Samples: []warehouses.Sample{ // a field has at most nanoseconds
		{`"2026-01-02T03:04:05.123456789000Z"`, `"2026-01-02T03:04:05.123456789Z"`},
		{`"2026-01-02T03:04:05.123456789012Z"`, "!wrong_type"}, {nil, "null"}}},
	{Type: "TIMESTAMP(12)", Field: column.String, Samples: []warehouses.Sample{
		{`"2026-01-02T03:04:05.123456789012Z"`, `"2026-01-02 03:04:05.123456789012 UTC"`},
		{`"2026-01-02T03:04:05.000000000000Z"`, `"2026-01-02 03:04:05 UTC"`}}},
	{Type: "INTERVAL", Field: column.String, Samples: []warehouses.Sample{
		{`"-10000-0 3660000 87840000:0:0.000001"`, `"-10000-0 3660000 87840000:0:0.000001"`}, {nil, "null"}}},
	{Type: "GEOGRAPHY", Field: column.String, Samples: []warehouses.Sample{{`"POINT(1 2)"`, `"POINT(1 2)"`},
		{nil, "null"}}},
	{Type: "JSON", Field: column.JSON, Samples: []warehouses.Sample{{`"{\"a\":9007199254740993}"`,
		`{"a":9007199254740993}`}, {`"null"`, "null"}, {nil, "null"}}},
	{Type: "RANGE<DATE>", Field: column.String, Samples: []warehouses.Sample{
		{`"[2020-01-01, 2020-12-31)"`, `"[2020-01-01, 2020-12-31)"`},
		{`"[UNBOUNDED, UNBOUNDED)"`, `"[UNBOUNDED, UNBOUNDED)"`}, {nil, "null"}}},
	{Type: "RANGE<TIMESTAMP>", Field: column.String, Samples: []warehouses.Sample{
		{`"[1767323045123456, UNBOUNDED)"`, `"[2026-01-02 03:04:05.123456 UTC, UNBOUNDED)"`}, {nil, "null"}}},
	{Type: "ARRAY<BYTES>", Field: column.JSON, Samples: []warehouses.Sample{{`[{"v": "AP8="}, {"v": ""}]`,
		`["0x00ff","0x"]`}, {`[]`, "[]"}}},
	{Type: "ARRAY<INT64>", Field: column.JSON, Samples: []warehouses.Sample{{`[{"v": "9223372036854775807"}]`,
		"[9223372036854775807]"}}},
	{Type: "ARRAY<RANGE<TIMESTAMP>>", Field: column.JSON, Samples: []warehouses.Sample{{`[{"v": "[0, 1000000)"}]`,
		`["[1970-01-01 00:00:00 UTC, 1970-01-01 00:00:01 UTC)"]`}}},
	{Type: "STRUCT<…>", Field: column.JSON, Samples: []warehouses.Sample{{nil, "null"},
		{`{"f": [{"v": "1"}, {"v": "Infinity"}, {"v": "0"}, {"v": "AP8="}, {"v": [{"v": "1"}]}, {"v": "{}"},
			{"v": {"f": [{"v": "0.1"}]}}]}`, `{"at":"1970-01-01 00:00:00 UTC","doc":{},"inner":{"big":0.1},"n":1,` +
			`"rate":"Infinity","raw":"0x00ff","tags":["1"]}`},
		{`{"f": [{"v": null}, {"v": null}, {"v": null}, {"v": null}, {"v": []}, {"v": "null"}, {"v": null}]}`,
			`{"at":null,"doc":null,"inner":null,"n":null,"rate":null,"raw":null,"tags":[]}`}}},
}

func TestRowsReturnEachValueOfEachType(t *testing.T) {
	b := newServer(t, hosted.Authority)
	database := target(t, portOf(b.Server), nil)
	warehouses.EveryKind(t, hosted.Direct(t), database, documented, samples,
		func(kind warehouses.Kind) connection.TableRef {
			schema, found := schemas[kind.Type]
			if !found {
				schema = `"type": "` + kind.Type + `"`
			}
			var rows []string
			for _, sample := range kind.Samples {
				v := "null"
				if sample[0] != nil {
					v = sample[0].(string)
				}
				rows = append(rows, `{"f": [{"v": `+v+`}]}`)
			}
			name := fmt.Sprint("t", len(b.Datasets["shop"]))
			b.Datasets["shop"][name] = fixture.BigQueryTable{Type: "TABLE", Schema: `[{"name": "v", ` + schema + `}]`,
				Rows: "[" + strings.Join(rows, ", ") + "]"}
			return ref(name)
		})
}
