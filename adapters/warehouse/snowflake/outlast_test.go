package snowflake_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	s := newServer(t, hosted.Authority)
	s.Partition = warehouses.LongRows / 4
	long := fixture.SnowflakeTable{Schema: "PUBLIC", Name: "LONG_ROWS", Type: "BASE TABLE",
		Columns: [][5]string{{"n", "NUMBER", "YES", "38", "0"}, {"note", "TEXT", "YES"}}}
	for n := range warehouses.LongRows {
		long.Values = append(long.Values, []*string{text(strconv.Itoa(n + 1)),
			text(strings.Repeat("x", warehouses.LongText))})
	}
	s.Databases["SHOP"] = append(s.Databases["SHOP"], long)
	warehouses.Outlasts(t, hosted.Direct(t), target(t, portOf(s.Server), nil), ref("LONG_ROWS"))
}
