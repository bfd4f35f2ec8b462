package mysql_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/mysql"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestMain(m *testing.M) {
	warehouses.Main(m, map[connection.Kind]ports.Warehouse{connection.MySQL: mysql.New(guard)})
}

func TestWarehouseThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, harness(warehouses.Confined))
}

func TestNoTrickMakesTheChildOpenASocket(t *testing.T) {
	warehouses.Tricks(t, connection.MySQL, direct(t), warehouses.Confined(t),
		"u@tcp(127.0.0.1:1)/x?allowAllFiles=true")
}
