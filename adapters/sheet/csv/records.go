package csv

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/atrium-hq/atrium/domain/source"
)

// end is put behind a text, on a line of its own. No text contains it, because it is not UTF-8. It shows a quote that
// is never closed: encoding/csv reports none while it permits quotes within values.
const end = "\xff\xfe\xff"

// table reads a text's records, and numbers them as programs that show tables do: blank lines count.
type table struct {
	in      *csv.Reader
	limited *allowance
	number  int // of the last record
	line    int // after the last record, from 1
}

func newTable(plain io.Reader, comma rune) *table {
	t := &table{limited: &allowance{from: io.MultiReader(plain, strings.NewReader("\n"+end))}, line: 1}
	t.in = csv.NewReader(t.limited)
	t.in.Comma, t.in.FieldsPerRecord, t.in.LazyQuotes, t.in.ReuseRecord = comma, -1, true, true
	return t
}

// next returns the next record, which is valid until the next call, and its number from 1. It returns io.EOF after the
// last one, source.ErrFileTooLarge for a record of more than maxRecord bytes, and source.ErrUnsupportedFormat for a
// quote that is never closed.
func (t *table) next() (number int, record []string, err error) {
	t.limited.left = maxRecord
	record, err = t.in.Read()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, source.ErrFileTooLarge):
		return 0, nil, err
	case err != nil:
		return 0, nil, source.ErrUnsupportedFormat
	}
	last := len(record) - 1
	firstLine, _ := t.in.FieldPos(0)
	line, _ := t.in.FieldPos(last)
	if record[last] == end && last == 0 {
		return 0, nil, io.EOF
	}
	if strings.HasSuffix(record[last], end) {
		return 0, nil, source.ErrUnsupportedFormat.Because(fmt.Sprintf(
			"The quotation mark in line %d is never closed.", line))
	}
	t.number += 1 + firstLine - t.line
	t.line = line + strings.Count(record[last], "\n") + 1
	for i := range record {
		record[i] = literal(record[i])
	}
	return t.number, record, nil
}

// literal returns the text of a value that a program wrote as a formula, so that spreadsheet programs keep its zeros:
// ="02139".
func literal(value string) string {
	text, isFormula := strings.CutPrefix(value, `="`)
	text, isClosed := strings.CutSuffix(text, `"`)
	if !isFormula || !isClosed || strings.Contains(strings.ReplaceAll(text, `""`, ""), `"`) {
		return value
	}
	return strings.ReplaceAll(text, `""`, `"`)
}
