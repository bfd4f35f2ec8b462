package ods

import (
	"io"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// maxRows is the most rows of a spreadsheet.
const maxRows = 1 << 20

// Rows gives each row of a tab to add, with its number, from the header on: the cells as they are shown, and those of
// numbers, dates and booleans also as they are stored. It holds all of them.
func Rows(
	r io.ReaderAt, size int64, at source.SheetLocation, add func(number int, shown, stored []*string) error,
) error {
	pack, err := zipfile.Open(r, size)
	if err != nil {
		return err
	}
	part, err := pack.Part("content.xml", maxContent)
	if err != nil {
		return err
	}
	defer func() { _ = part.Close() }() // it was read from
	d := &document{in: pack.Decoder(part), hidden: map[string]bool{}, most: column.MaxValue,
		skip: max(at.HeaderRow-1, 0), window: maxRows, exact: true}
	if err := zipfile.Broken(d.read()); err != nil {
		return err
	}
	t, err := d.find(at.Tab)
	if err != nil {
		return err
	}
	for i, row := range t.rows {
		if err := add(t.skip+i+1, row.shown, row.stored); err != nil {
			return err
		}
	}
	return nil
}
