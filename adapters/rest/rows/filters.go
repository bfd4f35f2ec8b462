package rows

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
)

// operators are the operators of filter[field][operator]. Without one, values must be equal.
var operators = []column.Operator{column.Greater, column.AtLeast, column.Less, column.AtMost, column.In, column.IsNull,
	column.StartsWith}

var errOperator = &fault.Error{Kind: openapi.ErrInvalidParameter.Kind, Code: openapi.ErrInvalidParameter.Code,
	Detail: "A filter is filter[field]=value or filter[field][operator]=value, and the operators are gt, gte, lt, " +
		"lte, in, is_null and starts_with."}

// filters reads the parameters filter[field]=value and filter[field][operator]=value.
func filters(query url.Values) (all []sources.RowFilter, err error) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		path, isFilter := strings.CutPrefix(name, "filter[")
		if !isFilter {
			continue
		}
		field, operator, hasOperator := strings.Cut(strings.TrimSuffix(path, "]"), "][")
		filter := sources.RowFilter{Field: field, Operator: column.Equals, Texts: []string{query.Get(name)}}
		if hasOperator {
			filter.Operator = column.Operator(operator)
			if !slices.Contains(operators, filter.Operator) {
				return nil, errOperator
			}
		}
		if filter.Operator == column.In {
			filter.Texts = list(query.Get(name))
		}
		all = append(all, filter)
	}
	return all, nil
}

// list splits a text at its commas. A comma or a backslash that belongs to a value has a backslash before it.
func list(text string) (values []string) {
	var value strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && (text[i+1] == ',' || text[i+1] == '\\'):
			i++
			value.WriteByte(text[i])
		case c == ',':
			values = append(values, value.String())
			value.Reset()
		default:
			value.WriteByte(c)
		}
	}
	return append(values, value.String())
}
