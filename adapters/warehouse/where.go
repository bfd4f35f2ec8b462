package warehouse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Comparison is how a kind's SQL compares a column's values. A row that satisfies a condition must satisfy its
// SQL, and may satisfy it although it does not satisfy the condition: the caller looks at each row again.
type Comparison struct {
	Name  string                           // the expression of the column's values
	Text  func(text string) (string, bool) // a value as Value takes it; false if the column can have no such value
	Value func(text string) string         // the expression of a value

	// IsRounded says that Value may round, so that a value that is greater than the text may be equal to it.
	IsRounded bool

	// Ordered are texts by their code points, an expression of which is made from one of texts. nil for values of
	// other types, which have the order of their types.
	Ordered func(expression string) string

	// Prefix is the condition that a text begins with another one; empty for none. nil if values are no texts.
	Prefix func(text string) string

	// Contains is the condition that a text contains another one, as it does if it is that one after spaces or
	// "mailto:" are removed. nil if values are no texts.
	Contains func(text string) string

	// Others is the condition that a value is not of the column's type, where the database allows that. Empty for none.
	Others string
}

// Where returns a query's conditions as SQL, without those that the types of their columns do not allow, and tells out
// whether it has all of them. compare returns how a column's values are compared, which have the type of the condition.
func Where(
	q connection.RowsQuery, columns []connection.Column, out *Batches,
	compare func(connection.Column) (Comparison, bool),
) (all []string) {
	for _, condition := range q.Where {
		i := slices.IndexFunc(columns, func(c connection.Column) bool { return c.Name == condition.Column })
		if i < 0 || !comparable(columns[i].Type, condition.Type) {
			continue
		}
		c, ok := compare(columns[i])
		if !ok {
			continue
		}
		sql := ""
		if !isSpecial(condition) {
			sql = c.sql(condition)
		}
		if sql != "" && c.Others != "" {
			sql += ` OR ` + c.Others
		}
		if sql != "" {
			all = append(all, `(`+sql+`)`)
		}
	}
	out.Apply(len(all) == len(q.Where))
	return all
}

// isSpecial reports whether a condition has a value that may stand for bytes that are no UTF-8 (see value), or a NUL,
// with which texts end for some databases.
func isSpecial(c connection.Condition) bool {
	return slices.ContainsFunc(c.Values, func(v *string) bool {
		return v != nil && strings.ContainsAny(*v, "\x00\uFFFD")
	})
}

// comparable reports whether a column's type has the same values as a field's, and does not only write them alike.
func comparable(t connection.Type, field column.Type) bool {
	switch field {
	case column.Integer, column.Number:
		return t == connection.Integer || t == connection.Number
	case column.Boolean:
		return t == connection.Boolean
	case column.Date:
		return t == connection.Date
	case column.DateTime:
		return t == connection.DateTime
	case column.String, column.Text, column.Email, column.URL:
		return t == connection.Text
	}
	return false // enums are compared in any case
}

// symbols are SQL's names of the operators that compare with one value.
var symbols = map[column.Operator]string{column.Greater: " > ", column.AtLeast: " >= ", column.Less: " < ",
	column.AtMost: " <= "}

// sql returns a condition's SQL, or "" if the column cannot be compared so.
func (c *Comparison) sql(condition connection.Condition) string {
	if condition.Type == column.Email || condition.Type == column.URL {
		return c.contained(condition)
	}
	switch condition.Operator {
	case column.IsNull:
		if *condition.Values[0] == "true" {
			return c.isNull()
		}
		return c.Name + ` IS NOT NULL`
	case column.Equals, column.In:
		return c.equals(condition.Values)
	case column.StartsWith:
		if c.Prefix == nil {
			return ""
		}
		return c.Prefix(*condition.Values[0])
	}
	text, ok := c.Text(*condition.Values[0])
	if !ok || (c.Prefix != nil && c.Ordered == nil) { // texts whose order may be another one
		return ""
	}
	value, symbol := c.Value(text), symbols[condition.Operator]
	if c.IsRounded && !strings.Contains(symbol, "=") {
		symbol = strings.TrimRight(symbol, " ") + "= "
	}
	if c.Ordered != nil {
		return c.Ordered(c.Name) + symbol + c.Ordered(value)
	}
	return c.Name + symbol + value
}

