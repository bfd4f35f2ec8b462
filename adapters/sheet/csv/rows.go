package csv

import (
	"errors"
	"io"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// Rows gives each table row to add, with its number, which counts as in Read. It holds one row at a time.
func Rows(
	r io.ReaderAt, size int64, location source.SheetLocation,
	add func(number int, shownCells, storedCells []*string) error,
) error {
	f, err := open(r, size, location)
	if err != nil {
		return err
	}
	if _, err := source.FindTab([]source.Tab{{ID: "1"}}, location.Tab); err != nil {
		return err
	}
	t := newTable(f.plain, f.comma)
	for {
		number, record, err := t.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case number < location.HeaderRow:
			continue
		}
		row := make([]*string, min(len(record), column.MaxColumns))
		for i := range row {
			row[i] = column.CellOf(record[i], column.MaxValue)
		}
		if err := add(number, row, nil); err != nil {
			return err
		}
	}
}
