package postgres_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestMain(m *testing.M) {
	warehouses.Main(m, map[connection.Kind]ports.Warehouse{
		connection.Postgres: postgres.New(guard), connection.Redshift: postgres.NewRedshiftAtOnePort(guard),
	})
}

func TestWarehouseThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, harness(warehouses.Confined))
}

func TestNoTrickMakesTheChildOpenASocket(t *testing.T) {
	warehouses.Tricks(t, connection.Postgres, direct(t), warehouses.Confined(t),
		"u host=127.0.0.1 hostaddr=127.0.0.1 service=x")
}
