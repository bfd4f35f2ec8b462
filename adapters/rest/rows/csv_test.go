package rows

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestValuesInCSVAreAsTheSourceHasThem(t *testing.T) {
	for value, want := range map[string]string{
		"plain":       "plain",
		"a\rb":        "\"a\rb\"",
		"a\nb":        "\"a\nb\"",
		"a\r\nb":      "\"a\r\nb\"",
		`a "b", c`:    `"a ""b"", c"`,
		"\tx":         "\"\tx\"",
		"=1+1":        "=1+1",
		"-12.5":       "-12.5",
		"":            `""`,
		"Zoë, Łódź 😀": `"Zoë, Łódź 😀"`,
	} {
		var out bytes.Buffer
		f := rowFormats["text/csv"](&out, []column.Field{{Key: "note"}}, rowOptions{})
		require.NoError(t, f.begin())
		require.NoError(t, f.row(sources.Row{Values: []column.Value{column.TextValue(value)}}))
		if err := f.end(); err != nil || out.String() != "note\r\n"+want+"\r\n" {
			t.Errorf("%q is written as %q, %v", value, out.String(), err)
		}
		if records, err := csv.NewReader(&out).ReadAll(); err != nil || len(records) != 2 || len(records[1]) != 1 {
			t.Errorf("%q is read as %q, %v", value, records, err)
		}
	}
}
