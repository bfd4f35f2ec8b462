package column_test

import (
	"encoding/json"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAValueIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	for _, text := range []string{"", "Ada", "a\"b\\c", "<a&b>", "tab\t", "é", "\u2028", "\xff", "\x7f", "🙂", "\x00"} {
		want, err := json.Marshal(text)
		require.NoError(t, err)
		if got := column.TextValue(text).AppendJSON([]byte("[")); string(got) != "["+string(want) {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for want, v := range map[string]column.Value{
		"null": {}, "12.50": {Kind: column.Numeral, Text: "12.50"}, "true": {Kind: column.Truth, Text: "true"},
		`{"a":["\u003c"]}`: {Kind: column.JSONDocument, Text: ` {"a" : ["<"]} `},
	} {
		if got, err := json.Marshal([]any{v}); err != nil || string(got) != "["+want+"]" {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
