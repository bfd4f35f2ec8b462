package sqlserver_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestAStreamOutlastsTheTimeLimitOfItsSignIn(t *testing.T) {
	long := fixture.SQLServerTable{Schema: "dbo", Name: "long_rows", Type: "U", Columns: []fixture.SQLServerColumn{
		{Name: "n", Type: "int"}, {Name: "note", Type: "varchar(max)"}}}
	for n := range int64(warehouses.LongRows) {
		long.Values = append(long.Values, []any{n + 1, strings.Repeat("x", warehouses.LongText)})
	}
	targetAt := func(encryption fixture.SQLServerEncryption, changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target {
			s := newServer(t, encryption)
			s.Databases["Sales"] = append(s.Databases["Sales"], long)
			return s.target(t, changes)
		}
	}
	warehouses.Outlast(t, direct(t), ref("long_rows"), map[string]func(*testing.T) ports.Target{
		"with TLS":           targetAt(fixture.SQLServerMandatory, nil),
		"with TLS, strictly": targetAt(fixture.SQLServerStrict, map[string]any{"encrypt": "strict"}),
		"without TLS":        targetAt(fixture.SQLServerPlain, map[string]any{"tls": "disable", "tls_ca": nil}),
	})
}
