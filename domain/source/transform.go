package source

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/column"
)

// transformed lists the types of fields to which each transformation part applies; those that are not here apply to
// all.
var (
	casedTypes   = []column.Type{column.String, column.Text, column.Email, column.URL}
	datedTypes   = []column.Type{column.Date, column.DateTime}
	decimalTypes = []column.Type{column.Integer, column.Number}
)

// checkTransform calls add with each error in the transformation of p to a field: where it is in the pair, its code and
// its detail. A nil f is another error.
func checkTransform(f *column.Field, columns []column.Header, p Pair, add func(path, code, detail string)) {
	t := p.Transform
	if f == nil {
		return
	}
	fits := func(member string, isSet bool, types []column.Type, detail string) {
		if isSet && !slices.Contains(types, f.Type) {
			add("/transform/"+member, "not_allowed_value", detail)
		}
	}
	fits("case", t.Case != "", casedTypes, "Must only be set for a field of type string, text, email or url.")
	fits("date_order", t.Dates != "", datedTypes, "Must only be set for a field of type date or datetime.")
	fits("decimal", t.Decimal != "", decimalTypes, "Must only be set for a field of type integer or number.")
	if _, ok := column.NewFormat(t.Format, f.Type); !ok && t.Format != "" {
		add("/transform/format", "not_allowed_value", "Must be, for a field of type date or datetime, a pattern such "+
			"as DD.MM.YYYY, or unix, unix_ms, unix_us or excel; and hundredths or thousandths for a field of type "+
			"integer or number.")
	}
	fits("values", len(t.Values) > 0, []column.Type{column.Enum}, "Must only be set for a field of type enum.")
	if t.Split != nil && utf8.RuneCountInString(t.Split.Separator) > column.MaxSeparator {
		add("/transform/split/separator", "too_long", "Must have at most 10 characters.")
	}
	if t.Join != nil {
		checkJoin(columns, p, add)
	}
	seen := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(t.Values)) {
		key := strings.ToLower(strings.TrimSpace(from))
		switch {
		case key == "" || utf8.RuneCountInString(from) > column.MaxCell:
			add("/transform/values", "not_allowed_value",
				"Each text must have 1 to 256 characters, and not only spaces.")
		case seen[key]:
			add("/transform/values", "duplicate_item", "Two texts differ only in upper and lower case, or in spaces.")
		case f.Type == column.Enum && !slices.Contains(f.Enum, t.Values[from]):
			add("/transform/values", "not_allowed_value", "A text is mapped to a value that the field does not have.")
		default:
			seen[key] = true
			continue
		}
		break // the same error for hundreds of values helps no one
	}
	if len(t.Values) > column.MaxReplaced {
		add("/transform/values", "too_many_items", "Must have at most 200 texts.")
	}
}

// checkJoin reports columns that do not exist and columns that are joined twice.
func checkJoin(columns []column.Header, p Pair, add func(path, code, detail string)) {
	j := p.Transform.Join
	if n := len(j.Columns); n < 1 || n > column.MaxJoined {
		add("/transform/join/columns", "not_allowed_value", "Must be 1 to 4 columns.")
	}
	if utf8.RuneCountInString(j.Separator) > column.MaxSeparator {
		add("/transform/join/separator", "too_long", "Must have at most 10 characters.")
	}
	for i, name := range j.Columns {
		switch {
		case columnNamed(columns, name) == nil:
			add("/transform/join/columns", "unknown_column", "The table has no such column.")
		case name == p.Column || slices.Contains(j.Columns[:i], name):
			add("/transform/join/columns", "duplicate_item", "A column is joined twice.")
		}
	}
}

// Columns returns the columns that p reads: its own, then those that it joins.
func (p Pair) Columns() []string { return append([]string{p.Column}, p.Transform.Joined()...) }

// Transformed is a field value before and after the transformation of its column.
type Transformed struct {
	Field  string
	Before []*string    // the strings of Pair.Columns
	After  column.Value // as column.Field.Value returns it
	Code   column.Invalid
}

// Transform applies pairs to the rows of a backend table, which has columns, and returns for each row a value of each
// pair. It returns ErrMappingInvalid for pairs that a mapping cannot have, but accepts ones that name not all required
// fields.
func (t Type) Transform(b Backend, columns []column.Header, pairs []Pair, rows [][]*string) ([][]Transformed, error) {
	optional := t
	optional.Fields = slices.Clone(t.Fields)
	for i := range optional.Fields {
		optional.Fields[i].Required = false
	}
	if err := checkMapping(optional, columns, pairs); err != nil {
		return nil, err
	}
	out := make([][]Transformed, len(rows))
	for _, p := range pairs {
		f := t.field(p.Field)
		texts, originals := make([]*string, len(rows)), make([][]*string, len(rows))
		for i, row := range rows {
			originals[i] = p.cells(columns, row)
			texts[i] = p.Transform.Text(originals[i][0], originals[i][1:])
		}
		style := column.Warehouse
		if b == SheetBackend {
			style = column.StyleOf(texts)
		}
		style = p.Transform.Style(style, f.Type)
		for i := range rows {
			v := Transformed{Field: p.Field, Before: originals[i]}
			if v.After, v.Code = f.Value(texts[i], style); v.After.IsNull() && v.Code == "" && f.Required {
				v.Code = column.Missing
			}
			out[i] = append(out[i], v)
		}
	}
	return out, nil
}

// cells returns the row cells that p reads, nil for those that the row does not have.
func (p Pair) cells(columns []column.Header, row []*string) []*string {
	names := p.Columns()
	out := make([]*string, len(names))
	for i, name := range names {
		index := slices.IndexFunc(columns, func(h column.Header) bool { return h.Name == name })
		if index >= 0 && index < len(row) {
			out[i] = row[index]
		}
	}
	return out
}