// contained returns the SQL of a condition on texts that Field.Value trims.
func (c *Comparison) contained(condition connection.Condition) string {
	if condition.Operator == column.IsNull && *condition.Values[0] == "false" {
		return c.Name + ` IS NOT NULL`
	}
	if c.Contains == nil || condition.Operator == column.IsNull || condition.Operator.IsRange() ||
		slices.Contains(condition.Values, nil) {
		return ""
	}
	var conditions []string
	for _, text := range condition.Values {
		conditions = append(conditions, c.Contains(*text))
	}
	return strings.Join(conditions, ` OR `)
}

// isNull returns the condition that a value is none, as an empty text is none.
func (c *Comparison) isNull() string {
	if c.Prefix != nil {
		if text, ok := c.Text(""); ok {
			return c.Name + ` IS NULL OR ` + c.Name + ` = ` + c.Value(text)
		}
	}
	return c.Name + ` IS NULL`
}

// equals returns the condition that a value is one of some; nil is none.
func (c *Comparison) equals(values []*string) string {
	var texts []string
	for _, value := range values {
		if value == nil {
			continue
		}
		text, ok := c.Text(*value)
		if !ok {
			return ""
		}
		texts = append(texts, text)
	}
	var conditions []string
	if len(texts) < len(values) {
		conditions = append(conditions, c.isNull())
	}
	for _, text := range texts { // IN takes only some expressions in ClickHouse
		conditions = append(conditions, c.Name+` = `+c.Value(text))
	}
	return strings.Join(conditions, ` OR `)
}

// Clause joins conditions to a WHERE clause; empty without any.
func Clause(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(conditions, ` AND `)
}

// AnyText is Comparison.Text of columns that can have each value.
func AnyText(text string) (string, bool) { return text, true }

// UTC is Comparison.Text of times: as databases read them, in UTC and without an offset.
func UTC(text string) (string, bool) {
	moment, err := column.Instant(text)
	return moment.UTC().Format("2006-01-02 15:04:05.999999999"), err == nil
}

// Moments returns Comparison.Text of times in UTC, which a layout writes: those that have four digits for the year.
func Moments(layout string) func(text string) (string, bool) {
	return func(text string) (string, bool) {
		moment, err := column.Instant(text)
		const lastYear = 9999
		return moment.UTC().Format(layout), err == nil && moment.UTC().Year() > 0 && moment.UTC().Year() <= lastYear
	}
}

// Integers returns Comparison.Text of integers with some bits. Decimals are cut, so that it rounds.
func Integers(bits int) func(number string) (string, bool) {
	return func(number string) (string, bool) {
		plain, ok := column.PlainNumber(number)
		integer, _, _ := strings.Cut(plain, ".")
		_, err := strconv.ParseInt(integer, 10, bits)
		return integer, ok && err == nil
	}
}

// Decimals returns Comparison.Text of numbers with a precision and a scale: those that have not too many digits before
// the point. Those after it are cut, so that it rounds.
func Decimals(precision, scale int) func(number string) (string, bool) {
	return func(number string) (string, bool) {
		plain, ok := column.PlainNumber(number)
		integer, fraction, _ := strings.Cut(plain, ".")
		if !ok || len(strings.TrimLeft(integer, "-0")) > precision-scale {
			return "", false
		}
		if fraction = fraction[:min(scale, len(fraction))]; fraction != "" {
			return integer + "." + fraction, true
		}
		return integer, true
	}
}

// Floats returns Comparison.Text of floating-point numbers with 32 or 64 bits: not infinite, and not rounded to 0.
func Floats(bits int) func(number string) (string, bool) {
	return func(number string) (string, bool) {
		plain, ok := column.PlainNumber(number)
		v, err := strconv.ParseFloat(number, bits)
		return plain, ok && err == nil && (v != 0 || plain == "0")
	}
}
