package warehouses

import (
	"os"
	"testing"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// childArgument is the argument that makes a test binary a child process.
const childArgument = "probe-worker"

// childProgram is what the children of Confined run.
var childProgram string

// Main is the TestMain of a package with kinds of warehouse whose tests use Confined: the same binary is the child that
// has them.
func Main(m *testing.M, kinds map[connection.Kind]ports.Warehouse) {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		os.Exit(confine.Serve(map[string]confine.Job{
			warehouse.JobName: {Do: warehouse.Job(kinds), Stream: warehouse.StreamJob(kinds),
				Needs: warehouse.Needs(""), Warm: warehouse.Warm},
		}, os.Stdin, os.Stdout))
	}
	var remove func()
	childProgram, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// Confined reaches the warehouse of Main through a child process, as the released program does. Its children end with
// the test.
func Confined[T testing.TB](t T) ports.Warehouse {
	t.Helper()
	return throughChild(t, childProgram, childArgument)
}

func throughChild(t testing.TB, program ...string) ports.Warehouse {
	t.Helper()
	runner, err := confine.New(confine.DefaultLimits(), 4, program...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, runner.Close())
	})
	return warehouse.NewConfined(runner.Run, runner.Stream)
}
