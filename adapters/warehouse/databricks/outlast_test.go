package databricks_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	d := newServer(t, hosted.Authority)
	long := fixture.DatabricksTable{Schema: "public", Name: "long_rows", Type: "MANAGED",
		Columns: [][3]string{{"n", "bigint", "YES"}, {"note", "string", "YES"}}}
	for n := range warehouses.LongRows {
		long.Values = append(long.Values, []*string{text(strconv.Itoa(n + 1)),
			text(strings.Repeat("x", warehouses.LongText))})
	}
	d.Catalogs["shop-1"] = append(d.Catalogs["shop-1"], long)
	warehouses.Outlasts(t, hosted.Direct(t), target(t, portOf(d.Server), nil),
		connection.TableRef{Schema: "public", Name: "long_rows"})
}
