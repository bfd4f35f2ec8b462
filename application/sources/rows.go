package sources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// OnInvalid says what happens with values that are none of their field.
type OnInvalid string

// The choices.
const (
	NullInvalid   OnInvalid = "null"   // they are null
	SkipInvalid   OnInvalid = "skip"   // their rows are left out
	ReportInvalid OnInvalid = "report" // they are null, and Row.Invalid names them
)

// RowsQuery asks for the mapped rows of a source.
type RowsQuery struct {
	Limit     int    // the most rows; 0: as many as the org allows
	Pages     bool   // whether another part may follow, for which a table's rows need an order
	After     string // RowsEnd.Next of the part before; empty: from the beginning
	Fields    []string
	Filter    map[string]string // values by field that rows must have; empty: no value
	OnInvalid OnInvalid
	Raw       bool // values are texts as the source has them
}

// Row is a row of a source: a value for each field that was asked for, as column.Field.Value returns it.
type Row struct {
	Number  int // in the file, from 1; of a table: in the response
	Values  []any
	Invalid []InvalidValue
}

// InvalidValue names a field of a row whose value is none.
type InvalidValue struct {
	Field string
	Code  column.Invalid
}

// RowsEnd says how a read ended.
type RowsEnd struct {
	Next string // where the next part begins; empty if there is none, or if rows have no order to go on by
	More bool   // whether there are more rows
}

// errEnough ends a read when no more rows are wanted.
var errEnough = errors.New("enough rows")

// ReadRows reads the mapped rows of a source now, and stores none of them. It calls begin once with the fields, before
// the first row and only if the source can be read, then each for each row. The context of begin ends with the read,
// also when its connection is revoked. An error of each ends the read. Requires
// the member role. Rows come from one snapshot, within the limits of the org.
func (s *Service) ReadRows(
	ctx context.Context, by identity.Actor, id source.ID, q RowsQuery,
	begin func(context.Context, []column.Field) error,
	each func(Row) error,
) (RowsEnd, error) {
	src, err := s.get(ctx, by, id, source.Use)
	if err != nil {
		return RowsEnd{}, err
	}
	r, err := newRowReader(src, s.typeOf(by.Org, src.Type), q)
	if err != nil {
		return RowsEnd{}, err
	}
	offer := s.offers(by.Org)
	r.ctx = ctx
	r.most, r.bytes, r.each = offer.Rows.Rows, offer.Rows.Bytes, each
	r.begin = func() error {
		s.notes.Note(ctx, src.Read(by))
		return begin(r.ctx, r.selected())
	}
	if src.Location.Backend() == source.SheetBackend {
		err = s.readSheetRows(ctx, by, src, offer, r)
	} else {
		err = s.readTableRows(ctx, by, src, offer, r)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return RowsEnd{}, answer(err)
	}
	return r.end()
}

func (s *Service) readSheetRows(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) error {
	if err := s.admit(ctx, by, connection.HostTarget(by.Org, src.Location.Sheet.Host())); err != nil {
		return err
	}
	q := source.RowsQuery{Columns: r.columns(), After: r.from.Number, Version: r.from.Version, Limit: r.limit()}
	for _, f := range r.fields {
		stored := []column.Type{column.Integer, column.Number, column.Boolean, column.Date, column.DateTime}
		q.Exact = append(q.Exact, !r.query.Raw && slices.Contains(stored, f.Type))
	}
	target := ports.SheetTarget{Location: src.Location.Sheet, Egress: offer.Egress, Offer: offer.Sheets,
		Within: offer.Rows.Seconds}
	_, err := s.withGoogle(ctx, by, src.Location, func(ctx context.Context, credential connection.Credential) error {
		target.Google, r.ctx = credential, ctx
		return s.sheets.Rows(ctx, by.Workspace, target, q, r.take)
	})
	return err
}

