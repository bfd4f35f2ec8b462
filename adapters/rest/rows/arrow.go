package rows

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/rows/arrow"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
)

const arrowStream = "application/vnd.apache.arrow.stream"

// A record batch is written when it has this many rows or characters.
const (
	arrowRows  = 4096
	arrowBytes = 1 << 20
)

const secondsOfDay = 24 * 60 * 60

// arrowRowsFormat writes the stream format of Arrow: a schema, record batches, and an end. Integers are int64, numbers
// float64, booleans bool, dates date32; all other values are texts, as are all with raw=true. A time stays a text since
// it may have no offset. A text has the field's type as the metadata atrium:type.
type arrowRowsFormat struct {
	fields []column.Field
	report bool
	out    *arrow.Writer
	rows   int
	bytes  int
}

func newArrowRows(buffer *bytes.Buffer, fields []column.Field, o rowOptions) rowFormat {
	columns := make([]arrow.Field, 0, len(fields)+1)
	for _, f := range fields {
		columns = append(columns, arrow.Field{Name: f.Key, Type: arrowType(f.Type, o.raw),
			Metadata: [][2]string{{"atrium:type", string(f.Type)}}})
	}
	if o.report {
		columns = append(columns, arrow.Field{Name: invalidMember, Type: arrow.Text})
	}
	return &arrowRowsFormat{fields: fields, report: o.report, out: arrow.NewWriter(buffer, columns)}
}

func arrowType(t column.Type, raw bool) arrow.Type {
	switch {
	case raw:
	case t == column.Integer:
		return arrow.Integer
	case t == column.Number:
		return arrow.Number
	case t == column.Boolean:
		return arrow.Boolean
	case t == column.Date:
		return arrow.Date
	}
	return arrow.Text
}

func (*arrowRowsFormat) begin() error { return nil } // the schema is written with the first batch

// row adds a row to the batch. A value that its column's type cannot hold is null and reported as invalid.
func (f *arrowRowsFormat) row(row sources.Row) error {
	codes := map[string]string{}
	for _, v := range row.Invalid {
		codes[v.Field] = string(v.Code)
	}
	for i, v := range row.Values {
		if !f.put(&f.out.Columns[i], v) {
			codes[f.fields[i].Key] = string(column.WrongType)
		}
	}
	if f.report {
		last := &f.out.Columns[len(f.fields)]
		if len(codes) == 0 {
			last.Null()
		} else {
			text, err := json.Marshal(codes)
			if err != nil {
				return err
			}
			last.Text(string(text))
		}
	}
	if f.rows++; f.rows < arrowRows && f.bytes < arrowBytes {
		return nil
	}
	return f.flush()
}

// put appends a value, or null if the column's type cannot hold it: an integer beyond 64 bits, a date before year 0.
func (f *arrowRowsFormat) put(target *arrow.Column, v column.Value) (fits bool) {
	if v.IsNull() {
		target.Null()
		return true
	}
	fits = true
	switch target.Type {
	case arrow.Integer:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if fits = err == nil; fits {
			target.Integer(n)
		}
	case arrow.Number:
		n, err := strconv.ParseFloat(v.Text, 64)
		if fits = err == nil; fits {
			target.Number(n)
		}
	case arrow.Boolean:
		if fits = v.Kind == column.Truth; fits {
			target.Boolean(v.Text == "true")
		}
	case arrow.Date:
		day, err := time.Parse(time.DateOnly, v.Text)
		if fits = err == nil; fits {
			days := int32(day.Unix() / secondsOfDay) //nolint:gosec // years have four digits
			target.Date(days)
		}
	case arrow.Text:
		f.bytes += len(v.Text)
		target.Text(strings.ToValidUTF8(v.Text, "\uFFFD"))
	}
	if !fits {
		target.Null()
	}
	return fits
}

func (f *arrowRowsFormat) flush() error {
	f.rows, f.bytes = 0, 0
	return f.out.Flush()
}

func (f *arrowRowsFormat) end() error {
	if f.rows > 0 {
		if err := f.flush(); err != nil {
			return err
		}
	}
	return f.out.Close() // writes the schema, too, if there were no rows
}

// fail writes the rows of the last batch unless isLost, and the reason as the metadata atrium:error of one empty batch.
// The stream has no end mark then.
func (f *arrowRowsFormat) fail(e rowsError, isLost bool) {
	if isLost {
		f.out.Discard()
	} else if f.rows > 0 {
		_ = f.flush() // a buffer takes everything
	}
	_ = f.out.Flush(arrow.Pair{"atrium:error", string(e.text())})
}
