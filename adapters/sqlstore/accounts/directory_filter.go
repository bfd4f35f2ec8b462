package accounts

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
)

// directoryColumn is how a field of a directory's filter is compared.
type directoryColumn struct {
	sql    string
	key    func(string) string // makes a value what the column holds; nil: it is the value
	folded bool                // case does not matter; the database decides what that means
	rows   string              // the field is in rows of another table, of which one has to match; empty: it is not
}

// directoryWhere adds a filter to conditions. A nil filter adds nothing.
func directoryWhere(
	conditions *db.Conditions, f *account.DirectoryFilter, columns map[account.DirectoryField]directoryColumn,
) {
	if f != nil {
		sql, values := directoryCondition(f, columns)
		conditions.When(true, sql, values...)
	}
}

func directoryCondition(
	f *account.DirectoryFilter, columns map[account.DirectoryField]directoryColumn,
) (sql string, values []any) {
	if len(f.Terms) > 0 {
		terms, joint := make([]string, len(f.Terms)), ` AND `
		if f.IsAny {
			joint = ` OR `
		}
		for i := range f.Terms {
			term, args := directoryCondition(&f.Terms[i], columns)
			terms[i], values = term, append(values, args...)
		}
		return `(` + strings.Join(terms, joint) + `)`, values
	}
	column, ok := columns[f.Field]
	if !ok {
		return `1 = 0`, nil
	}
	sql, values = column.compare(f)
	if column.rows != "" {
		return `EXISTS (SELECT 1 FROM ` + column.rows + ` AND ` + sql + `)`, values
	}
	return sql, values
}

// compare returns a comparison with the column, which distinguishes case in the same way on both engines.
func (c directoryColumn) compare(f *account.DirectoryFilter) (sql string, values []any) {
	column, placeholder, value := c.sql, `CAST(? AS TEXT)`, f.Value
	if c.key != nil {
		value = c.key(value)
	}
	if c.folded {
		column, placeholder = `LOWER(`+column+`)`, `LOWER(`+placeholder+`)`
	}
	switch f.Operator {
	case account.DirectoryPresent:
		return column + ` <> ''`, nil
	case account.DirectoryStartsWith:
		return `SUBSTR(` + column + `, 1, LENGTH(` + placeholder + `)) = ` + placeholder, []any{value, value}
	case account.DirectoryContains:
		return `REPLACE(` + column + `, ` + placeholder + `, '') <> ` + column, []any{value}
	}
	if column == c.sql {
		placeholder = `?` // PostgreSQL uses the column's index
	}
	return column + ` = ` + placeholder, []any{value}
}
