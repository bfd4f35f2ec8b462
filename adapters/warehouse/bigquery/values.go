package bigquery

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// field is a column, or a part of one, as the API describes it.
type field struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	Mode      string  `json:"mode"`
	Precision string  `json:"precision"`
	Scale     string  `json:"scale"`
	Collation string  `json:"collation"` // of a STRING: "und:ci", by which a is equal to A
	Fields    []field `json:"fields"`

	Element           *field `json:"rangeElementType"`   // of a RANGE
	TimestampDecimals string `json:"timestampPrecision"` // of a TIMESTAMP: "12", or empty for 6
}

// isPrecise reports whether a field, or a part of it, has moments that are more precise than microseconds.
func (f field) isPrecise() bool {
	return f.TimestampDecimals == "12" || (f.Element != nil && f.Element.isPrecise()) ||
		slices.ContainsFunc(f.Fields, field.isPrecise)
}

// timestampOption returns the request option for how moments are written: as microseconds, or as texts with all their
// decimals if a field needs them.
func timestampOption(fields []field) (name string, value any) {
	if slices.ContainsFunc(fields, field.isPrecise) {
		return "timestampOutputFormat", "ISO8601_STRING"
	}
	return "useInt64Timestamp", true
}

// sqlTypes maps the API's names of types to the names in its SQL.
var sqlTypes = map[string]string{"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL", "RECORD": "STRUCT"}

var types = map[string]connection.Type{
	"INT64": connection.Integer, "FLOAT64": connection.Number, "NUMERIC": connection.Number,
	"BIGNUMERIC": connection.Number, "BOOL": connection.Boolean,
	"DATE": connection.Date, "DATETIME": connection.DateTime, "TIMESTAMP": connection.DateTime, "JSON": connection.JSON,
	"STRUCT": connection.JSON,
}

func (f field) sqlType() string {
	if name, ok := sqlTypes[f.Type]; ok {
		return name
	}
	return f.Type
}

// column returns how Atrium shows and uses f.
func (f field) column() connection.Column {
	name := f.sqlType()
	c := connection.Column{Name: f.Name, Type: connection.Text, Unordered: !f.orders(),
		Nullable: f.Mode != "REQUIRED" && f.Mode != "REPEATED"}
	if t, ok := types[name]; ok {
		c.Type = t
	}
	if f.Precision != "" {
		name += "(" + f.Precision
		if f.Scale != "" {
			name += ", " + f.Scale
		}
		name += ")"
	}
	switch {
	case f.TimestampDecimals == "12":
		name += "(12)"
	case f.Element != nil:
		name += "<" + f.Element.sqlType() + ">"
	}
	if f.Mode == "REPEATED" {
		name, c.Type = "ARRAY<"+name+">", connection.JSON
	}
	c.DatabaseType = name
	return c
}

// orders reports whether rows can be ordered by f, and its text can be cast back to the same value.
func (f field) orders() bool {
	if f.Mode == "REPEATED" || f.Collation != "" || f.isPrecise() {
		return false
	}
	switch f.sqlType() {
	case "INT64", "NUMERIC", "BIGNUMERIC", "BOOL", "STRING", "DATE", "DATETIME", "TIME", "TIMESTAMP":
		return true
	}
	return false
}

// row is one of tabledata.list and of jobs.query: {"f": [{"v": …}, …]}.
type row struct {
	Cells []struct {
		Value json.RawMessage `json:"v"`
	} `json:"f"`
}

// cells returns the values as a preview shows them.
func (r row) cells(fields []field) ([]*string, error) {
	cells, err := r.values(fields)
	for i, v := range cells {
		if v != nil {
			cells[i] = connection.Cell(*v)
		}
	}
	return cells, err
}

// values returns the values as texts; nil for NULL.
func (r row) values(fields []field) ([]*string, error) {
	if len(r.Cells) != len(fields) {
		return nil, connection.NotThisDatabase
	}
	cells := make([]*string, len(fields))
	for i, f := range fields {
		v, err := f.value(r.Cells[i].Value)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case nil:
		case string:
			cells[i] = &v
		default:
			text, err := json.Marshal(v)
			if err != nil {
				return nil, connection.NotThisDatabase
			}
			document := string(text)
			cells[i] = &document
		}
	}
	return cells, nil
}

// value reads a value: nil for NULL, a text for a single value, and JSON values for the rest.
func (f field) value(raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if f.Mode == "REPEATED" {
		var items []struct {
			Value json.RawMessage `json:"v"`
		}
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, connection.NotThisDatabase
		}
		one, values := f, make([]any, len(items))
		one.Mode = ""
		for i, item := range items {
			var err error
			if values[i], err = one.inner(item.Value); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
	if f.sqlType() == "STRUCT" {
		var inner row
		if err := json.Unmarshal(raw, &inner); err != nil || len(inner.Cells) != len(f.Fields) {
			return nil, connection.NotThisDatabase
		}
		values := map[string]any{}
		for i, part := range f.Fields {
			var err error
			if values[part.Name], err = part.inner(inner.Cells[i].Value); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, connection.NotThisDatabase
	}
	return f.text(text), nil
}

// inner is value for a part of another value, whose type JSON has, too.
func (f field) inner(raw json.RawMessage) (any, error) {
	v, err := f.value(raw)
	text, ok := v.(string)
	if !ok || !json.Valid([]byte(text)) {
		return v, err
	}
	switch f.sqlType() {
	case "INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC", "BOOL", "JSON":
		return json.RawMessage(text), err
	}
	return v, err
}

// text formats for people a value that the API has as a number or in base64.
func (f field) text(s string) string {
	switch f.sqlType() {
	case "TIMESTAMP":
		return moment(s)
	case "RANGE":
		begin, end, found := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "["), ")"), ", ")
		if found && f.Element != nil {
			return "[" + f.Element.text(begin) + ", " + f.Element.text(end) + ")"
		}
	case "FLOAT64":
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return warehouse.FloatText(v, 64)
		}
	case "BYTES":
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			const shown = warehouse.MaxValue/2 - 1
			return "0x" + hex.EncodeToString(b[:min(len(b), shown)])
		}
	}
	return s
}

// moment formats microseconds since 1970, or a moment such as 2026-01-02T03:04:05.123456789012Z.
func moment(s string) string {
	const second = "2006-01-02 15:04:05"
	if micros, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.UnixMicro(micros).UTC().Format(second+".999999") + " UTC"
	}
	if text, isUTC := strings.CutSuffix(s, "Z"); isUTC && len(text) > len(second) {
		return strings.TrimSuffix(strings.TrimRight(strings.Replace(text, "T", " ", 1), "0"), ".") + " UTC"
	}
	return s
}
