package sqlstore

import (
	"slices"
	"strings"
)

// conditions gathers the parts of a WHERE clause with their arguments. The texts are constants of
// this package, so that the statements stay few enough to be kept prepared.
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

func (c *conditions) sql() string { return strings.Join(c.texts, " AND ") }

// args returns the arguments of the conditions and those that follow them.
func (c *conditions) args(more ...any) []any { return append(slices.Clone(c.values), more...) }

// likeEscape makes s match itself in LIKE … ESCAPE '\'.
var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace
