package sheet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sheet/csv"
	"github.com/atrium-hq/atrium/adapters/sheet/ods"
	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// part is a part of the answer to Rows: a batch, or at the end what failed.
type part struct {
	Batch  column.Batch
	Failed *fault.Error
}

// Rows implements ports.Sheets.
func (c *Confined) Rows(
	ctx context.Context, workspace identity.WorkspaceID, of ports.SheetTarget, q source.RowsQuery,
	each func(column.Batch) error,
) error {
	if err := check(of.Location); err != nil {
		return err
	}
	r := request{Location: of.Location, Egress: of.Egress, Files: of.Offer.Files, Rows: q, Within: of.Within}
	var handled error
	err := c.stream(ctx, workspace, JobName, of.Within, r, func(text json.RawMessage) error {
		var p part
		if err := json.Unmarshal(text, &p); err != nil {
			handled = source.ErrSheetFailed // without err, which may quote a cell
		} else if p.Failed != nil {
			handled = p.Failed
		} else {
			handled = each(p.Batch)
		}
		return handled
	})
	if err == nil || handled != nil {
		return handled
	}
	return failed(ctx, err)
}

// RowsJob is the child's side of Confined.Rows.
func RowsJob(d *Documents) func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
	return func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return errors.New("a request that cannot be read") // without err, which may quote it
		}
		of := ports.SheetTarget{Location: r.Location, Egress: r.Egress, Within: r.Within,
			Offer: ports.SheetOffer{Files: r.Files}}
		err := d.Rows(ctx, "", of, r.Rows, func(b column.Batch) error { return emit(part{Batch: b}) })
		if err != nil {
			failed, ok := errors.AsType[*fault.Error](err)
			if !ok {
				failed = source.ErrSheetFailed
			}
			return emit(part{Failed: failed})
		}
		return nil
	}
}

// Rows implements ports.Sheets.
func (d *Documents) Rows(
	ctx context.Context, _ identity.WorkspaceID, of ports.SheetTarget, q source.RowsQuery,
	each func(column.Batch) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, of.Within, source.ErrSheetTimeout)
	defer cancel()
	var handled error
	err := d.read(ctx, of, func(doc document) error {
		return doc.rows(ctx, of.Location, q, func(b column.Batch) error {
			handled = each(b)
			return handled
		})
	})
	if err == nil || handled != nil {
		return handled
	}
	return known(ctx, err)
}

// version returns a hash of a document.
func (d document) version() (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(d, 0, d.size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// rows reads the rows of a tab, from its header on.
func (d document) rows(
	ctx context.Context, at source.SheetLocation, q source.RowsQuery, each func(column.Batch) error,
) error {
	version, err := d.version()
	if err != nil {
		return err
	}
	if q.Version != "" && q.Version != version {
		return source.ErrSourceChanged
	}
	kind, err := d.format()
	if err != nil {
		return err
	}
	s := &selection{ctx: ctx, query: q, each: each, next: column.Batch{Version: version}, at: at.HeaderRow}
	if at.HeaderRow != column.NoHeader {
		s.at = max(at.HeaderRow, 1)
	}
	wanted := max(0, q.After-max(s.at, 0)) + q.Limit
	switch kind {
	case openDocument:
		err = ods.Rows(d, d.size, at, s.add)
	case workbook:
		err = xlsx.Rows(d, d.size, at, wanted, s.add)
	case plainText:
		err = csv.Rows(d, d.size, at, s.add)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return s.end()
}

// errEnough ends the reading of a file of which enough is known.
var errEnough = errors.New("enough rows")

// The size at which a batch is sent.
const (
	batchRows  = 500
	batchBytes = 128 << 10
)

// selection chooses the columns of a query from the rows of a tab.
type selection struct {
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

// line is a row of a tab: its cells as they are shown, and those that are stored otherwise.
type line struct {
	number        int
	shown, stored []*string
}

func isEmpty(row []*string) bool {
	return !slices.ContainsFunc(row, func(c *string) bool { return c != nil })
}

// add takes the next row, from the header on.
func (s *selection) add(number int, shown, stored []*string) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if number <= s.at {
		if number == s.at {
			s.header = shown
		}
		return nil
	}
	if isEmpty(shown) {
		return nil
	}
	l := line{number, shown, stored}
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
func (s *selection) begin() error {
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
		return errEnough
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
func (s *selection) cells(l line) []*string {
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

func (s *selection) choose(l line) error {
	if l.number <= s.query.After {
		return nil
	}
	cells := s.cells(l)
	for _, c := range cells {
		if c != nil {
			s.bytes += len(*c)
		}
	}
	s.next.Rows, s.next.Numbers = append(s.next.Rows, cells), append(s.next.Numbers, l.number)
	if s.count++; s.count == s.query.Limit {
		return errEnough
	}
	if len(s.next.Rows) < batchRows && s.bytes < batchBytes {
		return nil
	}
	return s.flush()
}

func (s *selection) flush() error {
	batch := s.next
	s.next, s.bytes = column.Batch{}, 0
	return s.each(batch)
}

// end handles what is left. There is at least one batch.
func (s *selection) end() error {
	if !s.begun {
		if err := s.begin(); err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if s.next.Version == "" && len(s.next.Rows) == 0 {
		return nil
	}
	return s.flush()
}
