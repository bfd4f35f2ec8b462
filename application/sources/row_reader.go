package sources

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
)

// rowReader converts batches to rows.
type rowReader struct {
	ctx       context.Context //nolint:containedctx // of the read, which it lasts as long as
	query     RowsQuery
	fields    []source.MappedField // the query's fields first, then the fields that only filters and the order need
	names     []string             // the columns that are read
	columnsOf [][]int              // of each field, its Columns in names
	shown     int                  // of the query
	key       string               // the column that rows are ordered by; empty for none
	shape     string
	from      position
	maxRows   int // rows that may be read
	bytes     int // that their values may still have
	begin     func() error
	each      func(Row) error

	style    column.Style // of a warehouse
	styles   []column.Style
	filters  map[int][]column.Condition
	applied  bool     // the database was given all filters
	sort     *sorting // nil for none
	started  bool
	read     int // rows that were read, with those that were left out
	emitted  int
	version  string
	last     position
	repeated bool // the row after the last one has its place
	more     bool
	cut      *fault.Error
	distinct *distinct // nil if values are not compared
	since    *sinceFilter
	mapped   []column.Field // all fields, in the order of the type
	placeOf  []int          // of each of mapped in fields, for since
	row      Row            // the one that is read
	fullRow  Row            // it with the fields that are not shown; it shares their values

	isAdmitted bool // the read goes on with one that the limits on previews have counted

	isCount bool   // only the number of a table's rows is read
	total   *int64 // which the database counted

	idFrom  int // the field that ids are made from; -1 for no ids
	keyHash func(column.Value) (source.KeyHash, bool)
	withID  []column.Value // of the row that is read
}

// newRowReader checks a query against the mapping. Its fields are those to show, then those that only filters and keys
// read.
func newRowReader(src *source.Source, t *source.Type, q RowsQuery, shape string) (*rowReader, error) {
	mappedFields, err := src.MappedFields(t)
	if err != nil {
		return nil, err
	}
	r := &rowReader{query: q, idFrom: -1, shape: shape, filters: map[int][]column.Condition{}}
	if q.Distinct {
		r.distinct = newDistinct()
	}
	if r.fields = mappedFields; q.Fields != nil {
		r.fields = nil
		for _, key := range q.Fields {
			if i := fieldAt(mappedFields, key); i >= 0 && fieldAt(r.fields, key) < 0 {
				r.fields = append(r.fields, mappedFields[i])
				continue
			}
			return nil, source.ErrUnknownField
		}
	}
	r.fields, r.shown = slices.Clip(r.fields), len(r.fields)
	add := func(i int) int {
		if field := fieldAt(r.fields, mappedFields[i].Key); field >= 0 {
			return field
		}
		r.fields = append(r.fields, mappedFields[i])
		return len(r.fields) - 1
	}
	if err := r.addFilters(mappedFields, add); err != nil {
		return nil, err
	}
	if err := r.addSort(mappedFields, add); err != nil {
		return nil, err
	}
	if err := r.addKey(src, mappedFields, add); err != nil {
		return nil, err
	}
	if q.Since != "" {
		if q.Raw {
			return nil, errRawSince
		}
		for i, f := range mappedFields {
			r.mapped, r.placeOf = append(r.mapped, f.Field), append(r.placeOf, add(i))
		}
	}
	switch i := fieldAt(mappedFields, src.ChangeKey); {
	case q.Removed && q.Since == "":
		return nil, errRemoved
	case q.IDs && q.Raw:
		return nil, errRawIDs
	case q.IDs && i < 0:
		return nil, source.ErrNotCompared
	case q.IDs:
		r.idFrom = add(i)
	}
	r.addColumns()
	if q.After != "" {
		if json.Unmarshal([]byte(q.After), &r.from) != nil || r.from.Shape != r.shape || r.from.Key != r.key ||
			(r.from.Sort == nil) != (r.sort == nil) ||
			(src.Location.Backend() == source.WarehouseBackend && r.from.Place == nil && r.from.Sort == nil) {
			return nil, source.ErrSourceChanged
		}
	}
	return r, nil
}

// addColumns adds the columns that the fields need.
func (r *rowReader) addColumns() {
	for _, f := range r.fields {
		var columns []int
		for _, name := range f.Columns() {
			if !slices.Contains(r.names, name) {
				r.names = append(r.names, name)
			}
			columns = append(columns, slices.Index(r.names, name))
		}
		r.columnsOf = append(r.columnsOf, columns)
	}
}

func fieldAt(fields []source.MappedField, key string) int {
	return slices.IndexFunc(fields, func(f source.MappedField) bool { return f.Key == key })
}

var (
	errRawSince = wrongParameter("since cannot be combined with raw.")
	errRawIDs   = wrongParameter("ids cannot be combined with raw.")
	errRemoved  = wrongParameter("removed requires since.")
)

func wrongParameter(detail string) error {
	return &fault.Error{Kind: source.ErrUnknownField.Kind, Code: source.ErrUnknownField.Code, Detail: detail}
}

func emptyIfNull(cell *string) string {
	if cell == nil {
		return ""
	}
	return *cell
}

func valueOrNull(text string) column.Value {
	if text == "" {
		return column.Value{}
	}
	return column.TextValue(text)
}

// selected returns the fields of the query.
func (r *rowReader) selected() []column.Field {
	out := make([]column.Field, r.shown)
	for i := range out {
		out[i] = r.fields[i].Field
	}
	if r.idFrom >= 0 {
		out = append(out, column.Field{Key: IDField, Type: column.String})
	}
	return out
}

