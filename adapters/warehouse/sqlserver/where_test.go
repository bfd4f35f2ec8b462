package sqlserver_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// found are columns with values of which each is another one.
var found = map[string][]any{
	"tiny tinyint":        {int64(255), int64(0), int64(69), nil},
	"big bigint":          {int64(1 << 62), int64(-1), int64(0), nil},
	"sold bit":            {true, false, nil},
	"price decimal(10,2)": {"7.50", "0.00", "-0.01", "99999999.99"},
	"share decimal(2,2)":  {"0.10", "0.99", "-0.50", nil},
	"paid money":          {"922337203685477.5807", "-0.0001", "7.0000", nil},
	"cash smallmoney":     {"214748.3647", "-214748.3648", "7.0000", nil},
	"rate float":          {0.1, 0.30000000000000004, 7.0, -2.5},
	"part real":           {float64(float32(0.1)), float64(float32(52.520008)), 0.5, nil},
	"born date":           {at("0001-01-01T00:00:00Z"), at("9999-12-31T00:00:00Z"), at("2024-02-29T00:00:00Z"), nil},
	"old datetime": {at("1753-01-01T00:00:00Z"), at("2026-02-28T23:59:59.5034Z"),
		at("9999-12-31T23:59:59.9967Z")},
	"older smalldatetime":    {at("1900-01-01T00:00:00Z"), at("2026-02-28T23:59:00Z"), at("2079-06-06T23:59:00Z")},
	"stamp datetime2(3)":     {at("2026-01-02T03:04:05.123Z"), at("2026-01-02T03:04:05.124Z"), nil},
	"second datetime2(0)":    {at("2026-01-02T03:04:05Z"), at("2026-01-02T03:04:06Z"), nil},
	"seen datetimeoffset(7)": {at("2026-01-02T03:04:05.1234567+02:00"), at("2026-01-02T03:04:05-11:30"), nil},
	"id uniqueidentifier":    {"61F0C404-5CB3-11E7-907B-A6006AD3DBA0", "00000000-0000-0000-0000-000000000001", nil},
	"code char(3)":           {"ab ", "AC ", "b  ", nil},
	"name varchar(40)":       {"Ada", "ada", "Grace", "a'%_["},
	"word nvarchar(40)":      {"ä", "Ä", "𝄞 ", "B"},
	"notes nvarchar(max)":    {"mailto:ada@example.com", "b", "", nil},
	"raw varbinary(200)":     {[]byte{1}, []byte{2}, nil},
	"opens time(0)":          {at("2026-01-02T08:30:00Z"), at("2026-01-02T23:59:59Z"), nil},
	"any sql_variant":        {"1", "x", nil},
}

func TestConditionsOnAnyTypeLoseNoRow(t *testing.T) {
	s := newServer(t, fixture.SQLServerPlain)
	table := fixture.SQLServerTable{Schema: "dbo", Name: "found", Type: "U", Values: make([][]any, 4),
		Columns: []fixture.SQLServerColumn{{Name: "n", Type: "int"}}}
	for i := range table.Values {
		table.Values[i] = []any{int64(i + 1)}
	}
	compared := []string{"n"}
	for declaration, values := range found {
		name, typeName, _ := strings.Cut(declaration, " ")
		table.Columns = append(table.Columns, fixture.SQLServerColumn{Name: name, Type: typeName, Nullable: true})
		for i := range table.Values {
			table.Values[i] = append(table.Values[i], append(values, nil)[i])
		}
		if !slices.Contains([]string{"raw", "opens", "any"}, name) {
			compared = append(compared, name)
		}
	}
	s.Databases["Sales"] = append(s.Databases["Sales"], table)
	target := s.target(t, map[string]any{"tls": "disable", "tls_ca": nil})
	warehouses.Finds(t, direct(t), target, ref("found"), compared...)

	rows := func(t *testing.T, q connection.RowsQuery) (batches []column.Batch, all int) {
		q.Table, q.Limit = ref("found"), 9
		t.Helper()
		require.NoError(t, direct(t).Rows(t.Context(), target, q, func(b column.Batch) error {
			batches, all = append(batches, b), all+b.Rows.Len()
			return nil
		}))
		return batches, all
	}
	t.Run("more values than a statement takes are left to Atrium", func(t *testing.T) {
		q := connection.RowsQuery{Columns: []string{"n"}}
		for range 11 {
			many := connection.Condition{Column: "n", Type: column.Integer, Operator: column.In}
			for i := range 200 {
				many.Values = append(many.Values, new(strconv.Itoa(i+2)))
			}
			q.Where = append(q.Where, many)
		}
		batches, all := rows(t, q)
		assert.Equal(t, "the database has the conditions", batches[0].Applied, false)
		assert.Equal(t, "rows", all, 4)
	})
	for name, text := range map[string]string{"tiny": "256", "big": "9223372036854775808", "cash": "214748.3648",
		"paid": "922337203685477.5808", "share": "1", "price": "100000000", "rate": "1e-310", "part": "1e-40",
		"old": "1752-12-31T23:59:59", "older": "2079-06-07T00:00:00", "stamp": "9999-12-31T23:59:59-01:00",
		"id": "61F0C404-5CB3-11E7-907B-A6006AD3DBA0-"} {
		t.Run("a value that the type does not have is left to Atrium: "+name, func(t *testing.T) {
			types := map[bool]column.Type{true: column.Number, false: column.DateTime}
			condition := connection.Condition{Column: name, Type: types[!strings.Contains(text, ":")],
				Operator: column.Equals, Values: []*string{&text}}
			if name == "id" {
				condition.Type = column.String
			}
			batches, all := rows(t, connection.RowsQuery{Columns: []string{name},
				Where: []connection.Condition{condition}})
			assert.Equal(t, "the database has the condition", batches[0].Applied, false)
			assert.Equal(t, "rows", all, 4)
		})
	}
	t.Run("ranges of texts are left to Atrium", func(t *testing.T) {
		batches, all := rows(t, connection.RowsQuery{Columns: []string{"name"}, Where: []connection.Condition{
			{Column: "name", Type: column.String, Operator: column.Greater, Values: []*string{new("b")}}}})
		assert.Equal(t, "the database has the condition", batches[0].Applied, false)
		assert.Equal(t, "rows", all, 4)
	})
	t.Run("the key's own order, which an order by SQL Server can name once", func(t *testing.T) {
		batches, all := rows(t, connection.RowsQuery{Columns: []string{"n"}, Key: "n", After: new("3"),
			Sort: &connection.Sort{Column: "n", Type: column.Integer, Descending: true, Limit: 2, After: new("v3")}})
		assert.Equal(t, "the database has sorted", batches[0].Sorted, true)
		assert.Equal(t, "rows", all, 2)
	})
	t.Run("an order of texts is Atrium's", func(t *testing.T) {
		batches, _ := rows(t, connection.RowsQuery{Columns: []string{"name"},
			Sort: &connection.Sort{Column: "name", Type: column.String, Limit: 2}})
		assert.Equal(t, "the database has sorted", batches[0].Sorted, false)
	})
}