func (s *Service) readTableRows(
	ctx context.Context, by identity.Actor, src *source.Source, offer Offer, r *rowReader,
) error {
	r.style = column.Warehouse
	q := connection.RowsQuery{Table: src.Location.Table, Columns: r.columns(), After: r.from.Key, Limit: r.limit()}
	if r.key >= 0 {
		q.Key = r.fields[r.key].Column
	}
	return s.withCredential(ctx, by, src.Location.Connection, func(ctx context.Context, w ports.Warehouse,
		to ports.Target) error {
		if err := s.admit(ctx, by, to.Credential.Target(by.Org)); err != nil {
			return err
		}
		to.Limits.Statement, to.Limits.Total = offer.Rows.Seconds, offer.Rows.Seconds
		to.Limits.Bytes = int64(offer.Rows.Bytes)
		r.ctx = ctx
		return w.Rows(ctx, to, q, r.take)
	})
}

// position is where a read goes on.
type position struct {
	Shape   string  // of what is read: the location and the mapping
	Version string  `json:",omitempty"` // of the file
	Number  int     `json:",omitempty"` // of the last row that was read
	Key     *string `json:",omitempty"` // of the last row that was read
}

// rowReader makes rows of batches.
type rowReader struct {
	ctx    context.Context //nolint:containedctx // of the read, which it lasts as long as
	query  RowsQuery
	fields []source.MappedField // those of the query first, then those that only filters and the order need
	shown  int                  // of the query
	key    int                  // of the field that rows are ordered by; -1 for none
	shape  string
	from   position
	most   int // rows that may be read
	bytes  int // that their values may still have
	begin  func() error
	each   func(Row) error

	style    column.Style // of a warehouse
	styles   []column.Style
	filters  map[int]any
	begun    bool
	read     int // rows that were read, with those that were left out
	given    int
	version  string
	last     position
	repeated bool // the row after the last one has its key
	more     bool
}

func newRowReader(src *source.Source, t *source.Type, q RowsQuery) (*rowReader, error) {
	mapped, err := src.MappedFields(t)
	if err != nil {
		return nil, err
	}
	r := &rowReader{query: q, key: -1, shape: shapeOf(src), filters: map[int]any{}}
	if r.fields = mapped; q.Fields != nil {
		r.fields = nil
		for _, key := range q.Fields {
			if i := fieldAt(mapped, key); i >= 0 && fieldAt(r.fields, key) < 0 {
				r.fields = append(r.fields, mapped[i])
				continue
			}
			return nil, source.ErrUnknownField
		}
	}
	r.fields, r.shown = slices.Clip(r.fields), len(r.fields)
	add := func(i int) int {
		if at := fieldAt(r.fields, mapped[i].Key); at >= 0 {
			return at
		}
		r.fields = append(r.fields, mapped[i])
		return len(r.fields) - 1
	}
	for key, text := range q.Filter {
		i := fieldAt(mapped, key)
		if i < 0 {
			return nil, source.ErrUnknownField
		}
		at := add(i)
		if r.filters[at], err = filterOf(r.fields[at].Field, text, q.Raw); err != nil {
			return nil, err
		}
	}
	if src.Location.Backend() == source.WarehouseBackend && (q.Pages || q.After != "") {
		if i := slices.IndexFunc(mapped, func(f source.MappedField) bool { return f.Unique }); i >= 0 {
			r.key = add(i)
		}
	}
	if q.After != "" {
		if json.Unmarshal([]byte(q.After), &r.from) != nil || r.from.Shape != r.shape {
			return nil, source.ErrSourceChanged
		}
	}
	return r, nil
}

