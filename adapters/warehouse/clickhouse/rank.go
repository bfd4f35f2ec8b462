package clickhouse

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// rank is how rows are in a column's order: by its type, never by the text of its values.
type rank struct {
	key   string
	place string              // its value as a text that loses nothing
	value func(string) string // the expression of the value of a place
	float bool                // values may be NaN, which is neither greater nor less than others
}

// rankOf returns a column's order: false if its type has none, or no text that identifies which value it is.
func rankOf(c connection.Column) (rank, bool) {
	key := quote(c.Name)
	bare := inside(inside(c.DatabaseType, "LowCardinality"), "Nullable")
	r := rank{key: key, place: `toString(` + key + `)`}
	r.value = func(place string) string { return `CAST(` + literal(place) + ` AS ` + bare + `)` }
	switch word, _, _ := strings.Cut(bare, "("); {
	case c.Type == connection.Integer, word == "Bool", strings.HasPrefix(word, "Decimal"), word == "Date",
		word == "Date32", word == "UUID", word == "IPv4", word == "IPv6":
	case isEnum(c):
		r.place = key
	case strings.HasPrefix(word, "Float"):
		r.float = true
	case strings.HasPrefix(word, "DateTime"): // in UTC, since an hour of a year has the texts of another one elsewhere
		r.place = `toString(` + key + `, 'UTC')`
		r.value = func(place string) string { return inUTC(word, bare, literal(place)) }
	case word == "String": // bytes
		r.place = `CASE WHEN length(` + key + `) < 16384 THEN hex(` + key + `) END`
		r.value = func(place string) string { return `unhex(` + literal(place) + `)` }
	case word == "FixedString":
		r.place = `hex(` + key + `)`
		r.value = func(place string) string { return `CAST(unhex(` + literal(place) + `) AS ` + bare + `)` }
	default:
		return r, false
	}
	return r, true
}

// inUTC reads a moment from a text in UTC.
func inUTC(word, bare, text string) string {
	if word == "DateTime" {
		return `toDateTime(` + text + `, 'UTC')`
	}
	digits, _, _ := strings.Cut(inside(bare, word), ",")
	return `toDateTime64(` + text + `, ` + digits + `, 'UTC')`
}

// beyond returns the condition that a row is behind a place.
func (r rank) beyond(place string) string {
	isNull := `isNull(` + r.key + `)`
	switch {
	case r.float && place == "nan":
		return isNull
	case r.float:
		isNull = `isNaN(` + r.key + `) OR ` + isNull
	}
	return r.key + ` > ` + r.value(place) + ` OR ` + isNull
}

// order returns how rows are ordered by a column's values, which are moments in a DateTime: false if that is not known
// to be the order of the field's values.
func order(c connection.Column) (warehouse.Order, bool) {
	r, isRanked := rankOf(c)
	_, isCompared := comparison(c)
	o := warehouse.Order{Key: r.key, Place: `concat('v', ` + r.place + `)`, Value: r.value, NullsLast: true,
		Nullable: c.Nullable || r.float}
	if r.float { // NaN is no value
		o.Key = `if(isNaN(` + r.key + `), NULL, ` + r.key + `)`
	}
	return o, isRanked && (isCompared || c.Type == connection.Date || c.Type == connection.DateTime)
}

// sorted returns how rows are sorted.
func (r rank) sorted() string {
	order := ``
	if r.float {
		order += `isNull(` + r.key + `), isNaN(` + r.key + `), `
	}
	return order + r.key + ` ASC NULLS LAST`
}
