package warehouses

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	require.ErrorIs(t, got, want)
}
