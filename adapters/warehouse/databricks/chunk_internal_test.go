package databricks

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheLargestResultOfShortValuesTakesLittleMemory decodes a result of the largest size, whose values have one
// letter: as values they would take more memory than a child has.
func TestTheLargestResultOfShortValuesTakesLittleMemory(t *testing.T) {
	const row = `["a","b","c",null,"e"],`
	n := maxResult / len(row)
	text := []byte(`{"result": {"data_array": [` + strings.TrimSuffix(strings.Repeat(row, n), ",") + `]}}`)
	var previous, current runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&previous)
	var r response
	require.NoError(t, json.Unmarshal(text, &r))
	rows := 0
	if err := r.Result.each(func(row []*string) error {
		if rows++; len(row) != 5 || *row[0] != "a" || row[3] != nil {
			t.Fatalf("row %d is %v", rows, row)
		}
		return nil
	}); err != nil || rows != n {
		t.Errorf("%d rows of %d, %v", rows, n, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&current)
	if grown := int64(current.HeapAlloc) - int64(previous.HeapAlloc); grown > 2*maxResult {
		t.Errorf("%d bytes take %d", len(text), grown)
	}
	runtime.KeepAlive(r)
}

func TestAChunkThatIsNoneHasNoRows(t *testing.T) {
	for data, want := range map[string]error{"": nil, "null": nil, "[]": nil, "{}": connection.NotThisDatabase,
		`["a"]`: connection.NotThisDatabase, `[["a"]`: connection.NotThisDatabase} {
		err := chunk{Data: json.RawMessage(data)}.each(func([]*string) error { return nil })
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", data, err, want)
		}
	}
}

func TestATextWithACollationIsNoKey(t *testing.T) {
	for databaseType, want := range map[string]bool{"string": true, "varchar(10)": true, "decimal(10,2)": true,
		"string collate UTF8_LCASE": false, "double": false} {
		assert.Equal(t, databaseType+": orders", orders(databaseType), want)
	}
}
