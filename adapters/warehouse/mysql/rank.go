package mysql

import (
	"encoding/hex"
	"regexp"
)

// rank is how rows are in the order of a column: by its type and collation, never by the text of its values.
type rank struct {
	key   string              // the column
	place string              // its value as a text that loses nothing
	value func(string) string // the expression of the value of a place
	ties  bool                // different values may be equal, such as a and A: then their bytes decide
}

// maxSorted is how many bytes of a text or blob decide the order: those of max_sort_length, 1024 by default, and less
// than a key of an index may have.
const maxSorted = "1000"

// literal writes a text as an expression. MySQL would take question marks in a text for parameters.
func literal(text string) string {
	return `CONVERT(X'` + hex.EncodeToString([]byte(text)) + `' USING utf8mb4)`
}

// cast returns the function that reads a value of a type from a place.
func cast(as string) func(string) string {
	return func(place string) string { return `CAST(` + literal(place) + ` AS ` + as + `)` }
}

var (
	decimalForm = regexp.MustCompile(`^decimal(\([0-9]+,[0-9]+\))`)
	wordForm    = regexp.MustCompile(`^[a-z0-9_]+$`)
)

// rank returns the order of a column: false if its type has none.
func (c column) rank() (rank, bool) {
	key := quote(c.Name)
	r := rank{key: key, place: `CAST(` + key + ` AS CHAR)`}
	bytes := `CASE WHEN OCTET_LENGTH(` + key + `) <= ` + maxSorted + ` THEN HEX(` + key + `) END`
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
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		r.place, r.value = bytes, func(place string) string { return `UNHEX(` + literal(place) + `)` }
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		if !wordForm.MatchString(c.charset) || !wordForm.MatchString(c.collation) {
			return r, false
		}
		r.place, r.ties = bytes, true
		r.value = func(place string) string {
			return `CONVERT(UNHEX(` + literal(place) + `) USING ` + c.charset + `) COLLATE ` + c.collation
		}
	case "uuid", "inet4", "inet6":
		r.value = literal
	default:
		return r, false
	}
	return r, true
}

// tie orders rows whose keys are equal.
func (r rank) tie() string { return `CAST(` + r.key + ` AS BINARY)` }

// beyond returns the condition that a row is behind a place.
func (r rank) beyond(place string) string {
	value := r.value(place)
	where := r.key + ` > ` + value
	if r.ties {
		where += ` OR (` + r.key + ` = ` + value + ` AND ` + r.tie() + ` > UNHEX(` + literal(place) + `))`
	}
	return where + ` OR ` + r.key + ` IS NULL`
}

// order returns how rows are sorted.
func (r rank) order() string {
	order := r.key + ` IS NULL, ` + r.key
	if r.ties {
		order += `, ` + r.tie()
	}
	return order
}

// rankOf returns the order of a column of a table. An index with another value in each row leaves nothing for the bytes
// to decide, and can be used only without them.
func (s *session) rankOf(table string, c column) (rank, error) {
	r, _ := c.rank()
	if !r.ties {
		return r, nil
	}
	found, err := s.query(`SELECT EXISTS (SELECT 1 FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND CAST(TABLE_NAME AS BINARY) = CAST(? AS BINARY)
		AND NON_UNIQUE = 0 GROUP BY INDEX_NAME HAVING COUNT(*) = 1
		AND MAX(CAST(COLUMN_NAME AS BINARY)) = CAST(? AS BINARY) AND MAX(SUB_PART) IS NULL)`, table, table, c.Name)
	r.ties = !isTrue(found)
	return r, err
}
