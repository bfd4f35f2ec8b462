package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads a table that the catalogue confirms, by a SELECT of the columns that the user may
// read, each cut by the server.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	ref := q.Table
	all, err := s.columns(ref)
	p := warehouse.Chosen(q, all)
	if err != nil || q.Rows <= 0 || len(p.Columns) == 0 && len(all) > 0 {
		return p, err
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = `pg_catalog.left(` + quote(c.Name) + `::pg_catalog.text, ` + strconv.Itoa(connection.MaxCell) + `)`
	}
	p.Rows, err = s.sample(list, q)
	return p, err
}

// sample returns the rows of a preview. list has an expression for each of its columns.
func (s *session) sample(list []string, q connection.PreviewQuery) (rows [][]*string, err error) {
	found, err := s.query(`SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(q.Table.Schema) + `.` +
		quote(q.Table.Name) + ` LIMIT ` + strconv.Itoa(min(q.Rows, connection.MaxSampleRows)))
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		if len(row) != len(list) {
			return nil, connection.NotThisDatabase
		}
		cells := make([]*string, len(row))
		for i, value := range row {
			if value != nil {
				cells[i] = connection.Cell(string(value))
			}
		}
		rows = append(rows, cells)
	}
	return rows, nil
}

// columns finds a table of exactly this name, and lists the columns of it that the user may read, in one round trip. A
// domain has the type that it restricts. PostgreSQL would truncate a longer name to one that the catalogue has. So the
// name is compared twice: as a name, which uses the index, and as text, which is exact.
func (s *session) columns(ref connection.TableRef) ([]connection.Column, error) {
	if !isText(ref.Schema) || !isText(ref.Name) {
		return nil, connection.TableNotFound
	}
	rows, err := s.askBeforeRows(statement{`SELECT t.readable, a.attname::text, format_type(a.atttypid, a.atttypmod),
		coalesce(b.typname, y.typname)::text, NOT a.attnotnull
		FROM (SELECT t.oid, ` + readable + ` AS readable FROM (` + selectOurs + ` AND n.nspname = $1::text::name AND c.relname = $2::text::name OFFSET 0) t
			WHERE t.schema = $1::text AND t.name = $2::text OFFSET 0) t
		LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
		AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
		LEFT JOIN pg_type y ON y.oid = a.atttypid LEFT JOIN pg_type b ON y.typtype = 'd' AND b.oid = y.typbasetype
		ORDER BY a.attnum LIMIT ` + strconv.Itoa(connection.MaxListed), []string{ref.Schema, ref.Name}})()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, connection.TableNotFound
	}
	var columns []connection.Column
	for _, row := range rows {
		switch {
		case len(row) != 5:
			return nil, connection.NotThisDatabase
		case string(row[0]) != "t":
			return nil, connection.PermissionDenied
		case row[1] == nil: // a table without columns
			return nil, nil
		}
		columns = append(columns, connection.Column{
			Name: string(row[1]), DatabaseType: string(row[2]), Type: typeOf(string(row[3])),
			Nullable: string(row[4]) == "t",
		})
	}
	return columns, nil
}

// typeOf returns how values of a type of pg_type can be used.
func typeOf(name string) connection.Type {
	switch name {
	case "int2", "int4", "int8", "oid":
		return connection.Integer
	case "numeric", "float4", "float8", "money":
		return connection.Number
	case "bool":
		return connection.Boolean
	case "date":
		return connection.Date
	case "timestamp", "timestamptz":
		return connection.DateTime
	case "json", "jsonb":
		return connection.JSON
	}
	return connection.Text
}

// isText reports whether s can be sent as a text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
