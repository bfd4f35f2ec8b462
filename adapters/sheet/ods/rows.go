package ods

import (
	"errors"
	"io"

	"github.com/atrium-hq/atrium/adapters/sheet/zipfile"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// Rows gives each tab row to add, with its number, from the header on: the cells as they are shown, and numbers, dates
// and booleans also as they are stored. It holds one row at a time.
//
// Which tab a location names can depend on the tabs after it: one that is spelled exactly so goes first, and so does
// one that is not hidden. If the end of the document shows that the tab is an earlier one, it is read again.
func Rows(
	r io.ReaderAt, size int64, location source.SheetLocation,
	add func(number int, shownCells, storedCells []*string) error,
) error {
	tabs, found, err := readFirst(r, size, location.HeaderRow, func(t source.Tab) bool {
		return t.ID == location.Tab || (location.Tab == "" && !t.Hidden)
	}, add)
	if err != nil || found {
		return err
	}
	tab, err := source.FindTab(tabs, location.Tab)
	if err != nil {
		return err
	}
	_, _, err = readFirst(r, size, location.HeaderRow, func(t source.Tab) bool { return t.ID == tab.ID }, add)
	return err
}

// errEnough ends the reading after the wanted tab.
var errEnough = errors.New("enough tabs")

// readFirst reads the rows of the first tab that is the wanted one, and returns all tabs, and whether one is.
func readFirst(
	r io.ReaderAt, size int64, headerRow int, isWanted func(source.Tab) bool,
	add func(number int, shownCells, storedCells []*string) error,
) (tabs []source.Tab, found bool, err error) {
	pack, err := zipfile.OpenWhole(r, size)
	if err != nil {
		return nil, false, err
	}
	part, err := pack.Part("content.xml", zipfile.MaxWhole)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = part.Close() }() // it was read from
	d := &document{in: pack.Decoder(part), hidden: map[string]bool{}, most: column.MaxValue}
	err = d.read(func(t *table) func(int, cells) error {
		if found {
			d.failed = errEnough
		}
		if found || !isWanted(t.Tab) {
			return nil
		}
		found = true
		return func(number int, row cells) error {
			if number < headerRow {
				return nil
			}
			return add(number, row.shown, row.stored)
		}
	})
	if d.failed != nil && !errors.Is(d.failed, errEnough) {
		return nil, found, d.failed
	}
	if d.failed != nil {
		err = nil
	}
	return d.tabs(), found, zipfile.Broken(err)
}
