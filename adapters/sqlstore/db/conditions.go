package db

import (
	"math/bits"
	"slices"
	"strings"
)

// Conditions collects the parts of a WHERE clause with their arguments. The parts are constants, so that all statements
// can stay prepared.
type Conditions struct {
	texts  []string
	Values []any
}

// NewConditions returns conditions that begin with text. Its placeholders stand for values.
func NewConditions(text string, values ...any) *Conditions {
	return &Conditions{texts: []string{text}, Values: values}
}

// When adds a condition if it is wanted.
func (c *Conditions) When(isWanted bool, text string, values ...any) {
	if isWanted {
		c.texts = append(c.texts, text)
		c.Values = append(c.Values, values...)
	}
}

// PageBounds adds that a column is below a position and not below a floor; either may be empty.
func (c *Conditions) PageBounds(column, cursor, floor string) {
	c.When(cursor != "", column+` < ?`, cursor)
	c.When(floor != "", column+` >= ?`, floor)
}

// OneOf adds that a column is one of some values, if there are any. The last value is repeated until their number is a
// power of two, so that there are few different statements.
func OneOf[T any](c *Conditions, column string, ids []T) {
	if len(ids) == 0 {
		return
	}
	n := 1 << bits.Len(uint(len(ids)-1))
	c.texts = append(c.texts, column+" IN ("+Placeholders(n)+")")
	for i := range n {
		c.Values = append(c.Values, ids[min(i, len(ids)-1)])
	}
}

// Placeholders returns n placeholders of a list; n is at least 1.
func Placeholders(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// AppendAll appends values to the arguments of a statement.
func AppendAll[T any](args []any, values []T) []any {
	for _, v := range values {
		args = append(args, v)
	}
	return args
}

// SQL returns the WHERE clause, without the keyword.
func (c *Conditions) SQL() string { return strings.Join(c.texts, " AND ") }

// Args returns the arguments of the conditions and those that follow them.
func (c *Conditions) Args(others ...any) []any { return append(slices.Clone(c.Values), others...) }

// LikeEscape makes s match itself in LIKE … ESCAPE '\'.
var LikeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace
