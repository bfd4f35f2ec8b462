package numfmt_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/atrium-hq/atrium/adapters/sheet/xlsx/numfmt"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// The file holds, in each row, a locale and what LibreOffice shows in it for each of moments in the formats 14 and 22.
const recordedLocales = "testdata/locales.csv"

// moments are 5 March 2026, 07:08, and 25 November 2026, 13:45, as serial numbers.
var moments = []float64{46086 + 428.0/1440, 46351 + 825.0/1440}

// otherDates are the locales for which LibreOffice is no reference: its table is that of Excel on the Windows of its
// time, and Windows 10 writes dates (cs-CZ to zh-CN) or times in another way since.
var otherDates = map[string]string{
	"cs-CZ": "two digits of day and month since",
	"en-CA": "year first since",
	"en-IN": "hyphens since",
	"pl-PL": "day first since",
	"pt-BR": "two digits of day and month since",
	"pt-PT": "slashes since",
	"sk-SK": "two digits of day and month since",
	"tr-TR": "one digit of the day since",
	"zh-CN": "slashes since",

	"it-IT": "two digits of the hour since",
	"nl-BE": "two digits of the hour since",
	"nl-NL": "two digits of the hour since",
	"ru-RU": "two digits of the hour since",
}

func TestTheDatesOfEachLocaleAreShownAsByLibreOffice(t *testing.T) {
	if *update {
		recordLocales(t)
	}
	content, err := os.ReadFile(recordedLocales)
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	require.NoError(t, err)
	locales := source.Locales()
	require.Equal(t, "locales are recorded, of", len(rows), len(locales))
	for i, row := range rows {
		locale, same := locales[i], true
		local := source.DateOf(locale)
		for k, want := range row[1:] {
			number := []int{14, 22}[k%2]
			page, ok := numfmt.Show(numfmt.Builtin(number, local.Date, local.Time), moments[k/2], false)
			if ok && page == want {
				continue
			}
			if same = false; otherDates[locale] == "" {
				t.Errorf("%s: format %d is shown as %q, by LibreOffice as %q", locale, number, page, want)
			}
		}
		if same && otherDates[locale] != "" {
			t.Errorf("%s is shown as by LibreOffice", locale)
		}
	}
}

// recordLocales has LibreOffice show the moments in each locale.
func recordLocales(t *testing.T) {
	t.Helper()
	book := excelize.NewFile()
	for k := range 2 * len(moments) {
		path, err := excelize.CoordinatesToCellName(1+k, 1)
		require.NoError(t, err)
		style, err := book.NewStyle(&excelize.Style{NumFmt: []int{14, 22}[k%2]})
		require.NoError(t, err)
		require.NoError(t, book.SetCellFloat("Sheet1", path, moments[k/2], -1, 64))
		require.NoError(t, book.SetCellStyle("Sheet1", path, path, style))
	}
	var out, file bytes.Buffer
	require.NoError(t, book.Write(&out))
	w := csv.NewWriter(&file)
	for _, locale := range source.Locales() {
		view := services.ConvertIn(t, locale, "dates.xlsx", out.Bytes(), asShown)
		row, err := csv.NewReader(bytes.NewReader(view)).Read()
		if err != nil || len(row) != 2*len(moments) {
			t.Fatalf("%s: %q, %v", locale, view, err)
		}
		_ = w.Write(append([]string{locale}, row...)) // to a buffer
	}
	w.Flush()
	require.NoError(t, os.WriteFile(recordedLocales, file.Bytes(), 0o600))
}
