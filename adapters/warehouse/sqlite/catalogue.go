package sqlite

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// schema is what SQLite calls the database of the file itself.
const schema = "main"

// tables lists a page of tables and views. Virtual tables are left out: reading one runs a module.
func tables(ctx context.Context, db *sql.Conn, q connection.TableQuery) (found []connection.Table, err error) {
	start := q.After.Name
	switch {
	case q.After.Schema > schema:
		return nil, nil
	case q.After.Schema < schema:
		start = ""
	}
	rows, err := db.QueryContext(ctx, `SELECT name, type FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name > ?
		ORDER BY name COLLATE BINARY LIMIT ?`, start, min(max(q.Limit, 1), connection.MaxTables))
	if err != nil {
		return nil, classify(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		t := connection.Table{TableRef: connection.TableRef{Schema: schema}, RowEstimate: -1}
		var kind string
		if err := rows.Scan(&t.Name, &kind); err != nil {
			return nil, classify(ctx, err)
		}
		t.Kind = connection.BaseTable
		if kind == "view" {
			t.Kind = connection.View
		}
		found = append(found, t)
	}
	return found, classify(ctx, rows.Err())
}

// preview reads a table that the catalogue confirms.
func preview(ctx context.Context, db *sql.Conn, q connection.PreviewQuery) (connection.Preview, error) {
	all, err := readable(ctx, db, q.Table)
	p := warehouse.Chosen(q, all)
	p.RowEstimate = -1
	if err != nil || q.Rows <= 0 || len(p.Columns) == 0 {
		return p, err
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = cell(c, connection.MaxCell)
	}
	err = read(ctx, db, `SELECT `+strings.Join(list, `, `)+` FROM main.`+quote(q.Table.Name)+
		` LIMIT `+strconv.Itoa(min(q.Rows, connection.MaxSampleRows)), nil, len(list), func(row []*string) error {
		for i, v := range row {
			if v != nil {
				row[i] = connection.Cell(*v)
			}
		}
		p.Rows = append(p.Rows, row)
		return nil
	})
	return p.Sampled(err)
}

// readable returns the table columns that the catalogue confirms.
func readable(ctx context.Context, db *sql.Conn, ref connection.TableRef) ([]connection.Column, error) {
	if ref.Schema != schema || !utf8.ValidString(ref.Name) || strings.ContainsRune(ref.Name, 0) {
		return nil, connection.TableNotFound
	}
	var found int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name = ?`, ref.Name).Scan(&found); err != nil {
		return nil, classify(ctx, err)
	}
	if found != 1 {
		return nil, connection.TableNotFound
	}
	return columns(ctx, db, ref.Name)
}

// cell returns the expression for a column's value. Bytes are written as hexadecimal digits after 0x, so that they are
// no number, cut to a length. SQLite would round a number that it writes as a text, and cut a text at a NUL.
func cell(c connection.Column, length int) string {
	name := quote(c.Name)
	return `CASE typeof(` + name + `) WHEN 'blob' THEN '0x' || lower(hex(substr(` + name + `, 1, ` +
		strconv.Itoa(length/2-1) + `))) ELSE ` + name + ` END`
}

// read passes a query's rows to each.
func read(
	ctx context.Context, db *sql.Conn, query string, args []any, width int, handle func([]*string) error,
) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return classify(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		values, pointers := make([]any, width), make([]any, width)
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return classify(ctx, err)
		}
		cells := make([]*string, width)
		for i, v := range values {
			if cells[i], err = textOf(v); err != nil {
				return err
			}
		}
		if err := handle(cells); err != nil {
			return err
		}
	}
	return classify(ctx, rows.Err())
}

// textOf returns a value of the driver as a text that loses nothing of it; nil for NULL.
func textOf(v any) (*string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		return &v, nil
	case []byte:
		return new(string(v)), nil
	case int64:
		return new(strconv.FormatInt(v, 10)), nil
	case float64:
		return new(warehouse.FloatText(v, 64)), nil
	}
	return nil, connection.Internal // no other storage class exists
}

// columns lists a table's columns, generated ones included.
func columns(ctx context.Context, db *sql.Conn, table string) (found []connection.Column, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name, type, "notnull" = 0 AND pk = 0 FROM pragma_table_xinfo(?, 'main')
		WHERE hidden <> 1 LIMIT ?`,
		table, connection.MaxListed)
	if err != nil {
		return nil, classify(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		var c connection.Column
		if err := rows.Scan(&c.Name, &c.DatabaseType, &c.Nullable); err != nil {
			return nil, classify(ctx, err)
		}
		c.DatabaseType = *connection.Cell(c.DatabaseType)
		c.Type = typeOf(c.DatabaseType)
		found = append(found, c)
	}
	return found, classify(ctx, rows.Err())
}

// typeOf reads a declared type: first common names of types that SQLite does not have, then the rules of affinity
// (https://www.sqlite.org/datatype3.html, section 3.1).
func typeOf(typeName string) connection.Type {
	d := strings.ToUpper(typeName)
	base, _, _ := strings.Cut(d, "(")
	switch strings.TrimSpace(base) {
	case "BOOLEAN", "BOOL":
		return connection.Boolean
	case "DATE":
		return connection.Date
	case "DATETIME", "TIMESTAMP", "TIMESTAMPTZ":
		return connection.DateTime
	case "JSON", "JSONB":
		return connection.JSON
	}
	contains := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(d, part) {
				return true
			}
		}
		return false
	}
	switch {
	case contains("INT"):
		return connection.Integer
	case contains("CHAR", "CLOB", "TEXT", "BLOB"), d == "":
		return connection.Text
	case contains("REAL", "FLOA", "DOUB", "NUM", "DEC"): //nolint:misspell // the rule matches parts of words
		return connection.Number
	}
	return connection.Text
}
