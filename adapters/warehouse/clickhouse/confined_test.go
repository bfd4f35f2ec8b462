package clickhouse_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestMain(m *testing.M) {
	warehouses.Main(m, map[connection.Kind]ports.Warehouse{connection.ClickHouse: clickhouse.New(guard)})
}

func TestWarehouseThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, harness(warehouses.Confined))
}

func TestNoTrickMakesTheChildOpenASocket(t *testing.T) {
	warehouses.Tricks(t, connection.ClickHouse, direct(t), warehouses.Confined(t), "u@127.0.0.1:1/?x#y")
}
