package main

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
)

func TestEveryKindThatIsDescribedIsReached(t *testing.T) {
	all := warehouses(t.TempDir())
	for _, d := range connection.Kinds() {
		if all[d.Kind] == nil {
			t.Errorf("%s is described, and the program does not reach it", d.Kind)
		}
	}
	if len(all) != len(connection.Kinds()) {
		t.Errorf("%d kinds are reached, and %d described", len(all), len(connection.Kinds()))
	}
}
