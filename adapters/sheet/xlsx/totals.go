package xlsx

import (
	"path"
	"slices"
	"strings"
)

// The limits of a sheet's tables.
const (
	maxTables    = 100     // of one sheet; those after them are not looked at
	maxTablePart = 1 << 20 // bytes that are unpacked of one
)

// totals is where a table has its totals row (ECMA-376 part 1, 18.5.1.2).
type totals struct {
	header, row int // of the sheet, from 1
	first, last int // columns, from 0
}

// totals returns where a sheet's tables have totals rows. A table that cannot be read has none.
func (b *workbook) totals(part string) (all []totals) {
	var parts relationships
	if b.pack.Decode(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), maxDirectory, &parts) != nil {
		return nil
	}
	for _, r := range parts.Relationship {
		if !strings.HasSuffix(r.Type, typeTable) || r.TargetMode == "External" || len(all) == maxTables {
			continue
		}
		var table struct {
			Ref            string `xml:"ref,attr"`
			TotalsRowCount int    `xml:"totalsRowCount,attr"`
		}
		if b.pack.Decode(resolve(path.Dir(part), r.Target), maxTablePart, &table) != nil || table.TotalsRowCount != 1 {
			continue
		}
		from, to, _ := strings.Cut(table.Ref, ":")
		header, first, ok := parseCell(from)
		row, last, isCell := parseCell(to)
		if ok && isCell && row > header {
			all = append(all, totals{header: header, row: row, first: first - 1, last: last - 1})
		}
	}
	return all
}

// withoutTotals removes the cells of totals rows from a row: beside a table can be data of another one.
func withoutTotals(number int, cells []cell, all []totals) []cell {
	for _, t := range all {
		if t.row == number {
			cells = slices.DeleteFunc(cells, func(c cell) bool { return t.first <= c.col && c.col <= t.last })
		}
	}
	return cells
}
