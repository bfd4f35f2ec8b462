package sheets

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Values checks what the cells below the header Head of the first row are in a field of a type, as a multiset: as JSON,
// or the reason why they are none after an exclamation mark.
func Values(t *testing.T, s ports.Sheets, target ports.SheetTarget, kind column.Type, want []string) {
	t.Helper()
	target.Within, target.Location.HeaderRow = time.Minute, 1
	isText := kind == column.String
	q := source.RowsQuery{Columns: []string{"Head"}, Exact: []bool{!isText}, Limit: 1000}
	field, style := column.Field{Type: kind}, column.Style{}
	var got []string
	err := s.Rows(t.Context(), sheetsWorkspace, target, q, func(b column.Batch) error {
		if b.Sample != nil {
			var sample []*string
			for _, row := range b.Sample {
				sample = append(sample, row[0])
			}
			style = column.StyleOf(sample)
		}
		for row := range b.Rows.All() {
			value, reason := field.Value(row[0], style)
			text := string(value.AppendJSON(nil))
			if reason != "" {
				text = "!" + string(reason)
			}
			got = append(got, text)
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	assert.NoDiff(t, "the values", cmp.Diff(want, got))
}