// exact returns which sheet columns are read as they are stored: numbers and dates that are values as they are.
func (r *rowReader) exact() []bool {
	types := []column.Type{column.Integer, column.Number, column.Boolean, column.Date, column.DateTime}
	out := make([]bool, len(r.names))
	for i := range out {
		out[i] = !r.query.Raw
	}
	for i, f := range r.fields {
		for _, place := range r.columnsOf[i] {
			out[place] = out[place] && slices.Contains(types, f.Type) && !f.Transform.IsPartial()
		}
	}
	return out
}

// text returns a field's text in a row, after its transformation.
func (r *rowReader) text(field int, cells []*string) *string {
	columns, transform := r.columnsOf[field], &r.fields[field].Transform
	if r.query.Raw || transform.IsZero() {
		return cells[columns[0]]
	}
	otherCells := make([]*string, len(columns)-1)
	for i := range otherCells {
		otherCells[i] = cells[columns[i+1]]
	}
	return transform.Text(cells[columns[0]], otherCells)
}

// limit returns the maximum number of rows to read: one more than may be returned, which shows whether there are more.
func (r *rowReader) limit() int {
	if r.query.Limit > 0 && len(r.filters) == 0 && r.since == nil &&
		r.query.OnInvalid != SkipInvalid && r.query.OnInvalid != OnlyInvalid {
		return min(r.query.Limit, r.maxRows) + 1
	}
	return r.maxRows + 1
}

// addBatch maps and emits a batch's rows.
func (r *rowReader) addBatch(b column.Batch) error {
	if !r.started {
		if len(b.Missing) > 0 {
			return source.ErrSourceChanged
		}
		r.started, r.version, r.applied = true, b.Version, b.Applied
		if err := r.beginSort(b.Sorted); err != nil {
			return err
		}
		for i, f := range r.fields {
			style := r.style
			if b.Version != "" {
				sample := make([]*string, len(b.Sample))
				for number, cells := range b.Sample {
					sample[number] = r.text(i, cells)
				}
				style = column.StyleOf(sample)
			}
			r.styles = append(r.styles, f.Transform.Style(style, f.Type))
		}
		if err := r.begin(); err != nil {
			return err
		}
		r.total = b.Total
	}
	i := -1
	for cells := range b.Rows.All() {
		i++
		for _, c := range cells {
			if c != nil {
				r.bytes -= len(*c)
			}
		}
		if isFull, limit := r.isFull(); isFull {
			if r.more, r.cut = true, limit; r.sortedBy() == SortedByAtrium {
				return limit
			}
			r.repeated = r.isRepeated(cells)
			return errEnough
		}
		r.read++
		number := r.read
		if b.Numbers != nil {
			number = b.Numbers[i]
		}
		r.last.Number = number
		r.keepPlace(cells)
		if err := r.emit(number, cells); err != nil {
			return err
		}
	}
	return nil
}

// isFull reports whether no more rows may be read, and which limit of the org is the reason, if the caller's is not.
func (r *rowReader) isFull() (isFull bool, limit *fault.Error) {
	switch {
	case r.query.Limit > 0 && r.emitted == r.query.Limit:
		return true, nil
	case r.read == r.maxRows:
		return true, ErrRowLimit
	case r.bytes < 0 && r.read > 0:
		return true, ErrByteLimit
	}
	return false, nil
}

// emit passes a row on, unless it is left out.
func (r *rowReader) emit(number int, cells []*string) error {
	r.row.Number, r.row.Invalid, r.fullRow.Invalid = number, nil, nil
	if r.row.Values == nil {
		r.fullRow.Values = make([]column.Value, len(r.fields))
		r.row.Values = r.fullRow.Values[:r.shown]
	}
	for i := range r.fields {
		f := &r.fields[i]
		text := r.text(i, cells)
		value, reason := r.value(i, text)
		if f.Unique && r.distinct != nil && !value.IsNull() && !r.distinct.add(f.Key, value) {
			value, reason = column.Value{}, column.Duplicate
		}
		if !r.satisfies(i, value, reason) {
			return nil
		}
		if r.fullRow.Values[i] = value; reason == "" {
			continue
		}
		invalid := InvalidValue{f.Key, reason, clone(text)}
		r.fullRow.Invalid = append(r.fullRow.Invalid, invalid)
		if i < r.shown {
			r.row.Invalid = append(r.row.Invalid, invalid)
		}
	}
	if r.since != nil && r.since.leavesOut(r.mapped, r.placeOf, r.fullRow) {
		return nil
	}
	switch {
	case len(r.row.Invalid) > 0 && r.query.OnInvalid == SkipInvalid,
		len(r.row.Invalid) == 0 && r.query.OnInvalid == OnlyInvalid:
		return nil
	case r.query.OnInvalid == OnlyInvalid:
		for i := range r.row.Values {
			r.row.Values[i] = valueOrNull(emptyIfNull(cells[r.columnsOf[i][0]]))
		}
	case r.query.OnInvalid != ReportInvalid:
		r.row.Invalid = nil
	}
	if r.sortedBy() == SortedByAtrium {
		return r.keep()
	}
	r.emitted++
	return r.each(Row{r.row.Number, r.values(), r.row.Invalid})
}

// value returns a text's value for a field.
func (r *rowReader) value(field int, text *string) (column.Value, column.Invalid) {
	f := &r.fields[field]
	if r.query.Raw {
		if text == nil {
			return column.Value{}, ""
		}
		return column.TextValue(*text), ""
	}
	value, reason := f.Value(text, r.styles[field])
	if f.Required && reason == "" && value.IsNull() {
		reason = column.Missing
	}
	return value, reason
}

func equal(a, b *string) bool { return (a == nil && b == nil) || (a != nil && b != nil && *a == *b) }

// clone copies a text that may change.
func clone(text *string) *string {
	if text == nil {
		return nil
	}
	return new(*text)
}
