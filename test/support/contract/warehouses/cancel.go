package warehouses

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func warehouseCancels(t *testing.T, w ports.Warehouse, harness Harness) {
	if harness.SlowRuns == nil {
		t.Skip("this kind's servers end a statement with its connection, or have none that is slow")
	}
	for name, call := range map[string]func(context.Context, ports.Warehouse, ports.Target) error{
		"of a preview": func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			_, err := w.Preview(ctx, to, connection.PreviewQuery{Table: harness.Slow, Rows: 1})
			return err
		},
		"of rows": func(ctx context.Context, w ports.Warehouse, to ports.Target) error {
			return w.Rows(ctx, to, connection.RowsQuery{Table: harness.Slow, Columns: []string{"never"}, Limit: 1},
				func(column.Batch) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := harness.Reader(t)
			quiet(t, harness)
			to.Limits.Statement, to.Limits.Total = time.Hour, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, w, to) }()
			becomes(t, proof.Patience, true, harness.SlowRuns)
			cancel()
			begun := time.Now()
			wantErr(t, <-ended, context.Canceled)
			becomes(t, 20*time.Second, false, harness.SlowRuns) // of the 30 that the statement takes
			proof.Within(t, "the end of the statement", time.Since(begun), 1250*time.Millisecond)
		})
	}
}

// becomes waits until is returns want.
func becomes(t *testing.T, within time.Duration, want bool, is func(*testing.T) bool) {
	t.Helper()
	for begun := time.Now(); is(t) != want; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > within {
			t.Fatalf("it is not %v after %v", want, within)
		}
	}
}
