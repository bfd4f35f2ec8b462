package mysql_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

func TestWarehouseBehindAnSSHServer(t *testing.T) {
	t.Run("directly", func(t *testing.T) { contract.WarehouseTunnel(t, harness(direct)) })
	t.Run("through the child", func(t *testing.T) { contract.WarehouseTunnel(t, harness(fixture.ConfinedWarehouse)) })
}
