package column_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestABatchIsTheSameWhenUnpacked(t *testing.T) {
	long := strings.Repeat("é", column.MaxValue)
	for name, b := range map[string]column.Batch{
		"nothing":         {},
		"what is done":    {Applied: true, Sorted: true},
		"missing columns": {Missing: []string{"Age"}, Version: "1"},
		"rows": {Rows: column.RowsOf([][]*string{{new("a"), nil}, {new(""), &long}}),
			Numbers: []int{2, 4}},
		"rows and a sample": {Rows: column.RowsOf([][]*string{{nil}}), Sample: [][]*string{{new("x")}, {nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			pack, err := b.Pack()
			require.NoError(t, err)
			got, err := column.Unpack(pack)
			require.NoError(t, err)
			if d := cmp.Diff(b, got, cmp.AllowUnexported(column.Rows{}), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			for end := range min(len(pack), 100) {
				if cut, err := column.Unpack(pack[:end]); err == nil && cut.Rows.Len() > 0 {
					t.Errorf("the first %d bytes are %+v", end, cut)
				}
			}
		})
	}
}

func TestABatchThatIsNoneIsRefused(t *testing.T) {
	for _, tt := range []struct{ head, rows string }{
		{`{"Count":-1}`, ""}, {`{"Count":1}`, ""}, {`{"Count":1,"Width":-1}`, ""}, {`{"Count":1000000000,"Width":9}`, "x"},
		{`{"Count":1,"Width":2}`, "\x00"}, {`{"Count":1,"Width":1}`, "\xff"}, {`{"Count":1,"Width":1}`, "\x08a"},
		{`{"Count":4611686018427387905,"Width":4}`, "\x00\x00\x00\x00"}, {`{`, ""},
	} {
		pack := binary.AppendUvarint([]byte{column.Packed}, uint64(len(tt.head)))
		if b, err := column.Unpack(append(pack, tt.head+tt.rows...)); err == nil {
			t.Errorf("%s, %q is %+v", tt.head, tt.rows, b)
		}
	}
	for _, pack := range []string{"", "{}", "\x00", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01{}"} {
		if b, err := column.Unpack([]byte(pack)); err == nil {
			t.Errorf("%q is %+v", pack, b)
		}
	}
}
