package sheet_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/sheet/ods"
	"github.com/atrium-hq/atrium/adapters/sheet/xlsx"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// firstCells returns what Rows of a format passes on: the numbers of rows, and their first cells.
func firstCells(add *[]string) func(int, []*string, []*string) error {
	return func(number int, shownCells, _ []*string) error {
		*add = append(*add, fmt.Sprint(number, " ", *shownCells[0]))
		return nil
	}
}

func TestTheRowsOfAnOpenDocumentAreThoseOfItsTab(t *testing.T) {
	tab := func(title, cell string, hidden bool) fixture.Tab {
		return fixture.Tab{Title: title, Hidden: hidden, Rows: [][]string{{"Head"}, {cell}}}
	}
	books := map[string]fixture.Workbook{
		"several": {Tabs: []fixture.Tab{tab("Old", "hidden", true), tab("people", "lower", false),
			tab("People", "upper", false)}},
		"all hidden": {Tabs: []fixture.Tab{tab("A", "first", true), tab("B", "second", true)}},
	}
	for _, tt := range []struct{ book, tab, want string }{
		{"several", "", "lower"}, {"several", "people", "lower"}, {"several", "People", "upper"},
		{"several", "PEOPLE", "lower"}, {"several", "old", "hidden"}, {"several", "none", ""},
		{"all hidden", "", "first"}, {"all hidden", "b", "second"},
	} {
		content := books[tt.book].ODS(t)
		var got []string
		err := ods.Rows(bytes.NewReader(content), int64(len(content)), source.SheetLocation{Tab: tt.tab, HeaderRow: 2},
			firstCells(&got))
		if tt.want == "" {
			if !errors.Is(err, source.ErrTabNotFound) {
				t.Errorf("%s, tab %q: %v", tt.book, tt.tab, err)
			}
		} else if err != nil || !slices.Equal(got, []string{"2 " + tt.want}) {
			t.Errorf("%s, tab %q: %q, %v; want %q", tt.book, tt.tab, got, err, tt.want)
		}
	}
}

func TestARepeatedRowOfAnOpenDocumentEndsWithTheSheet(t *testing.T) {
	content := fixture.ODSOf(t, odsBegin+`<table:table-row table:number-rows-repeated="5"/><table:table-row `+
		`table:number-rows-repeated="9999999"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>`+odsEnd)
	first, last, n := 0, 0, 0
	require.NoError(t, ods.Rows(bytes.NewReader(content), int64(len(content)), source.SheetLocation{HeaderRow: 1},
		func(number int, _, _ []*string) error {
			if n++; first == 0 {
				first = number
			}
			last = number
			return nil
		}))
	if first != 6 || last != 1<<20 || n != last-first+1 {
		t.Errorf("%d rows, from %d to %d", n, first, last)
	}
}

func TestRowsOfAWorkbookThatAreNotInOrderAreNotLost(t *testing.T) {
	const row = `<row r="%d"><c t="inlineStr"><is><t>x</t></is></c></row>`
	for _, tt := range []struct {
		numbers []any
		want    error
	}{{[]any{1, 5, 6}, nil}, {[]any{1, 6, 5}, source.ErrUnsupportedFormat},
		{[]any{1, 5, 5}, source.ErrUnsupportedFormat}} {
		rows := fmt.Sprintf(strings.Repeat(row, 3), tt.numbers...)
		content := workbook(t, sheetBegin+"<sheetData>"+rows+"</sheetData></worksheet>")
		var got []string
		err := xlsx.Rows(
			bytes.NewReader(content),
			int64(len(content)),
			source.SheetLocation{HeaderRow: 1},
			firstCells(&got),
		)
		if !errors.Is(err, tt.want) || (err == nil && len(got) != 3) {
			t.Errorf("rows %d: %q, %v", tt.numbers, got, err)
		}
	}
}

// readRows reads the columns of a file, and returns the most memory that was resident of a child meanwhile.
func readRows(
	t *testing.T, sheets *sheet.Confined, target ports.SheetTarget, names ...string,
) (n int, resident int64, err error) {
	t.Helper()
	target.Location.HeaderRow, target.Within = 1, 10*time.Minute
	batches := 0
	err = sheets.Rows(
		t.Context(),
		"",
		target,
		source.RowsQuery{Columns: names, Exact: make([]bool, len(names)), Limit: 1 << 30},
		func(b column.Batch) error {
			n += b.Rows.Len()
			if batches++; batches%50 == 0 {
				for _, pid := range fixture.ChildrenOf(os.Getpid()) {
					_, r := fixture.MemoryOf(pid)
					resident = max(resident, r)
				}
			}
			return nil
		},
	)
	return n, resident, err
}

func TestAFetchedWorkbookIsReadInConstantMemory(t *testing.T) {
	rows := proof.Sample(100_000, 1_000_000)
	var content bytes.Buffer
	require.NoError(t, fixture.LargeXLSX(true)(&content, rows))
	h := newHost(t)
	target := h.put("/large.xlsx", content.Bytes())
	n, resident, err := readRows(t, confined(t, t.TempDir(), h.pem()), target, "Email", "Title")
	if err != nil || n != rows {
		t.Errorf("%d rows of %d, %v", n, rows, err)
	}
	t.Logf("%d rows of a file of %d MiB: %d MiB of the child were resident", n, content.Len()>>20, resident>>20)
	if resident == 0 || resident > sheet.ChildMemory {
		t.Errorf("%d MiB of the child were resident", resident>>20)
	}
}

func TestAWorkbookWithTooManyTextsIsSaidToNeedTooMuchMemory(t *testing.T) {
	// A text that cannot be packed by itself, over and over: the archive packs it, and the reader's blocks do not.
	noise := make([]byte, 15_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	texts := strings.Repeat("<si><t>"+base64.StdEncoding.EncodeToString(noise)+"</t></si>", 7000)
	folder := t.TempDir()
	target := put(
		t,
		folder,
		"large.xlsx",
		workbook(t, sheetBegin+`<sheetData><row><c t="inlineStr"><is><t>Head</t></is></c></row>`+
			`<row><c t="s"><v>6999</v></c></row></sheetData></worksheet>`, [2]string{"xl/sharedStrings.xml", texts}),
	)
	if n, _, err := readRows(t, confined(t, folder), target, "Head"); !errors.Is(err, source.ErrOutOfMemory) {
		t.Errorf("%d rows, %v", n, err)
	}
}
