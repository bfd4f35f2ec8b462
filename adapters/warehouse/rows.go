package warehouse

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// RowSession is a Session that can stream a table's rows.
type RowSession interface {
	// Rows passes a table's rows to out. It keeps only a few of them in memory.
	Rows(q connection.RowsQuery, out *Batches) error
}

// Rows implements ports.Warehouse.
func (w *Sessions) Rows(
	ctx context.Context, target ports.Target, q connection.RowsQuery, handle func(column.Batch) error,
) error {
	return w.withSession(ctx, target, NewTrace(), func(s Session) error {
		reader, ok := s.(RowSession)
		if !ok {
			return connection.RowsUnsupported
		}
		out := NewBatches(handle)
		if err := reader.Rows(q, out); err != nil {
			return err
		}
		return out.Flush()
	})
}

// MaxValue is the most characters of a row value.
const MaxValue = column.MaxValue

// The size at which a batch is sent.
const (
	batchRows  = 2000
	batchBytes = 128 << 10
)

// Batches collects rows into batches.
type Batches struct {
	each func(column.Batch) error
	next column.Batch
	sent bool
}

// NewBatches returns a Batches that passes batches to each.
func NewBatches(handle func(column.Batch) error) *Batches { return &Batches{each: handle} }

// Begin checks which of a query's columns the table has, and returns them in the query's order. If one is missing, it
// returns none, and the first batch reports the missing ones. connection.KeyUnsupported if the key has no order.
func (b *Batches) Begin(q connection.RowsQuery, tableColumns []connection.Column) ([]connection.Column, error) {
	found := make([]connection.Column, 0, len(q.Columns))
	for _, name := range q.Columns {
		i := slices.IndexFunc(tableColumns, func(c connection.Column) bool { return c.Name == name })
		if i < 0 {
			b.next.Missing = append(b.next.Missing, name)
			continue
		}
		if name == q.Key && tableColumns[i].Unordered {
			return nil, connection.KeyUnsupported
		}
		found = append(found, tableColumns[i])
	}
	if len(b.next.Missing) > 0 {
		return nil, nil
	}
	return found, nil
}

// FloatText returns a floating-point number of 32 or 64 bits as the shortest text that loses nothing of it. A whole
// number of at most 21 digits has all of them, so that it is exact in a field for integers, too. The others are NaN,
// Infinity and -Infinity.
func FloatText(v float64, bits int) string {
	switch size := math.Abs(v); {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case size < 1e21 && v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 1e-6 && size < 1e21:
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// WholeFloat returns the text that a database has for a floating-point number of 32 or 64 bits. If it is a whole
// number, it has all its digits, as FloatText writes them: 4.611686018427388e18 is 4611686018427387904.
func WholeFloat(text string, bits int) string {
	const digits = 7 // which a number of 32 bits has in any case
	if len(text) <= digits && !strings.ContainsAny(text, "eE") {
		return text
	}
	if v, err := strconv.ParseFloat(text, bits); err == nil && v == math.Trunc(v) && math.Abs(v) < 1e21 {
		return FloatText(v, bits)
	}
	return text
}

// Place returns a key's text as the place of its row, for kinds whose texts lose nothing: nil if it was cut or is not
// what the server has.
func Place(key *string) *string {
	if key == nil || len(*key) >= MaxValue || strings.ContainsRune(*key, utf8.RuneError) {
		return nil
	}
	return key
}

// Apply tells that the database was given all conditions of the query, if all is set. It must be called before the
// first row is added.
func (b *Batches) Apply(all bool) { b.next.Applied = all }

// Total sends the number of the table's rows, as a database writes it, instead of rows.
func (b *Batches) Total(text string) error {
	total, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return connection.NotThisDatabase
	}
	b.next.Total = &total
	return b.Flush()
}

// TotalOf is Total for the only row of a result.
func (b *Batches) TotalOf(rows [][]*string, err error) error {
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == nil {
		return connection.NotThisDatabase
	}
	return b.Total(*rows[0][0])
}

// Add adds a row.
func (b *Batches) Add(row []*string) error {
	for i, v := range row {
		if v != nil && !isKept(*v) {
			text := value(*v)
			row[i] = &text
		}
	}
	b.next.Rows.Add(row)
	return b.flushFull()
}

// AddBytes adds a row of texts that are bytes, nil for NULL. It keeps a copy of them.
func (b *Batches) AddBytes(row [][]byte) error {
	for i, v := range row {
		if len(v) > MaxValue || !utf8.Valid(v) {
			row[i] = []byte(value(string(v)))
		}
	}
	b.next.Rows.Grow(batchBytes + batchBytes/8)
	b.next.Rows.AddBytes(row)
	return b.flushFull()
}

func (b *Batches) flushFull() error {
	if b.next.Rows.Len() < batchRows && b.next.Rows.Size() < batchBytes {
		return nil
	}
	return b.Flush()
}

// isKept reports whether value changes nothing.
func isKept(v string) bool { return len(v) <= MaxValue && utf8.ValidString(v) }

// value returns a value as valid UTF-8 of at most MaxValue characters. Nothing else changes, since rows may be ordered
// by it.
func value(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	if len(v) > MaxValue && utf8.RuneCountInString(v) > MaxValue {
		v = string([]rune(v)[:MaxValue])
	}
	return v
}

// Flush sends the collected rows. There is at least one batch, even if it has no rows.
func (b *Batches) Flush() error {
	if b.sent && b.next.Rows.Len() == 0 {
		return nil
	}
	batch := b.next
	b.next, b.sent = column.Batch{}, true
	return b.each(batch)
}
