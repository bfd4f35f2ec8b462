package rows

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAStreamThatMissesRowsEndsWithTheReason writes a row and then a reason in each format. Rows that are not in the
// buffer yet, which are those of an Arrow batch, are left out for a reader who has lost the access.
func TestAStreamThatMissesRowsEndsWithTheReason(t *testing.T) {
	reason := rowsError{Code: "row_limit_reached", Detail: `A "limit", reached.`, LastRow: 7}
	fields := []column.Field{{Key: "email", Type: column.Email}, {Key: "age", Type: column.Integer}}
	for _, isLost := range []bool{false, true} {
		written := func(media string) *bytes.Buffer {
			var out bytes.Buffer
			f := rowFormats[media](&out, fields, rowOptions{})
			require.NoError(t, f.begin())
			require.NoError(t, f.row(sources.Row{Values: []column.Value{column.TextValue("ada@example.com"),
				{Kind: column.Numeral, Text: "36"}}}))
			f.fail(reason, isLost)
			return &out
		}
		lines := strings.Split(written(linesOfJSON).String(), "\n")
		var last struct {
			Error rowsError `json:"$error"`
		}
		if err := json.Unmarshal([]byte(lines[1]), &last); err != nil || last.Error != reason || len(lines) != 3 {
			t.Errorf("lines of JSON: %q, %v", lines, err)
		}

		in := csv.NewReader(written("text/csv"))
		in.FieldsPerRecord = -1
		records, err := in.ReadAll()
		require.NoError(t, err)
		if want := []string{"$error", reason.Code, reason.Detail, "7"}; !slices.Equal(records[2], want) {
			t.Errorf("CSV: %q", records)
		}

		read, err := ipc.NewReader(written(arrowStream))
		require.NoError(t, err)
		rows, metadata := int64(0), ""
		for read.Next() {
			rows += read.RecordBatch().NumRows()
			if batch, ok := read.RecordBatch().(arrow.RecordBatchWithMetadata); ok {
				metadata, _ = batch.Metadata().GetValue("atrium:error")
			}
		}
		if (rows > 0) == isLost {
			t.Errorf("Arrow, lost %t: %d rows", isLost, rows)
		}
		assert.Equal(t, "Arrow's metadata", metadata, string(reason.text()))
	}
}
