// Package selection chooses the rows and columns that a query wants from a sheet's rows, as they are read one by one.
package selection

import (
	"context"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// ErrEnough ends a sheet's reading when enough rows were read.
var ErrEnough = errors.New("enough rows")

// The size at which a batch is sent.
const (
	batchRows  = 500
	batchBytes = 128 << 10
)

// Selection chooses the columns of a query from a tab's rows.
type Selection struct {
	ctx   context.Context
	query source.RowsQuery
	each  func(column.Batch) error
	at    int // the header's row, or column.NoHeader

	header  []*string
	early   []line // those directly below the header, until the columns are known
	begun   bool
	columns []int // of the query, in the tab
	count   int   // rows that were chosen
	bytes   int
	next    column.Batch
}

// line is a tab row: its cells as they are shown, and those that are stored otherwise.
type line struct {
	number        int
	shown, stored []*string
}

// New returns a Selection for a tab with its header in a row, from 1, or column.NoHeader. version is the file's.
// It gives batches to each.
func New(
	ctx context.Context, headerRow int, version string, q source.RowsQuery, handle func(column.Batch) error,
) *Selection {
	s := &Selection{ctx: ctx, query: q, each: handle, next: column.Batch{Version: version}, at: headerRow}
	if headerRow != column.NoHeader {
		s.at = max(headerRow, 1)
	}
	return s
}

func isEmpty(row []*string) bool {
	return !slices.ContainsFunc(row, func(c *string) bool { return c != nil })
}

// Add takes the next row, from the header on: its number, its cells as they are shown, and those that are stored
// otherwise. It returns ErrEnough if no more rows are needed.
func (s *Selection) Add(number int, shownCells, storedCells []*string) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if number <= s.at {
		if number == s.at {
			s.header = shownCells
		}
		return nil
	}
	if isEmpty(shownCells) && isEmpty(storedCells) { // a format can show nothing of a number
		return nil
	}
	l := line{number, shownCells, storedCells}
	if s.begun {
		return s.choose(l)
	}
	s.early = append(s.early, l)
	if len(s.early) < column.SampleWindow {
		return nil
	}
	return s.begin()
}

// begin finds the columns by their names, and handles the early rows.
func (s *Selection) begin() error {
	s.begun = true
	width := len(s.header)
	for _, l := range s.early {
		width = max(width, len(l.shown))
	}
	names := column.Names(s.header, min(width, column.MaxColumns))
	for i := range names {
		if s.at == column.NoHeader {
			names[i] = column.Letters(i) // as in the preview
		}
	}
	for _, name := range s.query.Columns {
		i := slices.Index(names, name)
		if i < 0 {
			s.next.Missing = append(s.next.Missing, name)
		}
		s.columns = append(s.columns, i)
	}
	if len(s.next.Missing) > 0 {
		return ErrEnough
	}
	for _, l := range s.early {
		s.next.Sample = append(s.next.Sample, s.cells(l))
	}
	for _, l := range s.early {
		if err := s.choose(l); err != nil {
			return err
		}
	}
	s.early = nil
	return nil
}

// cells returns the cells of the query's columns.
func (s *Selection) cells(l line) []*string {
	out := make([]*string, len(s.columns))
	for i, c := range s.columns {
		if c < len(l.shown) {
			out[i] = l.shown[c]
		}
		if s.query.Exact[i] && c < len(l.stored) && l.stored[c] != nil {
			out[i] = l.stored[c]
		}
	}
	return out
}

// choose adds a line to the next batch if the query wants it, and passes the batch on when it is full.
func (s *Selection) choose(l line) error {
	if l.number <= s.query.After {
		return nil
	}
	cells := s.cells(l)
	for _, c := range cells {
		if c != nil {
			s.bytes += len(*c)
		}
	}
	s.next.Rows.Add(cells)
	s.next.Numbers = append(s.next.Numbers, l.number)
	if s.count++; s.count == s.query.Limit {
		return ErrEnough
	}
	if s.next.Rows.Len() < batchRows && s.bytes < batchBytes {
		return nil
	}
	return s.flush()
}

func (s *Selection) flush() error {
	batch := s.next
	s.next, s.bytes = column.Batch{}, 0
	return s.each(batch)
}

// End sends the remaining rows. There is at least one batch.
func (s *Selection) End() error {
	if !s.begun {
		if err := s.begin(); err != nil && !errors.Is(err, ErrEnough) {
			return err
		}
	}
	if s.next.Version == "" && s.next.Rows.Len() == 0 {
		return nil
	}
	return s.flush()
}
