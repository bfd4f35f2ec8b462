package sqlstore

import (
	"math/bits"
	"slices"
	"strings"
)

// conditions collects the parts of a WHERE clause with their arguments. The texts are constants of this package, so
// that all statements can stay prepared.
type conditions struct {
	texts  []string
	values []any
}

func newConditions(text string, values ...any) *conditions {
	return &conditions{texts: []string{text}, values: values}
}

// when adds a condition if it is wanted.
func (c *conditions) when(wanted bool, text string, values ...any) {
	if wanted {
		c.texts = append(c.texts, text)
		c.values = append(c.values, values...)
	}
}

// bounded adds that a column is below a position and not below a floor; either may be empty.
func (c *conditions) bounded(column, after, floor string) {
	c.when(after != "", column+` < ?`, after)
	c.when(floor != "", column+` >= ?`, floor)
}

// oneOf adds that a column is one of some values, if there are any. The last value is repeated until their number is a
// power of two, so that there are few different statements.
func oneOf[T any](c *conditions, column string, ids []T) {
	if len(ids) == 0 {
		return
	}
	n := 1 << bits.Len(uint(len(ids)-1))
	c.texts = append(c.texts, column+" IN (?"+strings.Repeat(", ?", n-1)+")")
	for i := range n {
		c.values = append(c.values, ids[min(i, len(ids)-1)])
	}
}

func (c *conditions) sql() string { return strings.Join(c.texts, " AND ") }

// args returns the arguments of the conditions and those that follow them.
func (c *conditions) args(more ...any) []any { return append(slices.Clone(c.values), more...) }

// likeEscape makes s match itself in LIKE … ESCAPE '\'.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace
