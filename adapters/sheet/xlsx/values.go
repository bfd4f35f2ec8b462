package xlsx

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// Rows gives each tab row to add, with its number, from the header on: the cells as they are shown, and numbers and
// dates also as they are stored. It holds one row at a time, and the shared texts of the earlier rows:
// source.ErrOutOfMemory if these are too many. The rows must be in order, as Excel requires.
func Rows(
	r io.ReaderAt, size int64, location source.SheetLocation,
	add func(number int, shownCells, storedCells []*string) error,
) error {
	pack, err := zipfile.OpenWhole(r, size)
	if err != nil {
		return err
	}
	b, err := open(pack)
	if err != nil {
		return err
	}
	defer b.close()
	b.most, b.locale, b.maxSheet, b.maxTexts = column.MaxValue, location.Locale, zipfile.MaxWhole, zipfile.MaxWhole
	tabs := make([]source.Tab, len(b.sheets))
	for i, s := range b.sheets {
		tabs[i] = s.Tab
	}
	tab, err := source.FindTab(tabs, location.Tab)
	if err != nil {
		return err
	}
	last := 0
	return b.each(b.sheets[slices.Index(tabs, tab)].part, func(number int, cells []cell) error {
		if len(cells) == 0 || number < location.HeaderRow {
			return nil
		}
		if number <= last {
			return source.ErrUnsupportedFormat.Because(fmt.Sprintf("Row %d of the tab follows row %d.", number, last))
		}
		last = number
		shownCells, storedCells, err := b.values(cells)
		if err != nil {
			return err
		}
		return add(number, shownCells, storedCells)
	})
}

// stored returns what a number or a date is, which its format may show only in part; nil for other cells.
func (b *workbook) stored(c cell, text string) *string {
	if c.kind == "d" && b.serial(c.value) != c.value {
		return &c.value
	}
	serial, err := strconv.ParseFloat(c.value, 64)
	if err != nil || (c.kind != "" && c.kind != "n") {
		return nil
	}
	if !b.isDate(c.style, text) {
		return new(column.Stored(c.value))
	}
	return b.moment(serial)
}

// moment returns the moment that Excel stores as a number of days, to the millisecond, or nil. Its
// calendar begins with 1 for 1 January 1900, and has 29 February 1900, which did not exist, or it begins with 0 for
// 1 January 1904 (ECMA-376 part 1, 18.17.4.1).
func (b *workbook) moment(serial float64) *string {
	const milliseconds, first, leap, last = 24 * 60 * 60 * 1000, 1, 60, 2958466
	total := math.Round(serial * milliseconds)
	days := math.Floor(total / milliseconds)
	day := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case b.from1904():
		day = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days == leap || days < first:
		return nil
	case days < leap:
		day = day.AddDate(0, 0, 1)
	}
	if days < 0 || days >= last {
		return nil
	}
	day = day.AddDate(0, 0, int(days)).Add(time.Duration(total-days*milliseconds) * time.Millisecond)
	return new(day.Format("2006-01-02T15:04:05.999"))
}

// isDate reports whether a number is shown as a date. One is enough to know it of all with its style.
func (b *workbook) isDate(style, text string) bool {
	if b.dated[style] {
		return true
	}
	i, err := strconv.Atoi(cmp.Or(style, "0"))
	if err != nil || i < 0 || i >= len(b.codes) || (b.codes[i] != "" && !strings.ContainsAny(b.codes[i], "dDyY")) {
		return false
	}
	if t := column.Infer([]*string{&text}); t != column.Date && t != column.DateTime {
		return false
	}
	if b.dated == nil {
		b.dated = map[string]bool{}
	}
	b.dated[style] = true
	return true
}
