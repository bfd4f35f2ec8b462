package clickhouse_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
)

func TestValuesThatConsistOfOthersBecomeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                 `[]`,
		`['it\'s','a,b]','\\','\n\0é','']`:   `["it's","a,b]","\\","\n\u0000é",""]`,
		`[1,-2.5,18446744073709551615,NULL]`: `[1,-2.5,18446744073709551615,null]`,
		`[nan,inf,-inf]`:                     `["nan","inf","-inf"]`,
		`(1,'a',[(2,NULL)])`:                 `[1,"a",[[2,null]]]`,
		`{'a':[1],'b\'c':[]}`:                `{"a":[1],"b'c":[]}`,
		`{1:(true,'2024-01-01')}`:            `{"1":[true,"2024-01-01"]}`,
		`{}`:                                 `{}`,
	} {
		if got, ok := clickhouse.ToJSON(text); !ok || got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is %s, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "[", "[1", "['a", "[1,]", "[1 2]x", "(1))", "{1}", "{1:}", "['a\\",
		strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		if got, ok := clickhouse.ToJSON(text); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}
