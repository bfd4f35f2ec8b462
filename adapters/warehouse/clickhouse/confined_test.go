package clickhouse_test

import (
	"os"
	"testing"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/clickhouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// childMode is the argument that makes this test binary a child process.
const childMode = "probe-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		os.Exit(confine.Serve(map[string]confine.Job{
			warehouse.JobName: warehouse.Job(map[connection.Kind]ports.Warehouse{connection.ClickHouse: clickhouse.New(guard)}),
		}, os.Stdin, os.Stdout))
	}
	var remove func()
	program, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// program is what runs as a child.
var program string

func confined(t *testing.T) ports.Warehouse {
	t.Helper()
	runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return warehouse.NewConfined(runner.Run)
}

func TestWarehouseThroughTheChild(t *testing.T) { contract.Warehouse(t, rig(confined)) }
