package sources

import (
	"cmp"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// SortedBy tells who put rows in the order that was asked for.
type SortedBy string

// The places.
const (
	SortedBySource SortedBy = "source" // the database
	SortedByAtrium SortedBy = "atrium" // all rows were read
)

// maxSorted is the most bytes of rows that are kept until all are read.
const maxSorted = 32 << 20

var (
	errRawSort  = wrongParameter("sort cannot be combined with raw.")
	errJSONSort = wrongParameter("Values of the type json have no order.")

	// ErrTooMuchToSort is returned if the rows to sort take more than maxSorted.
	ErrTooMuchToSort = source.ErrOutOfMemory.Because("Atrium sorts these rows, and they need more memory than it has " +
		"for one read. Read pages, fewer fields, or fewer rows with a filter.")
)

// sorting is a read's order.
type sorting struct {
	field      int // that rows are in the order of
	key        int // the field that decides between equal ones; -1 for none
	fieldType  column.Type
	keyType    column.Type
	descending bool
	rows       []sortedRow // that were kept, if Atrium sorts
	bytes      int         // of them
	isAtriums  bool        // Atrium sorts
}

// sortPlace is where a row is in an order.
type sortPlace struct {
	Place  *string `json:",omitempty"` // as connection.Sort has it; nil if Atrium sorts
	Value  *string `json:",omitempty"` // of the field, and of the key
	Key    *string `json:",omitempty"`
	Number int     `json:",omitempty"` // in the file
}

type sortedRow struct {
	Row
	place sortPlace
}

// addSort checks the query's order, and adds the field that it needs.
func (r *rowReader) addSort(mappedFields []source.MappedField, add func(mapped int) (field int)) error {
	if r.query.Sort == "" {
		return nil
	}
	key, isDescending := strings.CutPrefix(r.query.Sort, "-")
	i := fieldAt(mappedFields, key)
	switch {
	case i < 0:
		return source.ErrUnknownField
	case r.query.Raw:
		return errRawSort
	case mappedFields[i].Type == column.JSON:
		return errJSONSort
	}
	r.sort = &sorting{field: add(i), key: -1, fieldType: mappedFields[i].Type, descending: isDescending}
	return nil
}

// addKey adds the field that a table's pages are in the order of, and that decides between equal values of an order.
func (r *rowReader) addKey(
	src *source.Source, mappedFields []source.MappedField, add func(mapped int) (field int),
) error {
	isPaged := r.query.Pages || r.query.After != ""
	if src.Location.Backend() != source.WarehouseBackend || (!isPaged && r.sort == nil) {
		return nil
	}
	i, err := src.PageKey(mappedFields)
	switch {
	case err != nil && isPaged:
		return err
	case err != nil, i < 0:
		return nil
	}
	r.key = mappedFields[i].Column
	if key := add(i); r.sort != nil {
		r.sort.key, r.sort.keyType = key, mappedFields[i].Type
	}
	return nil
}

// order returns the order that the database is asked for: nil for none, and if Atrium sorts.
func (r *rowReader) order() *connection.Sort {
	if r.sort == nil || !r.fields[r.sort.field].Transform.IsZero() || (r.from.Sort != nil && r.from.Sort.Place == nil) {
		return nil
	}
	order := &connection.Sort{Column: r.fields[r.sort.field].Column, Type: r.sort.fieldType,
		Descending: r.sort.descending, Limit: r.limit()}
	if r.from.Sort != nil {
		order.After = r.from.Sort.Place
	}
	return order
}

// readLimit returns the maximum number of rows to read in an order that is not the query's.
func (r *rowReader) readLimit() int {
	if r.sort != nil {
		return r.maxRows + 1
	}
	return r.limit()
}

// beginSort takes whether the database sorts. A position in its order cannot be found in another one.
func (r *rowReader) beginSort(isSorted bool) error {
	if r.sort == nil {
		return nil
	}
	if r.sort.isAtriums = !isSorted; r.sort.isAtriums && r.from.Sort != nil && r.from.Sort.Place != nil {
		return source.ErrSourceChanged
	}
	return nil
}

// sortedBy returns who sorted.
func (r *rowReader) sortedBy() SortedBy {
	switch {
	case r.sort == nil:
		return ""
	case r.sort.isAtriums:
		return SortedByAtrium
	}
	return SortedBySource
}

// keep keeps the row that was read, if Atrium sorts.
func (r *rowReader) keep() error {
	s := r.sort
	place := sortPlace{Value: textOrNil(r.fullRow.Values[s.field])}
	if s.key >= 0 {
		place.Key = textOrNil(r.fullRow.Values[s.key])
	}
	if r.version != "" {
		place.Number = r.row.Number
	}
	if r.from.Sort != nil && s.compare(place, *r.from.Sort) <= 0 {
		return nil
	}
	row := sortedRow{Row{r.row.Number, slices.Clone(r.values()), slices.Clone(r.row.Invalid)}, place}
	for i, v := range row.Values {
		row.Values[i].Text = strings.Clone(v.Text)
		s.bytes += rowOverhead + len(v.Text)
	}
	row.place.Value, row.place.Key = clone(place.Value), clone(place.Key)
	s.rows = append(s.rows, row)
	if limit := r.query.Limit + 1; limit > 1 && len(s.rows) >= 2*limit {
		s.arrange(limit)
	}
	if s.bytes > maxSorted {
		return ErrTooMuchToSort
	}
	return nil
}

// rowOverhead is about what a value takes besides its text.
const rowOverhead = 48

// arrange sorts the rows that were kept, and keeps the first ones.
func (s *sorting) arrange(limit int) {
	slices.SortStableFunc(s.rows, func(a, b sortedRow) int { return s.compare(a.place, b.place) })
	for _, row := range s.rows[min(limit, len(s.rows)):] {
		for _, v := range row.Values {
			s.bytes -= rowOverhead + len(v.Text)
		}
	}
	clear(s.rows[min(limit, len(s.rows)):])
	s.rows = s.rows[:min(limit, len(s.rows))]
}

// compare returns the order of two rows: those without a value are the last ones in any direction.
func (s *sorting) compare(a, b sortPlace) int {
	order := compareTexts(s.fieldType, a.Value, b.Value)
	if s.descending && a.Value != nil && b.Value != nil {
		order = -order
	}
	return cmp.Or(order, compareTexts(s.keyType, a.Key, b.Key), cmp.Compare(a.Number, b.Number))
}

// compareTexts compares values with a type; nil is the greatest.
func compareTexts(t column.Type, a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return column.Compare(t, *a, *b)
}

// emitSorted passes on the rows that Atrium sorted.
func (r *rowReader) emitSorted() error {
	if r.sort == nil || !r.sort.isAtriums {
		return nil
	}
	limit := len(r.sort.rows)
	if r.query.Limit > 0 {
		limit = r.query.Limit
	}
	r.sort.arrange(limit + 1)
	for i, row := range r.sort.rows {
		if i == limit {
			r.more = true
			r.repeated = r.sort.compare(row.place, *r.last.Sort) == 0
			break
		}
		r.last.Sort = &row.place
		if err := r.each(row.Row); err != nil {
			return err
		}
	}
	return nil
}
