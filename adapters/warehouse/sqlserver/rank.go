package sqlserver

import (
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// maxKey is a key's maximum length, in bytes, and in units of UTF-16 twice.
const maxKey = 8000

// rank is how rows are in a column's order: by its type and collation, never by the text of its values.
type rank struct {
	column
	key   string                    // the column
	value string                    // the expression of the value of the place @p1
	tie   func(value string) string // decides between values that are equal, such as a and A; nil if none are
}

var wordForm = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// value returns a parameter's expression as a column value: one of another type would keep the server from
// using an index. false if its type has none.
func (c column) value(parameter string) (expression string, ok bool) {
	switch {
	case c.clr:
		return "", false
	case c.Type == connection.Date, c.Type == connection.DateTime, c.base == "time":
		return `CONVERT(` + c.declared() + `, ` + parameter + `, 121)`, true // year-month-day, whatever the language
	case c.Type == connection.Integer, c.Type == connection.Number, c.Type == connection.Boolean,
		c.base == "uniqueidentifier", c.base == "nchar", c.base == "nvarchar":
		return `CONVERT(` + c.declared() + `, ` + parameter + `)`, true
	case c.base == "binary", c.base == "varbinary", c.base == "timestamp":
		return `CONVERT(varbinary(8000), ` + parameter + `, 1)`, true
	case (c.base == "char" || c.base == "varchar") && wordForm.MatchString(c.collation): // in its code page
		return `CONVERT(` + c.declared() + `, ` + parameter + ` COLLATE ` + c.collation + `)`, true
	}
	return "", false
}

// rank returns a column's order: false if its type has none.
func (c column) rank() (rank, bool) {
	value, ok := c.value("@p1")
	r := rank{column: c, key: quote(c.Name), value: value}
	switch {
	case c.unique:
	case c.base == "binary", c.base == "varbinary", c.base == "timestamp": // zeros at the end do not count
		r.tie = func(value string) string { return `DATALENGTH(` + value + `)` }
	case c.base == "char", c.base == "varchar", c.base == "nchar", c.base == "nvarchar":
		r.tie = bytesOf
	}
	return r, ok
}

func bytesOf(value string) string { return `CONVERT(varbinary(8000), ` + value + `)` }

// beyond returns the condition that a row is behind the place @p1.
func (r rank) beyond() string {
	condition := r.key + ` > ` + r.value
	if r.tie != nil {
		condition += ` OR (` + r.key + ` = ` + r.value + ` AND ` + r.tie(r.key) + ` > ` + r.tie(r.value) + `)`
	}
	if r.Nullable {
		condition += ` OR ` + r.key + ` IS NULL`
	}
	return condition
}

// order returns how rows are sorted.
func (r rank) order() string {
	order := (&warehouse.Order{Key: r.key, Nullable: r.Nullable, NullsFirst: true}).Sorting(&connection.Sort{})
	if r.tie != nil {
		order += `, ` + r.tie(r.key)
	}
	return order
}

// place returns the expression for a row's value, which may be cut.
func (r rank) place() string {
	if r.isBytes() {
		return r.cell(2*maxKey + 4)
	}
	return r.cell(maxKey / 4)
}

// isWhole reports whether a text of place loses nothing of the value.
func (r rank) isWhole(text string) bool {
	if r.isBytes() {
		return len(text) < 2*maxKey
	}
	return len(utf16.Encode([]rune(text))) < maxKey/2 && !strings.ContainsRune(text, '\uFFFD')
}
