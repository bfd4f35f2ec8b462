package sources_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestATableThatIsTooSlowIsReadByItsColumns(t *testing.T) {
	s := newEnv(t)
	slow := connection.Preview{Columns: preview.Columns, Total: 300, SampleError: connection.QueryTimeout}
	s.expectTable(slow, nil, "Age")
	draft := source.Draft{Type: "people", Location: table, Mapping: []source.Pair{{Field: "age", Column: "Age"}}}
	got, err := s.Read(s.ctx, owner, draft)
	require.NoError(t, err)
	if len(got.Columns) != 2 || got.Total != 300 || got.SampleError != "query_timeout" || got.Rows != nil {
		t.Errorf("%+v", got)
	}
}
