package clickhouse_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestAnErrorAfterManyRowsIsNotTheirEnd reads a view whose row 400,000 cannot be computed. By then the server has sent
// its status and many rows.
func TestAnErrorAfterManyRowsIsNotTheirEnd(t *testing.T) {
	s := shared(t)
	if _, err := s.ask(`CREATE VIEW shop.breaking AS SELECT concat('user', toString(number), '@example.com') AS email,
		throwIf(number = 400000) AS broken FROM system.numbers LIMIT 500000`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.ask(`DROP TABLE shop.breaking`); err != nil {
			t.Error(err)
		}
	})
	target := s.target(t, nil)
	target.Limits = ports.Limits{
		Connect:   proof.Patience,
		Statement: proof.Patience,
		Total:     2 * proof.Patience,
		Bytes:     1 << 30,
	}
	rows := 0
	err := warehouses.Confined(t).Rows(t.Context(), target, connection.RowsQuery{Table: ref("breaking"),
		Columns: []string{"email", "broken"}, Limit: 1_000_000}, func(b column.Batch) error {
		rows += b.Rows.Len()
		return nil
	})
	if !errors.Is(err, connection.TableUnreadable) || rows == 0 || rows > 400_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
