package warehouse_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

func TestOnlyARowWithoutNullIsFilled(t *testing.T) {
	a := new("a")
	for name, tt := range map[string]struct {
		row  []*string
		want bool
	}{
		"all values": {[]*string{a, a}, true}, "a NULL": {[]*string{a, nil}, false},
		"too few": {[]*string{a}, false}, "too many": {[]*string{a, a, a}, false},
	} {
		if got := warehouse.Filled(tt.row, 2); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
