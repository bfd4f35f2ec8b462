package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xuri/excelize/v2"
)

// File names of the sample workbooks.
const (
	signups = "signups.xlsx" // one table with a plain header
	traders = "traders.xlsx" // a title, groups of columns over merged cells, columns of the same names, one without
)

// makeSheets creates the sample workbooks that do not exist yet. Each gets its final name when it is complete.
func makeSheets(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, fill := range map[string]func(*excelize.File, string) error{signups: fillSignups, traders: fillTraders} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		if err := makeSheet(path, fill); err != nil {
			return fmt.Errorf("sample workbook %s: %w", name, err)
		}
	}
	return nil
}

func makeSheet(path string, fill func(*excelize.File, string) error) (err error) {
	f := excelize.NewFile()
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := fill(f, "Sheet1"); err != nil {
		return err
	}
	draft := strings.TrimSuffix(path, ".xlsx") + ".new.xlsx"
	if err := f.SaveAs(draft); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// fillRows writes rows, beginning with the first. nil leaves a cell empty.
func fillRows(f *excelize.File, tab string, rows [][]any) error {
	for i, row := range rows {
		if err := f.SetSheetRow(tab, fmt.Sprintf("A%d", i+1), &row); err != nil {
			return err
		}
	}
	return nil
}

func fillSignups(f *excelize.File, tab string) error {
	if err := f.SetSheetName(tab, "Sign-ups"); err != nil {
		return err
	}
	return fillRows(f, "Sign-ups", [][]any{
		{"First Name", "Last Name", "E-mail Address", "Company", "Country", "Signed up", "Newsletter"},
		{"Ada", "Lovelace", "ada@example.com", "Analytical Engines", "GB", "2026-01-14", "yes"},
		{"Grace", "Hopper", "grace@example.com", "Compilers Inc.", "US", "2026-02-03", "yes"},
		{"Emmy", "Noether", "emmy@example.com", nil, "DE", "2026-02-08", "no"},
		{"Sophie", "Germain", "sophie@example.com", "Elastic Surfaces", "FR", "2026-03-19", "no"},
		{"Lise", "Meitner", "lise@example.com", nil, "AT", "2026-04-02", "yes"},
	})
}

// fillTraders makes a sheet that is hard to read on purpose: a title, merged headings in two rows, an empty heading.
func fillTraders(f *excelize.File, tab string) error {
	if err := f.SetSheetName(tab, "Traders 2026"); err != nil {
		return err
	}
	if err := fillRows(f, "Traders 2026", [][]any{
		{"Our traders, as of spring"},
		{"Trader", nil, "Contact", nil, nil, "Address", nil, "Turnover", nil},
		{"No.", "Name", "Name", "E-mail", "Phone", "City", "Country", "Q1", nil},
		{1001, "Pens & Co", "Chien-Shiung Wu", "wu@example.com", "+86 21 5555 0101", "Shanghai", "China", 12500.5,
			"pays late"},
		{1002, "Inkwell Ltd", "Maryam Mirzakhani", "maryam@example.com", "+98 21 5555 0102", "Tehran",
			"Iran", 8300, nil},
		{1003, "Paper Mill", "Katherine Johnson", "katherine@example.com", "+1 304 555 0103", "White Sulphur Springs",
			"USA", 410.25, nil},
	}); err != nil {
		return err
	}
	for _, cells := range [][2]string{{"A1", "I1"}, {"A2", "B2"}, {"C2", "E2"}, {"F2", "G2"}, {"H2", "I2"}} {
		if err := f.MergeCell("Traders 2026", cells[0], cells[1]); err != nil {
			return err
		}
	}
	if _, err := f.NewSheet("Notes"); err != nil {
		return err
	}
	return f.SetSheetRow("Notes", "A1", &[]any{"Ask before you call anyone on this list."})
}
