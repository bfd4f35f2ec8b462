package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Preview reads a table that the catalogue confirms, by a SELECT of the columns that the user may
// read, each cut by the server. See ahead.go for how one round trip does both.
func (s *session) Preview(q connection.PreviewQuery) (connection.Preview, error) {
	if !isText(q.Table.Schema) || !isText(q.Table.Name) {
		return connection.Preview{}, connection.TableNotFound
	}
	catalogue, rows := []statement{columnsOf(q.Table)}, []statement(nil)
	if q.Rows > 0 && q.Match == "" {
		catalogue, rows = append(catalogue, composeSample(q)), []statement{runSample(q.Table)}
	}
	next := s.askBeforeRows(catalogue, rows...)
	all, err := readColumns(next())
	p := warehouse.Chosen(q, all)
	if err != nil || q.Rows <= 0 || (len(p.Columns) == 0 && len(all) > 0) {
		return p, err
	}
	list := make([]string, len(p.Columns))
	for i, c := range p.Columns {
		list[i] = cut(c)
	}
	if rows == nil {
		p.Rows, err = s.sample(list, q)
	} else {
		p.Rows, err = s.sampleAhead(next, list, q)
	}
	return p, err
}

// A value's forms as a text; ? stands for its name. Arrays and composite values are JSON: their texts cannot be told
// from others.
const (
	plainText  = `?::pg_catalog.text`
	nestedText = `pg_catalog.to_json(?)::pg_catalog.text`
)

// textOf returns a column value's form as a text.
func textOf(c connection.Column) string {
	if c.Type == connection.JSON && c.DatabaseType != "json" && c.DatabaseType != "jsonb" {
		return nestedText
	}
	return plainText
}

// named puts a name into a form.
func named(form, name string) string { return strings.Replace(form, `?`, name, 1) }

// cut is a preview value, as a text that the server cuts.
func cut(c connection.Column) string { return named(cutForm(textOf(c)), quote(c.Name)) }

func cutForm(form string) string {
	return `pg_catalog.left(` + form + `, ` + strconv.Itoa(connection.MaxCell) + `)`
}

// sample returns a preview's rows. list has an expression for each of its columns.
func (s *session) sample(list []string, q connection.PreviewQuery) ([][]*string, error) {
	rows, err := s.query(selectSample(list, q))
	if err != nil {
		return nil, err
	}
	return cells(rows, len(list))
}

func selectSample(list []string, q connection.PreviewQuery) string {
	return `SELECT ` + strings.Join(list, `, `) + fromSample(q)
}

// fromSample is where a preview's rows are.
func fromSample(q connection.PreviewQuery) string {
	return ` FROM ` + quote(q.Table.Schema) + `.` + quote(q.Table.Name) +
		` LIMIT ` + strconv.Itoa(min(q.Rows, connection.MaxSampleRows))
}

// cells returns rows of some columns as a preview's rows.
func cells(found [][][]byte, columns int) (rows [][]*string, err error) {
	for _, row := range found {
		if len(row) != columns {
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

// columns finds a table of exactly this name, and lists the columns of it that the user may read, in one round trip.
func (s *session) columns(ref connection.TableRef) ([]connection.Column, error) {
	if !isText(ref.Schema) || !isText(ref.Name) {
		return nil, connection.TableNotFound
	}
	return readColumns(s.askBeforeRows([]statement{columnsOf(ref)})())
}

// fromColumns are the columns a that the user may read of the table t of exactly the name $1.$2, which is the only row
// if it has no such column. PostgreSQL would truncate a longer name to one that the catalogue has. So the name is
// compared twice: as a name, which uses the index, and as text, which is exact.
var fromColumns = ` FROM (SELECT t.oid, ` + readable + ` AS readable
		FROM (` + selectOurs + ` AND n.nspname = $1::text::name AND c.relname = $2::text::name OFFSET 0) t
		WHERE t.schema = $1::text AND t.name = $2::text OFFSET 0) t
	LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
	AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')`

// typesOf are the types y of the columns a, and b that domains restrict.
const typesOf = ` LEFT JOIN pg_type y ON y.oid = a.atttypid
	LEFT JOIN pg_type b ON y.typtype = 'd' AND b.oid = y.typbasetype`

// isNested is whether a type is an array or a composite type, and nested is what stands for the name of such a type.
const (
	isNested = `(y.typcategory = 'A' OR coalesce(b.typtype, y.typtype) = 'c')`
	nested   = `[]`
)

// isUnordered is whether rows cannot be in a column's order: a part of its type has no default operator class of the
// access method btree, 403, by itself or as a type that its values are without a conversion. The rest of what
// PostgreSQL accepts ("Index Access Method Operator Classes") has one whatever it is made of.
const isUnordered = `EXISTS (WITH RECURSIVE part (type) AS (
		SELECT a.atttypid UNION SELECT inner_type FROM part JOIN pg_type o ON o.oid = part.type, LATERAL (
			SELECT o.typbasetype AS inner_type WHERE o.typtype = 'd'
			UNION ALL SELECT o.typelem WHERE o.typcategory = 'A' AND o.typelem <> 0
			UNION ALL SELECT m.atttypid FROM pg_attribute m
			WHERE o.typtype = 'c' AND m.attrelid = o.typrelid AND m.attnum > 0 AND NOT m.attisdropped) AS i)
	SELECT FROM part JOIN pg_type o ON o.oid = part.type WHERE o.typtype = 'b' AND o.typcategory <> 'A'
	AND NOT EXISTS (SELECT FROM pg_opclass c WHERE c.opcmethod = 403 AND c.opcdefault AND (c.opcintype = o.oid
		OR EXISTS (SELECT FROM pg_cast f WHERE f.castsource = o.oid AND f.casttarget = c.opcintype
			AND f.castmethod = 'b' AND f.castcontext = 'i'))))`

// columnsOf lists a table's columns. A domain has the type that it restricts.
func columnsOf(ref connection.TableRef) statement {
	return statement{`SELECT t.readable, a.attname::text, format_type(a.atttypid, a.atttypmod),
		CASE WHEN ` + isNested + ` THEN '` + nested + `' ELSE coalesce(b.typname, y.typname)::text END,
		NOT a.attnotnull, ` + isUnordered + fromColumns + typesOf + `
		ORDER BY a.attnum LIMIT ` + strconv.Itoa(connection.MaxListed), []string{ref.Schema, ref.Name}}
}

// readColumns reads the answer to columnsOf.
func readColumns(rows [][][]byte, err error) ([]connection.Column, error) {
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, connection.TableNotFound
	}
	var columns []connection.Column
	for _, row := range rows {
		switch {
		case len(row) != 6:
			return nil, connection.NotThisDatabase
		case string(row[0]) != "t":
			return nil, connection.PermissionDenied
		case row[1] == nil: // a table without columns
			return nil, nil
		}
		columns = append(columns, connection.Column{
			Name: string(row[1]), DatabaseType: string(row[2]), Type: typeOf(string(row[3])),
			Nullable: string(row[4]) == "t", Unordered: string(row[5]) == "t",
		})
	}
	return columns, nil
}

// typeOf returns how values with a type from pg_type can be used.
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
	case "json", "jsonb", nested:
		return connection.JSON
	}
	return connection.Text
}

// isText reports whether s can be sent as a text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
