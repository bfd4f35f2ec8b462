package sources_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAReadSaysWhetherItFailedBeforeOrAfterItsFirstRow lets a warehouse fail before the first of two rows, and after
// the last one.
func TestAReadSaysWhetherItFailedBeforeOrAfterItsFirstRow(t *testing.T) {
	for name, tt := range map[string]struct {
		failure       error
		before, after error
	}{
		"the server stops":              {connection.ServerStarting, sources.ErrReadFailed, sources.ErrDisconnected},
		"the server is away":            {connection.HostUnreachable, sources.ErrReadFailed, sources.ErrDisconnected},
		"the read takes too long":       {connection.QueryTimeout, sources.ErrReadTimeout, sources.ErrTimeLimit},
		"a row is too large":            {connection.ResponseTooLarge, sources.ErrReadFailed, sources.ErrByteLimit},
		"the read needs too much":       {connection.OutOfMemory, source.ErrOutOfMemory, source.ErrOutOfMemory},
		"a row cannot be computed":      {connection.TableUnreadable, sources.ErrTableUnreadable, sources.ErrTableUnreadable},
		"something else":                {connection.Internal, sources.ErrReadFailed, sources.ErrReadFailed},
		"the connection was taken away": {connection.ErrRevoked, connection.ErrRevoked, connection.ErrRevoked},
	} {
		for _, isAfter := range []bool{false, true} {
			s := newEnv(t)
			s.types = []source.Type{{Key: "people", Fields: []column.Field{{Key: "id", Type: column.String}},
				Accepts: []source.Backend{source.WarehouseBackend}}}
			src := stored(t, table)
			src.Mapping = []source.Pair{{Field: "id", Column: "Id"}}
			s.expectGet(src)
			s.warehouse.EXPECT().Rows(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ ports.Target, _ connection.RowsQuery, handle func(column.Batch) error) error {
					if isAfter {
						require.NoError(t, handle(column.Batch{Rows: column.RowsOf([][]*string{{new("a")},
							{new("b")}})}))
					}
					return tt.failure
				})
			end, err := s.ReadRows(s.ctx, owner, "src", sources.RowsQuery{},
				func(context.Context, sources.RowsStart) error { return nil }, func(sources.Row) error { return nil })
			want, last := tt.before, 0
			if isAfter {
				want, last = tt.after, 2
			}
			if code(err) != code(want) || end.Last != last {
				t.Errorf("%s, after rows %t: %v at row %d; want %v", name, isAfter, err, end.Last, want)
			}
		}
	}
}

// code returns the code that a caller sees.
func code(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	return f.Code
}
