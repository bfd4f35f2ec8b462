package postgres_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestWarehouseBehindAnSSHServer(t *testing.T) {
	t.Run("directly", func(t *testing.T) { warehouses.Tunnel(t, harness(direct)) })
	t.Run("through the child", func(t *testing.T) { warehouses.Tunnel(t, harness(warehouses.Confined)) })
}
