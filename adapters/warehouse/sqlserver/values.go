package sqlserver

import (
	"database/sql/driver"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// column is a column with the name of its type. base is the type that an alias type stands for.
type column struct {
	connection.Column
	base  string
	clr   bool // base is a type of the CLR, such as hierarchyid
	size  int  // bytes; -1 for (max)
	width [2]int

	collation string // of a text; empty for other types
	unique    bool   // an index permits each value once
}

// typeOf returns how values can be used.
func typeOf(base string) connection.Type {
	switch base {
	case "bit":
		return connection.Boolean
	case "tinyint", "smallint", "int", "bigint":
		return connection.Integer
	case "decimal", "numeric", "money", "smallmoney", "float", "real":
		return connection.Number
	case "date":
		return connection.Date
	case "datetime", "smalldatetime", "datetime2", "datetimeoffset":
		return connection.DateTime
	case "json", "vector":
		return connection.JSON
	}
	return connection.Text
}

// declared writes a type as a declaration does, with its length, precision or scale.
func (c column) declared() string {
	length := func(perCharacter int) string {
		if c.size < 0 {
			return c.base + "(max)"
		}
		return c.base + "(" + strconv.Itoa(c.size/perCharacter) + ")"
	}
	switch c.base {
	case "char", "varchar", "binary", "varbinary":
		return length(1)
	case "nchar", "nvarchar":
		return length(2)
	case "decimal", "numeric":
		return c.base + "(" + strconv.Itoa(c.width[0]) + "," + strconv.Itoa(c.width[1]) + ")"
	case "time", "datetime2", "datetimeoffset":
		return c.base + "(" + strconv.Itoa(c.width[1]) + ")"
	case "timestamp":
		return "rowversion" // the same type, without the standard's name for another one
	}
	return c.base
}

// isBytes reports whether values are bytes.
func (c column) isBytes() bool {
	switch c.base {
	case "binary", "varbinary", "image", "timestamp":
		return true
	}
	return false
}

// cell returns the expression for a column's value, cut to at least most characters. Values with a fixed size are
// selected as they are.
func (c column) cell(limit int) string {
	name := quote(c.Name)
	switch {
	case c.isBytes():
		return `SUBSTRING(CONVERT(varbinary(max), ` + name + `), 1, ` + strconv.Itoa(limit/2-1) + `)`
	case c.base == "sql_variant":
		return `LEFT(` + variant(name) + `, ` + strconv.Itoa(2*limit) + `)`
	case c.base == "geometry", c.base == "geography": // STAsText leaves out elevations and measures
		name += `.AsTextZM()`
	case c.clr:
		name += `.ToString()`
	case c.Type != connection.Text && c.Type != connection.JSON, c.base == "time", c.base == "uniqueidentifier":
		return name
	}
	// The server counts units of UTF-16, of which a character has one or two.
	return `LEFT(CONVERT(nvarchar(max), ` + name + `), ` + strconv.Itoa(2*limit) + `)`
}

// variants are the types within a sql_variant whose text loses something by default: digits, seconds, or that it is
// bytes. They are converted in a style ("Date and time styles" and other sections of CAST and CONVERT).
var variants = []struct{ base, declared, style string }{
	{"float", "float", "3"}, {"real", "real", "3"}, {"money", "money", "2"}, {"smallmoney", "money", "2"},
	{"date", "date", "121"}, {"time", "time(7)", "121"}, {"datetime", "datetime", "121"},
	{"smalldatetime", "datetime", "121"}, {"datetime2", "datetime2(7)", "121"},
	{"datetimeoffset", "datetimeoffset(7)", "121"}, {"binary", "varbinary(8000)", "1"},
	{"varbinary", "varbinary(8000)", "1"},
}

// variant returns the expression for a sql_variant as a text. It cannot be converted to a type with (max) at once, and
// only texts with one byte for each character can be longer than nvarchar(4000).
func variant(name string) string {
	property := `SQL_VARIANT_PROPERTY(` + name + `, 'BaseType')`
	expression := `CASE CONVERT(nvarchar(128), ` + property + `) `
	for _, v := range variants {
		text := `CONVERT(nvarchar(max), CONVERT(` + v.declared + `, ` + name + `), ` + v.style + `)`
		if v.style == "1" { // digits of other bytes are in lower case, too
			text = `LOWER(` + text + `)`
		}
		expression += `WHEN N'` + v.base + `' THEN ` + text + ` `
	}
	return expression + `ELSE CASE WHEN ` + property + ` IN (N'char', N'varchar') AND DATALENGTH(` + name +
		`) > 4000 THEN CONVERT(nvarchar(max), CONVERT(varchar(8000), ` + name + `)) ELSE CONVERT(nvarchar(4000), ` + name +
		`) END END`
}

// Layouts of moments. Trailing zeros in a second are not written.
const (
	layoutDate     = "2006-01-02"
	layoutTime     = "15:04:05.9999999"
	layoutDateTime = layoutDate + " " + layoutTime
	layoutOffset   = layoutDateTime + "-07:00"
)

// text returns a value of the driver as text, and whether it can be one of this column. A column without a type has
// texts and integers.
func (c column) text(v driver.Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		bits := 64
		if c.base == "real" {
			bits = 32
		}
		return warehouse.FloatText(v, bits), true
	case time.Time:
		return c.moment(v), true
	case []byte:
		return c.bytes(v)
	}
	return "", false
}

// moment writes a date or a time. Those with an offset are written in UTC.
func (c column) moment(v time.Time) string {
	switch c.base {
	case "date":
		return v.Format(layoutDate)
	case "time":
		return v.Format(layoutTime)
	case "datetimeoffset":
		return v.UTC().Format(layoutOffset)
	}
	return v.Format(layoutDateTime)
}

func (c column) bytes(v []byte) (string, bool) {
	switch {
	case c.Type == connection.Number: // the driver writes decimals and money as digits
		return string(v), true
	case c.base == "uniqueidentifier":
		id, err := uuid.FromBytes(v)
		return strings.ToUpper(id.String()), err == nil
	case c.isBytes():
		return "0x" + hex.EncodeToString(v), true
	}
	return "", false
}
