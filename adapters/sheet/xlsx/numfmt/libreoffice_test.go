package numfmt_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx/numfmt"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// The file holds a code, a value and what LibreOffice shows in each row. -update has LibreOffice write it again.
const recorded = "testdata/libreoffice.csv"

var update = flag.Bool("update", false, "have LibreOffice show the formats of testdata/formats.txt again")

// asShown writes a CSV file in UTF-8 of what cells show, not of what they hold.
const asShown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true"

// differences are the codes for which LibreOffice is no reference, and why.
var differences = map[string]string{
	"#.#":                         "Excel shows the point of a whole number",
	"#.##":                        "as before",
	"0.####":                      "as before",
	`[>0]0;"not above"`:           "Excel's condition does not hold for 0",
	"# ?/4":                       "Excel rounds half up",
	"# ??/100":                    "as before",
	"h:mm A/P":                    "Excel shows the letters of the code",
	"[ss].00":                     "LibreOffice shows the number",
	"[$-F800]dddd, mmmm dd, yyyy": "LibreOffice has a long date of its own",
}

func TestFormatsShowWhatLibreOfficeShows(t *testing.T) {
	if *update {
		record(t)
	}
	content, err := os.ReadFile(recorded)
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	require.NoError(t, err)
	codes, differs := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		code, want := row[0], strings.TrimSpace(row[2])
		value, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		codes[code] = true
		if want == "#FMT" { // LibreOffice's sign that it cannot show a number so
			continue
		}
		page, ok := numfmt.Show(code, value, false)
		switch same := strings.TrimSpace(page) == want; {
		case !ok:
			t.Errorf("%s: %s is not known", code, row[1])
		case differences[code] != "":
			differs[code] = differs[code] || !same
		case !same:
			t.Errorf("%s: %s is shown as %q, by LibreOffice as %q", code, row[1], page, row[2])
		}
	}
	for code := range differences {
		if !differs[code] {
			t.Errorf("%s is shown as by LibreOffice", code)
		}
	}
	t.Logf("%d formats and %d values are compared", len(codes)-len(differences), len(rows))
	if len(codes)-len(differences) < 150 {
		t.Errorf("%d formats are compared", len(codes)-len(differences))
	}
}

// record has LibreOffice show each format of testdata/formats.txt with each value that is listed for its group.
func record(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("testdata/formats.txt")
	require.NoError(t, err)
	book := excelize.NewFile()
	var values []string
	var cases [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if list, ok := strings.CutPrefix(line, "= "); ok {
			values = strings.Fields(list)
			continue
		}
		style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &line})
		require.NoError(t, err)
		for _, value := range values {
			cases = append(cases, []string{line, value})
			path := "A" + strconv.Itoa(len(cases))
			number, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			require.NoError(t, book.SetCellFloat("Sheet1", path, number, -1, 64))
			require.NoError(t, book.SetCellStyle("Sheet1", path, path, style))
			// so that no line is empty
			require.NoError(t, book.SetCellStr("Sheet1", "B"+strconv.Itoa(len(cases)), "|"))
		}
	}
	var out bytes.Buffer
	require.NoError(t, book.Write(&out))
	views, err := csv.NewReader(bytes.NewReader(services.Convert(t, "formats.xlsx", out.Bytes(), asShown))).ReadAll()
	if err != nil || len(views) != len(cases) {
		t.Fatalf("%d rows of %d, %v", len(views), len(cases), err)
	}
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	for i, c := range cases {
		_ = w.Write(append(c, views[i][0])) // to a buffer
	}
	w.Flush()
	require.NoError(t, os.WriteFile(recorded, file.Bytes(), 0o600))
}
