package sources

import (
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// RowFilter is a condition on a field's values.
type RowFilter struct {
	Field    string
	Operator column.Operator
	Texts    []string // one, or several of column.In
}

// FilteredBy tells where rows were left out that do not satisfy the filters.
type FilteredBy string

// The places.
const (
	BySource FilteredBy = "source" // the database looked for the rows
	ByAtrium FilteredBy = "atrium" // all rows were read, or those that satisfy some of the filters
)

var (
	errFilter = wrongParameter("A filter has a value that its field cannot have, or compares what has no order: " +
		"is_null takes true or false, gt, gte, lt and lte compare numbers, dates, times and strings, and starts_with " +
		"strings.")
	errRawRange      = wrongParameter("gt, gte, lt and lte cannot be combined with raw.")
	errTooManyValues = wrongParameter("in takes at most 200 values.")
)

// maxValues is how many values column.In takes, all of which each row is compared with.
const maxValues = 200

// addFilters checks the query's filters, and adds the fields that they compare.
func (r *rowReader) addFilters(mappedFields []source.MappedField, add func(mapped int) (field int)) error {
	for _, filter := range r.query.Filters {
		if len(filter.Texts) > maxValues {
			return errTooManyValues
		}
		i := fieldAt(mappedFields, filter.Field)
		if i < 0 {
			return source.ErrUnknownField
		}
		condition, err := conditionOf(mappedFields[i].Field, filter, r.query.Raw)
		if err != nil {
			return err
		}
		field := add(i)
		r.filters[field] = append(r.filters[field], condition)
	}
	return nil
}

// conditionOf returns a filter's condition on a field's values, or on its strings as the source has them.
func conditionOf(f column.Field, filter RowFilter, raw bool) (column.Condition, error) {
	if raw {
		if f.Type = column.String; filter.Operator.IsRange() {
			return column.Condition{}, errRawRange
		}
	}
	c, ok := f.Condition(filter.Operator, filter.Texts)
	if !ok {
		return c, errFilter
	}
	return c, nil
}

// where returns the conditions that the database can be given, and whether they stand for all filters: those on values
// that are as the column has them, or whose transformation can be inverted.
func (r *rowReader) where() (conditions []connection.Condition, isWhole bool) {
	if r.query.Raw {
		return nil, false
	}
	isWhole = true
	for i := range r.fields {
		for _, filter := range r.filters[i] {
			inverse, ok := r.fields[i].Transform.Inverse(filter)
			isWhole = isWhole && ok
			for _, c := range inverse {
				condition := connection.Condition{Column: r.fields[i].Column, Type: c.Type, Operator: c.Operator}
				for _, v := range c.Values {
					condition.Values = append(condition.Values, textOrNil(v))
				}
				conditions = append(conditions, condition)
			}
		}
	}
	return conditions, isWhole
}

// filteredBy returns where the filters were applied.
func (r *rowReader) filteredBy() FilteredBy {
	if len(r.filters) == 0 {
		return ""
	}
	if _, isWhole := r.where(); isWhole && r.applied {
		return BySource
	}
	return ByAtrium
}

func textOrNil(v column.Value) *string {
	if v.IsNull() {
		return nil
	}
	return &v.Text
}

// satisfies reports whether a row satisfies a field's filters, for which it has a value or an invalid one. The
// database may have applied them less exactly.
func (r *rowReader) satisfies(field int, value column.Value, reason column.Invalid) bool {
	for _, c := range r.filters[field] {
		if (reason != "" && reason != column.Missing) || !c.Holds(value) {
			return false
		}
	}
	return true
}
