package rows

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// read returns the batches of an Arrow stream as JSON, and its schema.
func read(t *testing.T, stream *bytes.Buffer) (rows []string, schema string, batches int) {
	t.Helper()
	r, err := ipc.NewReader(stream)
	require.NoError(t, err)
	defer r.Release()
	for r.Next() {
		batches++
		var out bytes.Buffer
		require.NoError(t, array.RecordToJSON(r.RecordBatch(), &out))
		rows = append(rows, strings.Split(strings.TrimSpace(out.String()), "\n")...)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	for _, f := range r.Schema().Fields() {
		schema += f.Name + ":" + f.Type.String() + " "
	}
	return rows, strings.TrimSpace(schema), batches
}

var arrowFields = []column.Field{{Key: "email", Type: column.Email}, {Key: "stock", Type: column.Integer},
	{Key: "price", Type: column.Number}, {Key: "active", Type: column.Boolean}, {Key: "born", Type: column.Date},
	{Key: "seen", Type: column.DateTime}, {Key: "more", Type: column.JSON}}

func TestArrowHasTheTypesOfTheFields(t *testing.T) {
	var out bytes.Buffer
	f := newArrowRows(&out, arrowFields, rowOptions{report: true})
	values := []column.Value{column.TextValue("ada@example.com"), {Kind: column.Numeral, Text: "42"},
		{Kind: column.Numeral, Text: "1234.5"}, {Kind: column.Truth, Text: "true"}, column.TextValue("1815-12-10"),
		column.TextValue("2026-03-14T10:00:00"), {Kind: column.JSONDocument, Text: `{"a":1}`}}
	tooLarge := []column.Value{1: {Kind: column.Numeral, Text: "9223372036854775808"}, 6: {}}
	for _, row := range []sources.Row{{Values: values},
		{Values: tooLarge, Invalid: []sources.InvalidValue{{Field: "email", Code: column.Ambiguous}}}} {
		require.NoError(t, f.row(row))
	}
	require.NoError(t, f.end())
	rows, schema, _ := read(t, &out)
	want := "email:utf8 stock:int64 price:float64 active:bool born:date32 seen:utf8 more:utf8 $invalid:utf8"
	assert.Equal(t, "the schema", schema, want)
	var got []map[string]any
	for _, row := range rows {
		var one map[string]any
		require.NoError(t, json.Unmarshal([]byte(row), &one))
		got = append(got, one)
	}
	if len(got) != 2 || got[0]["stock"] != 42.0 || got[0]["price"] != 1234.5 || got[0]["active"] != true ||
		got[0]["born"] != "1815-12-10" || got[0]["seen"] != "2026-03-14T10:00:00" || got[0]["more"] != `{"a":1}` ||
		got[0]["$invalid"] != nil {
		t.Errorf("%v", rows)
	}
	if got[1]["stock"] != nil || got[1]["$invalid"] != `{"email":"ambiguous","stock":"wrong_type"}` {
		t.Errorf("an integer that does not fit: %v", rows[1])
	}
}

func TestArrowWithoutRowsHasASchema(t *testing.T) {
	var out bytes.Buffer
	f := newArrowRows(&out, arrowFields, rowOptions{raw: true})
	require.NoError(t, f.end())
	if rows, schema, _ := read(t, &out); len(rows) > 0 || !strings.Contains(schema, "stock:utf8") {
		t.Errorf("%v, %s", rows, schema)
	}
}

func TestArrowIsWrittenInBatches(t *testing.T) {
	var out bytes.Buffer
	f := newArrowRows(&out, arrowFields[:1], rowOptions{})
	for range arrowRows + 1 {
		require.NoError(t, f.row(sources.Row{Values: []column.Value{column.TextValue("ada@example.com")}}))
	}
	require.NoError(t, f.end())
	if rows, _, batches := read(t, &out); len(rows) != arrowRows+1 || batches != 2 {
		t.Errorf("%d rows in %d batches", len(rows), batches)
	}
}
