package arrow_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	apache "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/adapters/rest/rows/arrow"
	"github.com/atrium-hq/atrium/test/support/require"
)

// read returns the schema of a stream and the values of its columns, by Apache's reader.
func read(stream []byte) (schema string, values [][]any, batches []int64, err error) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return "", nil, nil, err
	}
	defer r.Release()
	values = make([][]any, r.Schema().NumFields())
	for r.Next() {
		batch := r.RecordBatch()
		batches = append(batches, batch.NumRows())
		for i := range values {
			nulls := 0
			for row := range batch.Column(i).Len() {
				values[i] = append(values[i], valueAt(batch.Column(i), row))
				if batch.Column(i).IsNull(row) {
					nulls++
				}
			}
			if batch.Column(i).NullN() != nulls {
				return "", nil, nil, fmt.Errorf("column %d has %d nulls and says %d", i, nulls, batch.Column(i).NullN())
			}
		}
	}
	for _, f := range r.Schema().Fields() {
		schema += fmt.Sprintf("%s %s nullable=%v %v\n", f.Name, f.Type, f.Nullable, f.Metadata)
	}
	return schema, values, batches, r.Err()
}

func valueAt(c apache.Array, row int) any {
	if c.IsNull(row) {
		return nil
	}
	switch c := c.(type) {
	case *array.Int64:
		return c.Value(row)
	case *array.Float64:
		return math.Float64bits(c.Value(row))
	case *array.Boolean:
		return c.Value(row)
	case *array.Date32:
		return int32(c.Value(row))
	case *array.String:
		return c.Value(row)
	}
	return fmt.Sprintf("a value of %T", c)
}

// add appends a drawn value, and returns it as valueAt does.
func add(t *rapid.T, target *arrow.Column) any {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		target.Null()
		return nil
	}
	switch target.Type {
	case arrow.Integer:
		v := rapid.Int64().Draw(t, "integer")
		target.Integer(v)
		return v
	case arrow.Number:
		v := rapid.Float64().Draw(t, "number")
		target.Number(v)
		return math.Float64bits(v)
	case arrow.Boolean:
		v := rapid.Bool().Draw(t, "boolean")
		target.Boolean(v)
		return v
	case arrow.Date:
		v := rapid.Int32().Draw(t, "date")
		target.Date(v)
		return v
	case arrow.Text:
	}
	v := rapid.String().Draw(t, "text")
	target.Text(v)
	return v
}

var types = map[arrow.Type]string{arrow.Text: "utf8", arrow.Integer: "int64", arrow.Number: "float64",
	arrow.Boolean: "bool", arrow.Date: "date32"}

func TestApachesReaderReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) arrow.Field {
			kind := arrow.Type(rapid.IntRange(0, 4).Draw(t, "type"))
			f := arrow.Field{Name: rapid.String().Draw(t, "name"), Type: kind}
			for i := range rapid.IntRange(0, 2).Draw(t, "pairs") {
				f.Metadata = append(f.Metadata, [2]string{fmt.Sprint("key", i), rapid.String().Draw(t, "value")})
			}
			return f
		}), 0, 5).Draw(t, "fields")
		wantSchema, want, wantBatches := "", make([][]any, len(fields)), []int64(nil)
		for _, f := range fields {
			keys, values := []string{}, []string{}
			for _, pair := range f.Metadata {
				keys, values = append(keys, pair[0]), append(values, pair[1])
			}
			wantSchema += fmt.Sprintf("%s %s nullable=true %v\n", f.Name, types[f.Type],
				apache.NewMetadata(keys, values))
		}
		var stream bytes.Buffer
		w := arrow.NewWriter(&stream, fields)
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			rows := rapid.IntRange(0, 20).Draw(t, "rows")
			for range rows {
				for i := range fields {
					want[i] = append(want[i], add(t, &w.Columns[i]))
				}
			}
			if len(fields) == 0 {
				rows = 0
			}
			wantBatches = append(wantBatches, int64(rows))
			require.NoError(t, w.Flush())
			if stream.Len()%8 != 0 {
				t.Fatalf("the next message is at byte %d, which is not aligned", stream.Len())
			}
		}
		require.NoError(t, w.Close())
		schema, values, batches, err := read(stream.Bytes())
		if err != nil || schema != wantSchema || fmt.Sprintf("%#v", values) != fmt.Sprintf("%#v", want) ||
			fmt.Sprint(batches) != fmt.Sprint(wantBatches) {
			t.Fatalf("%v: read\n%s%v %v\nof\n%s%v %v", err, schema, batches, values, wantSchema, wantBatches, want)
		}
	})
}
