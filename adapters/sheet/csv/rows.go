package csv

import (
	"encoding/csv"
	"errors"
	"io"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// Rows gives each row of a table to add, with its number, which counts as in Read. It holds one row at a time.
func Rows(
	r io.ReaderAt, size int64, at source.SheetLocation, add func(number int, shown, stored []*string) error,
) error {
	_, plain, comma, err := open(r, size)
	if err != nil {
		return err
	}
	if _, err := source.FindTab([]source.Tab{{ID: "1"}}, at.Tab); err != nil {
		return err
	}
	limited := &allowance{from: plain}
	in := csv.NewReader(limited)
	in.Comma, in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = comma, -1, true, true
	for number := 1; ; number++ {
		limited.left = maxRecord
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, source.ErrFileTooLarge):
			return source.ErrFileTooLarge
		case err != nil:
			return source.ErrUnsupportedFormat
		case number < at.HeaderRow:
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
