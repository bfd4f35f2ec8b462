package postgres

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// columns finds a table of exactly this name that the user may use, and lists its columns, in one round trip.
// SVV_ALL_COLUMNS has the columns that the user may use, including shared and external tables. Only SVV_COLUMNS has the
// columns of late-binding views.
func (r *redshift) columns(ref connection.TableRef) ([]connection.Column, error) {
	if !isText(ref.Schema) || !isText(ref.Name) {
		return nil, connection.TableNotFound
	}
	names := []string{ref.Schema, ref.Name}
	const shown = `SELECT column_name, data_type, is_nullable, character_maximum_length, numeric_precision, ` +
		`numeric_scale FROM `
	clause := ` ORDER BY ordinal_position LIMIT ` + strconv.Itoa(connection.MaxListed)
	next := r.askBeforeRows([]statement{
		{`SELECT 1 FROM svv_all_tables` + redshiftOurs + ` AND schema_name = ` + redshiftName(1) +
			` AND table_name = ` + redshiftName(2) + ` LIMIT 1`, names},
		{shown + `svv_all_columns` + redshiftOurs + ` AND schema_name = ` + redshiftName(1) +
			` AND table_name = ` + redshiftName(2) + clause, names},
		{shown + `svv_columns WHERE table_catalog = current_database() AND table_schema = ` + redshiftName(1) +
			` AND table_name = ` + redshiftName(2) + ` AND table_schema <> 'information_schema' ` +
			`AND left(table_schema, 3) <> 'pg_'` + clause, names},
	})
	var answers [3][][][]byte
	for i := range answers {
		var err error
		if answers[i], err = next(); err != nil {
			return nil, err
		}
	}
	usable, columns, late := answers[0], answers[1], answers[2]
	switch {
	case len(usable) == 0 && len(late) > 0:
		return nil, connection.PermissionDenied
	case len(usable) == 0:
		return nil, connection.TableNotFound
	case len(columns) == 0:
		columns = late
	}
	var all []connection.Column
	for _, row := range columns {
		if len(row) != 6 {
			return nil, connection.NotThisDatabase
		}
		c, ok := redshiftColumn(row)
		if ok {
			all = append(all, c)
		}
	}
	return all, nil
}

// redshiftColumn returns a column of the catalogue; false for a nested type of an external table, which cannot be read
// as a whole.
func redshiftColumn(row [][]byte) (connection.Column, bool) {
	name, length, precision, scale := string(row[1]), string(row[3]), string(row[4]), string(row[5])
	c := connection.Column{Name: string(row[0]), DatabaseType: name,
		Nullable: !strings.EqualFold(string(row[2]), "no"), Type: connection.Text}
	base := redshiftBase(name)
	switch base {
	case "struct", "array", "map", "row", "uniontype":
		return c, false
	case "character varying", "character":
		if length != "" && !strings.Contains(name, "(") {
			c.DatabaseType = name + "(" + length + ")"
		}
	case "smallint", "integer", "bigint", "tinyint", "int", "oid":
		c.Type = connection.Integer
	case "numeric", "decimal":
		c.Type = connection.Number
		if precision != "" && !strings.Contains(name, "(") {
			c.DatabaseType = name + "(" + precision + "," + scale + ")"
		}
	case "real", "double precision", "double", "float":
		c.Type = connection.Number
	case "boolean":
		c.Type = connection.Boolean
	case "date":
		c.Type = connection.Date
	case "timestamp without time zone", "timestamp with time zone", "timestamp", "timestamptz":
		c.Type = connection.DateTime
	case "super":
		c.Type = connection.JSON
	}
	c.Unordered = !redshiftOrders(c)
	return c, true
}

// redshiftBase returns a type's name without its length: character varying(20) is character varying. Types of external
// tables have Hive's names, such as array<int>.
func redshiftBase(name string) string {
	if i := strings.IndexAny(name, "(<"); i >= 0 {
		name = name[:i]
	}
	return strings.ToLower(strings.TrimSpace(name))
}

// redshiftList returns expressions for values as texts of at most limit characters.
func redshiftList(columns []connection.Column, limit int) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = redshiftText(quote(c.Name), redshiftBase(c.DatabaseType), strconv.Itoa(limit))
	}
	return list
}

// redshiftText returns an expression for a column as a text. Redshift cannot cast every type to a text.
func redshiftText(name, base, limit string) string {
	text := `CAST(` + name + ` AS varchar(65535))`
	switch base {
	case "real", "double precision", "double", "float": // texts of casts have 15 digits; see floats
		return `CAST(` + name + ` AS double precision)`
	case "boolean":
		return `CASE WHEN ` + name + ` THEN 'true' WHEN NOT ` + name + ` THEN 'false' END`
	case "character varying", "varchar", "string":
		text = name
	case "character", "char", "bpchar":
		text = `rtrim(` + name + `)` // its padding
	case "super":
		text = `json_serialize(` + name + `)`
	case "varbyte", "varbinary", "binary varying": // without 0x, some would be numbers, or no value
		text = `'0x' || to_hex(` + name + `)`
	case "geometry", "geography": // by default, numbers have 15 digits
		text = `st_astext(` + name + `, 17)`
	case "hllsketch": // only its estimate can be read
		text = `CAST(hll_cardinality(` + name + `) AS varchar(32))`
	}
	return `left(` + text + `, ` + limit + `)`
}

// floats returns a function that writes a row's floating-point numbers as texts that lose nothing of them, and no more.
// The server sends 17 digits, since extra_float_digits is 2, its maximum.
func floats(columns []connection.Column) func(row [][]byte) error {
	return func(row [][]byte) error {
		for i, c := range columns {
			bits := 64
			switch redshiftBase(c.DatabaseType) {
			case "real":
				bits = 32
			case "double precision", "double", "float":
			default:
				continue
			}
			if i >= len(row) || row[i] == nil {
				continue
			}
			v, err := strconv.ParseFloat(string(row[i]), 64)
			if err != nil {
				return connection.NotThisDatabase
			}
			row[i] = []byte(warehouse.FloatText(v, bits))
		}
		return nil
	}
}
