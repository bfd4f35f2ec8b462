package rows

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
)

const arrowStream = "application/vnd.apache.arrow.stream"

// A record batch is written when it has this many rows or characters.
const (
	arrowRows  = 4096
	arrowBytes = 1 << 20
)

// arrowRowsFormat writes the stream format of Arrow: a schema, record batches, and an end. Integers are int64, numbers
// float64, booleans bool, dates date32; all other values are texts, as are all with raw=true. A time stays a text since
// it may have no offset. A text has the field's type as the metadata atrium:type.
type arrowRowsFormat struct {
	fields []column.Field
	report bool
	to     *ipc.Writer
	next   *array.RecordBuilder
	rows   int
	bytes  int
}

func newArrowRows(buffer *bytes.Buffer, fields []column.Field, o rowOptions) rowFormat {
	columns := make([]arrow.Field, 0, len(fields)+1)
	for _, f := range fields {
		columns = append(columns, arrow.Field{Name: f.Key, Type: arrowType(f.Type, o.raw), Nullable: true,
			Metadata: arrow.NewMetadata([]string{"atrium:type"}, []string{string(f.Type)})})
	}
	if o.report {
		columns = append(columns, arrow.Field{Name: invalidMember, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	schema := arrow.NewSchema(columns, nil)
	return &arrowRowsFormat{fields: fields, report: o.report, to: ipc.NewWriter(buffer, ipc.WithSchema(schema)),
		next: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
}

func arrowType(t column.Type, raw bool) arrow.DataType {
	switch {
	case raw:
	case t == column.Integer:
		return arrow.PrimitiveTypes.Int64
	case t == column.Number:
		return arrow.PrimitiveTypes.Float64
	case t == column.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case t == column.Date:
		return arrow.FixedWidthTypes.Date32
	}
	return arrow.BinaryTypes.String
}

func (*arrowRowsFormat) begin() error { return nil } // the schema is written with the first batch

func (f *arrowRowsFormat) row(row sources.Row) error {
	codes := map[string]string{}
	for _, v := range row.Invalid {
		codes[v.Field] = string(v.Code)
	}
	for i, v := range row.Values {
		if !f.put(f.next.Field(i), v) {
			codes[f.fields[i].Key] = string(column.WrongType)
		}
	}
	if f.report {
		last := f.next.Field(len(f.fields)).(*array.StringBuilder) //nolint:errcheck,forcetypeassert // by newArrowRows
		if len(codes) == 0 {
			last.AppendNull()
		} else {
			text, err := json.Marshal(codes)
			if err != nil {
				return err
			}
			last.Append(string(text))
		}
	}
	if f.rows++; f.rows < arrowRows && f.bytes < arrowBytes {
		return nil
	}
	return f.flush()
}

// put appends a value, or null if the column's type cannot hold it: an integer beyond 64 bits, a date before year 0.
func (f *arrowRowsFormat) put(builder array.Builder, v column.Value) (fits bool) {
	if v.IsNull() {
		builder.AppendNull()
		return true
	}
	fits = true
	switch b := builder.(type) {
	case *array.Int64Builder:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if fits = err == nil; fits {
			b.Append(n)
		}
	case *array.Float64Builder:
		n, err := strconv.ParseFloat(v.Text, 64)
		if fits = err == nil; fits {
			b.Append(n)
		}
	case *array.BooleanBuilder:
		if fits = v.Kind == column.Truth; fits {
			b.Append(v.Text == "true")
		}
	case *array.Date32Builder:
		day, err := time.Parse(time.DateOnly, v.Text)
		if fits = err == nil; fits {
			b.Append(arrow.Date32FromTime(day))
		}
	case *array.StringBuilder:
		f.bytes += len(v.Text)
		b.Append(strings.ToValidUTF8(v.Text, "\uFFFD"))
	}
	if !fits {
		builder.AppendNull()
	}
	return fits
}

func (f *arrowRowsFormat) flush() error {
	batch := f.next.NewRecordBatch()
	defer batch.Release()
	f.rows, f.bytes = 0, 0
	return f.to.Write(batch)
}

func (f *arrowRowsFormat) end() error {
	if f.rows > 0 {
		if err := f.flush(); err != nil {
			return err
		}
	}
	f.next.Release()
	return f.to.Close() // writes the schema, too, if there were no rows
}
