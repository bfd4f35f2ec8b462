package warehouse_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

func TestTheValuesOfConditionsFitIntoTheTypesOfColumns(t *testing.T) {
	for name, tt := range map[string]struct {
		text func(string) (string, bool)
		want map[string]string // "" for none
	}{
		"moments in UTC": {warehouse.Moments("2006-01-02 15:04:05.000000"), map[string]string{
			"2024-07-01T14:00:00+02:00":   "2024-07-01 12:00:00.000000",
			"2024-07-01T12:00:00.1234567": "2024-07-01 12:00:00.123456",
			"9999-12-31T23:59:59-01:00":   "", "0001-01-01T00:00:00+01:00": "", "2024-07-01": ""}},
		"bytes": {warehouse.Integers(8), map[string]string{"127": "127", "-128": "-128", "128": "", "7.9": "7",
			"-7.9": "-7", "1e2": "100", "1e99": ""}},
		"prices": {warehouse.Decimals(4, 2), map[string]string{"7.509": "7.50", "-7.509": "-7.50", "99.99": "99.99",
			"100": "", "0.001": "0.00", "-0.009": "-0.00", "7": "7"}},
		"shares": {warehouse.Decimals(2, 2), map[string]string{"0.99": "0.99", "1": "", "-1.5": "", "0": "0"}},
	} {
		for text, want := range tt.want {
			if got, ok := tt.text(text); ok != (want != "") || (ok && got != want) {
				t.Errorf("%s: %s is %q, %v", name, text, got, ok)
			}
		}
	}
}
