package rows

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
)

// csvRows writes a header and a record for each row (RFC 4180). Values are as the source has them, also those that a
// spreadsheet program would run as a formula (ADR 57).
type csvRows struct {
	to     *bytes.Buffer
	fields []column.Field
	rowOptions
}

func (f *csvRows) begin() error {
	var names []string
	if f.number {
		names = append(names, numberMember)
	}
	for _, field := range f.fields {
		names = append(names, field.Key)
	}
	if f.report {
		names = append(names, invalidMember)
	}
	f.write(names)
	return nil
}

// row writes the values, between the row's number and the codes of its invalid fields if those are requested.
func (f *csvRows) row(row sources.Row) error {
	record := make([]string, 0, len(f.fields)+2)
	if f.number {
		record = append(record, strconv.Itoa(row.Number))
	}
	for _, v := range row.Values {
		record = append(record, v.Text)
	}
	if f.report {
		var codes []string
		for _, v := range row.Invalid {
			codes = append(codes, v.Field+":"+string(v.Code))
		}
		record = append(record, strings.Join(codes, " "))
	}
	f.write(record)
	return nil
}

// write writes a record. It is not encoding/csv's, which changes the line breaks in values when records end with CRLF.
func (f *csvRows) write(record []string) {
	line := f.to.AvailableBuffer()
	for i, value := range record {
		if i > 0 {
			line = append(line, ',')
		}
		if !isQuoted(value) && (value != "" || len(record) > 1) { // readers skip an empty line
			line = append(line, value...)
			continue
		}
		line = append(line, '"')
		line = append(line, strings.ReplaceAll(value, `"`, `""`)...)
		line = append(line, '"')
	}
	f.to.Write(append(line, "\r\n"...))
}

// isQuoted reports whether a value of CSV needs quotes. Some readers drop spaces at the beginning of one without.
func isQuoted(value string) bool {
	return strings.ContainsAny(value, "\",\r\n") || (value != "" && (value[0] == ' ' || value[0] == '\t'))
}

func (*csvRows) end() error { return nil }

// fail writes the reason as a record.
func (f *csvRows) fail(e rowsError, _ bool) {
	f.write([]string{errorMember, e.Code, e.Detail, strconv.Itoa(e.LastRow)})
}
