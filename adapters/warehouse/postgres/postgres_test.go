package postgres_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/contract"
)

func TestWarehouse(t *testing.T) { contract.Warehouse(t, rig(direct)) }
