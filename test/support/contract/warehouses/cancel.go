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
		"of a preview": func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
			_, err := w.Preview(ctx, target, connection.PreviewQuery{Table: harness.Slow, Rows: 1})
			return err
		},
		"of rows": func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
			return w.Rows(ctx, target, connection.RowsQuery{Table: harness.Slow, Columns: []string{"never"}, Limit: 1},
				func(column.Batch) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := harness.Reader(t)
			quiet(t, harness)
			target.Limits.Statement, target.Limits.Total = time.Hour, time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			endedErrs := make(chan error, 1)
			go func() { endedErrs <- call(ctx, w, target) }()
			proof.Eventually(t, "the statement runs", func() bool { return harness.SlowRuns(t) })
			cancel()
			start := time.Now()
			wantErr(t, <-endedErrs, context.Canceled)
			proof.Eventually(t, "the statement has ended", func() bool { return !harness.SlowRuns(t) })
			if took := time.Since(start); took > 20*time.Second { // of the 30 that the statement takes
				t.Errorf("the statement ended after %v", took)
			}
			proof.Within(t, "the end of the statement", time.Since(start), 1250*time.Millisecond)
		})
	}
}
