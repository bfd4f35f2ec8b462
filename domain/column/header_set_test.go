package column_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/require"
)

// headerTable is a table of testdata/headers.txt.
type headerTable struct {
	name string
	want int // row of the header, from 1; 0 if there is none
	rows [][]*string
}

func headerTables(t *testing.T) (all []headerTable) {
	t.Helper()
	file, err := os.ReadFile("testdata/headers.txt")
	require.NoError(t, err)
	_, tables, _ := strings.Cut("\n"+string(file), "\n= ")
	for block := range strings.SplitSeq(tables, "\n= ") {
		lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
		var one headerTable
		if _, err := fmt.Sscan(lines[0], &one.want); err != nil {
			t.Fatal(err)
		}
		one.name, one.rows = lines[0], table(lines[1:]...)
		all = append(all, one)
	}
	return all
}

func TestAConfidentHeaderIsRight(t *testing.T) {
	tables := headerTables(t)
	if len(tables) < 60 {
		t.Fatalf("only %d tables", len(tables))
	}
	sure, found, extraCount := 0, 0, 0
	for _, tt := range tables {
		p := column.Examine(tt.rows, 0)
		if tt.want > 0 {
			extraCount++
			if p.HeaderRow == tt.want {
				found++
			} else {
				t.Logf("%s: row %d with confidence %v", tt.name, p.HeaderRow, p.Confidence)
			}
		}
		if p.Confidence < column.SureHeader {
			t.Logf("unsure %v: %s", p.Confidence, tt.name)
			continue
		}
		if sure++; p.HeaderRow != tt.want {
			t.Errorf("%s: row %d with confidence %v", tt.name, p.HeaderRow, p.Confidence)
		}
	}
	t.Logf("%d tables, %d with a header: %d found, %d of all with confidence", len(tables), extraCount, found, sure)
	if found*100 < extraCount*95 || sure*100 < extraCount*80 {
		t.Errorf("of %d headers %d were found, %d with confidence", extraCount, found, sure)
	}
}
