package db

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/atrium-hq/atrium/domain/chat"
)

// ColumnsLike returns a list of columns by a pattern, in which % stands for each name.
func ColumnsLike(pattern string, names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ReplaceAll(pattern, "%", n)
	}
	return strings.Join(out, ", ")
}

// Column is a column of a result: an expression, and the path of the row's field that sqlx reads it into.
type Column struct{ Expression, Path string }

// ColumnsOf returns columns whose expressions follow a pattern, in which % stands for each name. Their paths begin with
// a prefix.
func ColumnsOf(pattern, prefix string, names []string) []Column {
	out := make([]Column, len(names))
	for i, n := range names {
		out[i] = Column{strings.ReplaceAll(pattern, "%", n), prefix + n}
	}
	return out
}

// ColumnList is what a statement selects to read columns by sqlx.
func ColumnList(columns []Column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Expression + ` AS "` + c.Path + `"`
	}
	return strings.Join(out, ", ")
}

// FromJSON decodes a string that JSONText wrote. Numbers in free-form JSON keep every digit.
func FromJSON(text string, dst any) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(dst)
}

// JSONText encodes v as JSON, and an empty value as an empty string.
func JSONText(v any, empty bool) (string, error) {
	if empty {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// JSONColumns encodes values as JSON columns, and keeps the first error. The zero value is ready to use.
type JSONColumns struct{ Err error }

// Text is JSONText. After an error, what it returns must not be stored.
func (c *JSONColumns) Text(v any, empty bool) string {
	text, err := JSONText(v, empty)
	c.Err = cmp.Or(c.Err, err)
	return text
}

// UnescapedJSON returns the JSON of v, in which raw JSON stays as it was sent.
func UnescapedJSON(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.String(), err
}

// ThemeText encodes a chat's theme as a column; the zero theme as an empty string.
func ThemeText(t chat.Theme) (string, error) {
	if t.Same(chat.Theme{}) {
		return "", nil
	}
	return UnescapedJSON(t)
}

// ReadTheme decodes a string that ThemeText wrote.
func ReadTheme(text string) (t chat.Theme, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &t)
	}
	return t, err
}

// EncodeList encodes items as a JSON array, each as its stored row.
func EncodeList[T, Row any](items []T, row func(T) Row) (string, error) {
	rows := make([]Row, len(items))
	for i, item := range items {
		rows[i] = row(item)
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// DecodeList decodes what EncodeList encoded; nil if the list is empty.
func DecodeList[Row, T any](text string, item func(Row) T) ([]T, error) {
	if text == "[]" {
		return nil, nil
	}
	var rows []Row
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, err
	}
	var items []T
	for _, r := range rows {
		items = append(items, item(r))
	}
	return items, nil
}

// TextList reads a JSON array of strings, or returns nil if it is empty.
func TextList(array string) (list []string, err error) {
	if array == "" || array == "[]" {
		return nil, nil
	}
	return list, json.Unmarshal([]byte(array), &list)
}
