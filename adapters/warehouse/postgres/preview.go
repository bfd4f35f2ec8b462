package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
)

// preview reads a table that the catalogue confirms, by a SELECT of the columns that the user may
// read, each cut by the server.
func (s *session) preview(ref connection.TableRef, rows int) (connection.Preview, error) {
	var p connection.Preview
	oid, err := s.find(ref)
	if err != nil {
		return p, err
	}
	if p.Columns, err = s.columns(oid); err != nil || rows <= 0 {
		return p, err
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = `left(` + quote(c.Name) + `::text, ` + strconv.Itoa(connection.MaxCell) + `)`
	}
	found, err := s.query(`SELECT ` + strings.Join(list, `, `) + ` FROM ` + quote(ref.Schema) + `.` + quote(ref.Name) +
		` LIMIT ` + strconv.Itoa(min(rows, connection.MaxSampleRows)))
	if err != nil {
		return p, err
	}
	for _, row := range found {
		if len(row) != len(p.Columns) {
			return p, connection.NotThisDatabase
		}
		cells := make([]*string, len(row))
		for i, value := range row {
			if value != nil {
				cells[i] = connection.Cell(string(value))
			}
		}
		p.Rows = append(p.Rows, cells)
	}
	return p, nil
}

// find returns the oid of a table of exactly this name.
func (s *session) find(ref connection.TableRef) (oid string, err error) {
	if !isText(ref.Schema) || !isText(ref.Name) {
		return "", connection.TableNotFound
	}
	rows, err := s.query(`SELECT c.oid::text, `+readable+` FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE `+ours+` AND n.nspname::text = $1::text AND c.relname::text = $2::text`, ref.Schema, ref.Name)
	switch {
	case err != nil:
		return "", err
	case len(rows) != 1 || len(rows[0]) != 2:
		return "", connection.TableNotFound
	case string(rows[0][1]) != "t":
		return "", connection.PermissionDenied
	}
	return string(rows[0][0]), nil
}

// columns lists the columns that the user may read. A domain has the type that it restricts.
func (s *session) columns(oid string) ([]connection.Column, error) {
	rows, err := s.query(`SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname)::text, NOT a.attnotnull
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
		WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
		ORDER BY a.attnum LIMIT `+strconv.Itoa(connection.MaxColumns), oid)
	if err != nil {
		return nil, err
	}
	var columns []connection.Column
	for _, row := range rows {
		if len(row) != 4 {
			return nil, connection.NotThisDatabase
		}
		columns = append(columns, connection.Column{
			Name: string(row[0]), DatabaseType: string(row[1]), Type: typeOf(string(row[2])), Nullable: string(row[3]) == "t",
		})
	}
	return columns, nil
}

// typeOf says what values of a type of pg_type can be used as.
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

// isText reports whether s can be sent as a text at all.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
