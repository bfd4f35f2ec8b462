package xlsx

import (
	"io"
	"slices"
	"strconv"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// The rows that Rows holds at a time.
const (
	leastRows = 1000
	mostRows  = 50_000
)

// Rows gives each row of a tab to add, with its number, from the header on: the cells as they are shown, and those of
// numbers and dates also as they are stored. It holds wanted rows at a time, within bounds, and reads the sheet again
// for the next ones.
func Rows(
	r io.ReaderAt, size int64, at source.SheetLocation, wanted int,
	add func(number int, shown, stored []*string) error,
) error {
	pack, err := zipfile.Open(r, size)
	if err != nil {
		return err
	}
	b, err := open(pack)
	if err != nil {
		return err
	}
	b.most, b.locale = column.MaxValue, at.Locale
	tabs := make([]source.Tab, len(b.sheets))
	for i, s := range b.sheets {
		tabs[i] = s.Tab
	}
	tab, err := source.FindTab(tabs, at.Tab)
	if err != nil {
		return err
	}
	part := b.sheets[slices.Index(tabs, tab)].part
	n := min(max(wanted+column.SampleWindow+1, leastRows), mostRows)
	for skip := max(at.HeaderRow-1, 0); ; skip += n {
		b.stored = map[[2]int]string{}
		rows, seen, err := b.rows(part, skip, n)
		if err != nil {
			return err
		}
		for i, row := range rows {
			stored := make([]*string, len(row))
			for col := range row {
				if v, ok := b.stored[[2]int{i, col}]; ok {
					stored[col] = &v
				}
			}
			if err := add(skip+i+1, row, stored); err != nil {
				return err
			}
		}
		if seen.all {
			return nil
		}
	}
}

// store keeps what a number or a date is, which its format may show only in part.
func (b *workbook) store(c cell, shown string) {
	if b.stored == nil || c.kind != "" && c.kind != "n" {
		return
	}
	serial, err := strconv.ParseFloat(c.value, 64)
	if err != nil {
		return
	}
	value := column.Stored(c.value)
	if t := column.Infer([]*string{&shown}); t == column.Date || t == column.DateTime {
		at, err := excelize.ExcelDateToTime(serial, b.from1904())
		if err != nil {
			return
		}
		value = at.Format("2006-01-02T15:04:05.999")
	}
	b.stored[[2]int{c.row, c.col}] = value
}