// shapeOf returns a text that changes with what is read and how it is mapped.
func shapeOf(src *source.Source) string {
	text, _ := json.Marshal([]any{src.Location, src.Mapping}) //nolint:errchkjson // texts and numbers
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func fieldAt(fields []source.MappedField, key string) int {
	return slices.IndexFunc(fields, func(f source.MappedField) bool { return f.Key == key })
}

// filterOf returns the value that a filter's text names.
func filterOf(f column.Field, text string, raw bool) (any, error) {
	if raw || text == "" {
		return valueOrNil(text), nil
	}
	v, reason := f.Value(&text, column.Warehouse)
	if reason != "" {
		return nil, errFilter
	}
	return v, nil
}

var errFilter = &fault.Error{Kind: source.ErrUnknownField.Kind, Code: source.ErrUnknownField.Code,
	Detail: "A filter has a value that its field cannot have."}

func valueOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// selected returns the fields of the query.
func (r *rowReader) selected() []column.Field {
	out := make([]column.Field, r.shown)
	for i := range out {
		out[i] = r.fields[i].Field
	}
	return out
}

func (r *rowReader) columns() []string {
	out := make([]string, len(r.fields))
	for i, f := range r.fields {
		out[i] = f.Column
	}
	return out
}

// limit returns the most rows to read: one more than may be given, which tells whether there are more.
func (r *rowReader) limit() int {
	if r.query.Limit > 0 && len(r.filters) == 0 && r.query.OnInvalid != SkipInvalid {
		return min(r.query.Limit, r.most) + 1
	}
	return r.most + 1
}

// take handles a batch.
func (r *rowReader) take(b column.Batch) error {
	if !r.begun {
		if len(b.Missing) > 0 {
			return source.ErrSourceChanged
		}
		r.begun, r.version = true, b.Version
		for i := range r.fields {
			r.styles = append(r.styles, r.style)
			if b.Version != "" {
				r.styles[i] = column.StyleOf(columnOf(b.Sample, i))
			}
		}
		if err := r.begin(); err != nil {
			return err
		}
	}
	for i, cells := range b.Rows {
		for _, c := range cells {
			if c != nil {
				r.bytes -= len(*c)
			}
		}
		if r.read == r.most || r.bytes < 0 && r.read > 0 || r.query.Limit > 0 && r.given == r.query.Limit {
			r.more = true
			r.repeated = r.key >= 0 && equal(exactKey(cells[r.key]), r.last.Key)
			return errEnough
		}
		r.read++
		number := r.read
		if b.Numbers != nil {
			number = b.Numbers[i]
		}
		r.last.Number = number
		if r.key >= 0 {
			r.last.Key = exactKey(cells[r.key])
		}
		if err := r.give(number, cells); err != nil {
			return err
		}
	}
	return nil
}

// give gives a row on, unless it is left out.
func (r *rowReader) give(number int, cells []*string) error {
	out := Row{Number: number, Values: make([]any, r.shown)}
	for i, f := range r.fields {
		value, reason := any(nil), column.Invalid("")
		switch {
		case !r.query.Raw:
			if value, reason = f.Value(cells[i], r.styles[i]); value == nil && reason == "" && f.Required {
				reason = column.Missing
			}
		case cells[i] != nil:
			value = *cells[i]
		}
		if want, ok := r.filters[i]; ok && (reason != "" && reason != column.Missing || !same(value, want)) {
			return nil
		}
		if i >= r.shown {
			continue
		}
		if out.Values[i] = value; reason != "" {
			out.Invalid = append(out.Invalid, InvalidValue{f.Key, reason})
		}
	}
	switch {
	case len(out.Invalid) > 0 && r.query.OnInvalid == SkipInvalid:
		return nil
	case r.query.OnInvalid != ReportInvalid:
		out.Invalid = nil
	}
	r.given++
	return r.each(out)
}

// end returns how the read ended. Rows of a table without a unique field, or with a key that is not, cannot be
// continued.
func (r *rowReader) end() (RowsEnd, error) {
	out := RowsEnd{More: r.more}
	if !r.more || r.version == "" && (r.key < 0 || r.repeated || r.last.Key == nil) {
		return out, nil
	}
	next := position{Shape: r.shape, Version: r.version, Key: r.last.Key}
	if r.version != "" {
		next.Number = r.last.Number
	}
	text, err := json.Marshal(next)
	out.Next = string(text)
	return out, err
}

func columnOf(rows [][]*string, i int) []*string {
	out := make([]*string, len(rows))
	for at, row := range rows {
		out[at] = row[i]
	}
	return out
}

// exactKey returns a key if a next part can begin after it: neither missing, nor cut, nor with bytes that are no text.
func exactKey(key *string) *string {
	if key == nil || len(*key) >= column.MaxValue || strings.ContainsRune(*key, '\uFFFD') {
		return nil
	}
	return key
}

func equal(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

func same(a, b any) bool {
	if raw, ok := a.(json.RawMessage); ok {
		other, ok := b.(json.RawMessage)
		return ok && bytes.Equal(raw, other)
	}
	if _, ok := b.(json.RawMessage); ok {
		return false
	}
	return a == b
}
