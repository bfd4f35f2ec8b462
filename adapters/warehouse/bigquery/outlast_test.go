package bigquery_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	b := newServer(t, hosted.Authority)
	rows := make([]string, warehouses.LongRows)
	for n := range rows {
		rows[n] = fmt.Sprintf(`{"f": [{"v": "%d"}, {"v": "%s"}]}`, n+1, strings.Repeat("x", warehouses.LongText))
	}
	b.Datasets["shop"]["long_rows"] = fixture.BigQueryTable{Type: "TABLE", Rows: "[" + strings.Join(rows, ",") + "]",
		Schema: `[{"name": "n", "type": "INTEGER"}, {"name": "note", "type": "STRING"}]`}
	warehouses.Outlasts(t, hosted.Direct(t), target(t, portOf(b.Server), nil), ref("long_rows"))
}
