package warehouse

import (
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// Order is how a kind's SQL orders rows by a column's values: texts by their code points, and others by their type.
type Order struct {
	Key       string                    // the expression of the values
	Place     string                    // "v" and a text that loses nothing of the value; NULL if it takes too much
	Value     func(place string) string // the expression of the value whose text is after "v"
	Nullable  bool
	NullsLast bool // whether the SQL has NULLS LAST

	// NullsFirst says that the SQL has NULL before other values, and no conditions as values.
	NullsFirst bool
}

// noValue is the place of rows without a value.
const noValue = "n"

// SortOf returns the order for a query's Sort, and tells out whether the database has it: nil if the query has none, or
// if orderOf has none of the column.
func SortOf(
	q connection.RowsQuery, columns []connection.Column, out *Batches,
	orderOf func(connection.Column) (Order, bool),
) *Order {
	if q.Sort == nil {
		return nil
	}
	i := slices.IndexFunc(columns, func(c connection.Column) bool { return c.Name == q.Sort.Column })
	if i < 0 || !comparable(columns[i].Type, q.Sort.Type) {
		return nil
	}
	order, ok := orderOf(columns[i])
	if !ok {
		return nil
	}
	out.next.Sorted = true
	return &order
}

// AddPlace adds the expression of a row's place to a list of columns, if o is not nil.
func (o *Order) AddPlace(list []string) []string {
	if o == nil {
		return list
	}
	return append(list, o.RowPlace())
}

// RowPlace is the expression of a row's place in o.
func (o *Order) RowPlace() string {
	if !o.Nullable {
		return o.Place
	}
	return `CASE WHEN ` + o.Key + ` IS NULL THEN '` + noValue + `' ELSE ` + o.Place + ` END`
}

// PlaceOf returns a row's place for kinds that select the value itself, whose text loses nothing of it.
func PlaceOf(text *string) *string {
	if text == nil {
		return new(noValue)
	}
	return new("v" + *text)
}

// Sorting is how rows are sorted.
func (o *Order) Sorting(s *connection.Sort) string {
	key := o.Key
	if s.Descending {
		key += ` DESC`
	}
	switch {
	case !o.Nullable:
		return key
	case o.NullsLast:
		return key + ` NULLS LAST`
	case o.NullsFirst && s.Descending:
		return key
	case o.NullsFirst:
		return `CASE WHEN ` + key + ` IS NULL THEN 1 ELSE 0 END, ` + key
	}
	return o.Key + ` IS NULL, ` + key
}

// Beyond is the condition that a row is behind the place of s. tie is the condition that it is behind a row with the
// same value; empty if none is.
func (o *Order) Beyond(s *connection.Sort, tie string) (string, error) {
	if tie == "" {
		tie = `1 = 0`
	}
	place, isValue := strings.CutPrefix(*s.After, "v")
	if !isValue {
		if *s.After != noValue {
			return "", connection.KeyUnsupported
		}
		return `(` + o.Key + ` IS NULL AND (` + tie + `))`, nil
	}
	value, symbol, isNull := o.Value(place), ` > `, ``
	if s.Descending {
		symbol = ` < `
	}
	if o.Nullable {
		isNull = ` OR ` + o.Key + ` IS NULL`
	}
	// The first condition is one that an index can be used for.
	return `((` + o.Key + strings.TrimRight(symbol, ` `) + `= ` + value + isNull + `) AND (` + o.Key + symbol + value +
		isNull + ` OR ` + tie + `))`, nil
}

// ByBoth is how rows are sorted by o, if it is not nil, and then by their key; both can be empty.
func (o *Order) ByBoth(q connection.RowsQuery, key string) string {
	switch {
	case o != nil && key != "":
		key = o.Sorting(q.Sort) + `, ` + key
	case o != nil:
		key = o.Sorting(q.Sort)
	case key == "":
		return ""
	}
	return ` ORDER BY ` + key
}

// AddBehind adds the condition that a row is behind the places of q, by o if it is not nil, if q has one. tail is the
// condition that it is behind the place of the key, if q has that.
func (o *Order) AddBehind(conditions []string, q connection.RowsQuery, tail string) ([]string, error) {
	switch {
	case o != nil && q.Sort.After != nil:
		condition, err := o.Beyond(q.Sort, tail)
		return append(conditions, condition), err
	case tail != "":
		return append(conditions, `(`+tail+`)`), nil
	}
	return conditions, nil
}

// MostRows is the most rows of q, which are in the order o if it is not nil.
func (o *Order) MostRows(q connection.RowsQuery) int {
	if o != nil {
		return q.Sort.Limit
	}
	return q.Limit
}
