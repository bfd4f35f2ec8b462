package mysql

import (
	"encoding/hex"
	"regexp"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// rank is how rows are in a column's order, never by the text of its values.
type rank struct {
	key   string              // the expression that rows are ordered by, by its type and collation
	place string              // its value as a text that loses nothing, or NULL
	value func(string) string // the expression of the value of a place
}

// maxKey is the most bytes of a text or of bytes that have a place. Of longer ones only the beginnings are in order.
const maxKey = 4000

// sortWhole makes ORDER BY compare whole texts: by default 1024 bytes of their weights decide, which are 340 letters in
// some collations. 32 KiB are more than an index text can have. The server refuses to sort if 15 such texts do not fit
// into its buffer (max_sort_length and sort_buffer_size, "Server System Variables" of MySQL's manual).
const sortWhole = `SET SESSION max_sort_length = 32768, sort_buffer_size = 2097152`

// literal writes a text as an expression. MySQL would take question marks in a text for parameters.
func literal(text string) string {
	return `CONVERT(X'` + hex.EncodeToString([]byte(text)) + `' USING utf8mb4)`
}

// cast returns the function that reads a type's value from a place.
func cast(typeName string) func(string) string {
	return func(place string) string { return `CAST(` + literal(place) + ` AS ` + typeName + `)` }
}

func unhex(place string) string { return `UNHEX(` + literal(place) + `)` }

var (
	decimalForm = regexp.MustCompile(`^decimal(\([0-9]+,[0-9]+\))`)
	wordForm    = regexp.MustCompile(`^[a-z0-9_]+$`)
)

// rank returns a column's order: false if its type has none.
func (c column) rank() (rank, bool) {
	key := quote(c.Name)
	r := rank{key: key, place: `CAST(` + key + ` AS CHAR)`}
	switch c.dataType {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		r.value = cast(`DECIMAL(65, 0)`)
	case "bit":
		r.place, r.value = `CAST(`+key+` + 0 AS CHAR)`, cast(`DECIMAL(65, 0)`)
	case "decimal":
		size := decimalForm.FindStringSubmatch(c.DatabaseType)
		if size == nil {
			return r, false
		}
		r.value = cast(`DECIMAL` + size[1])
	case "float", "double": // a FLOAT as a text has six digits
		r.place = `CAST(` + key + ` + 0E0 AS CHAR)`
		r.value = func(place string) string { return `(` + literal(place) + ` + 0E0)` }
	case "date":
		r.value = cast(`DATE`)
	case "datetime", "timestamp":
		r.value = cast(`DATETIME(6)`)
	case "time":
		r.value = cast(`TIME(6)`)
	case "enum", "set": // in the order of their numbers
		r.key = `CAST(` + key + ` AS UNSIGNED)`
		r.place, r.value = `CAST(`+r.key+` AS CHAR)`, cast(`UNSIGNED`)
	case "binary":
		r.place, r.value = `HEX(`+key+`)`, unhex
	case "varbinary", "tinyblob", "blob", "mediumblob", "longblob",
		"char", "varchar", "tinytext", "text", "mediumtext", "longtext": // by their bytes: a = A in some collations
		r.key = `LEFT(CAST(` + key + ` AS BINARY), ` + strconv.Itoa(maxKey+1) + `)`
		r.place = `CASE WHEN OCTET_LENGTH(` + key + `) <= ` + strconv.Itoa(maxKey) + ` THEN HEX(` + key + `) END`
		r.value = unhex
	case "uuid", "inet4", "inet6":
		r.value = literal
	default:
		return r, false
	}
	return r, true
}

// indexed returns the order of a column's index that permits each value once: false if it is rank's order.
func (c column) indexed() (rank, bool) {
	key := quote(c.Name)
	r := rank{key: key, place: `HEX(` + key + `)`, value: unhex}
	switch c.dataType {
	case "varbinary":
		return r, true
	case "char", "varchar":
		r.value = func(place string) string {
			return `CONVERT(` + unhex(place) + ` USING ` + c.charset + `) COLLATE ` + c.collation
		}
		return r, wordForm.MatchString(c.charset) && wordForm.MatchString(c.collation)
	}
	return r, false
}

// order returns how rows are ordered by a column's values, whatever its collation: false if that is not known to be the
// order of the field's values.
func (c column) order() (warehouse.Order, bool) {
	compared, isCompared := c.comparison()
	r, isRanked := c.rank()
	if compared.Ordered != nil {
		bytes := compared.Ordered(quote(c.Name))
		r = rank{key: `LEFT(` + bytes + `, ` + strconv.Itoa(maxKey+1) + `)`, value: unhex,
			place: `CASE WHEN OCTET_LENGTH(` + bytes + `) <= ` + strconv.Itoa(maxKey) + ` THEN HEX(` + bytes + `) END`}
	}
	return warehouse.Order{Key: r.key, Place: `CONCAT('v', ` + r.place + `)`, Value: r.value, Nullable: c.Nullable},
		isCompared && isRanked
}

// beyond returns the condition that a row is behind a place.
func (r rank) beyond(place string) string {
	return r.key + ` > ` + r.value(place) + ` OR ` + r.key + ` IS NULL`
}

// order returns how rows are sorted.
func (r rank) order() string { return r.key + ` IS NULL, ` + r.key }

// rankOf returns a table column's order: an index's order if the server can read the rows by it.
func (s *session) rankOf(table string, c column) (rank, error) {
	r, _ := c.rank()
	if err := s.run(sortWhole); err != nil {
		return r, err
	}
	byIndex, ok := c.indexed()
	if !ok {
		return r, nil
	}
	found, err := s.query(`SELECT EXISTS (SELECT 1 FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)
		AND NON_UNIQUE = 0 AND INDEX_TYPE = 'BTREE' GROUP BY INDEX_NAME HAVING COUNT(*) = 1
		AND MAX(CAST(COLUMN_NAME AS BINARY)) = CAST(? AS BINARY) AND MAX(SUB_PART) IS NULL)`, table, table, c.Name)
	if isTrue(found) {
		r = byIndex
	}
	return r, err
}
