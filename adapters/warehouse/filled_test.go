package warehouse_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/test/support/assert"
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
		assert.Equal(t, name+": Filled", warehouse.Filled(tt.row, 2), tt.want)
	}
}
