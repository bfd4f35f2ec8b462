package engine

import (
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/services"
)

// TestAStatementIsPreparedWhenItIsUsedAgain also compares its results, which have another format then.
func TestAStatementIsPreparedWhenItIsUsedAgain(t *testing.T) {
	db := pool(t, PrepareRepeated(connector(t, services.Postgres(t), 5*time.Second)))
	db.SetMaxOpenConns(1)
	type row struct {
		number int64
		text   string
		bytes  []byte
		flag   bool
		null   *string
	}
	want := row{1 << 40, "é", []byte{0, 255}, true, nil}
	for use := range 3 {
		var got row
		if err := db.QueryRowContext(t.Context(), `SELECT $1::bigint, $2::text, $3::bytea, $4::boolean, $5::text`,
			want.number, want.text, want.bytes, want.flag, want.null).Scan(
			&got.number, &got.text, &got.bytes, &got.flag, &got.null); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("use %d: %+v, %v", use+1, got, err)
		}
		if _, err := db.ExecContext(t.Context(), `SELECT set_config('application_name', $1, false)`, "x"); err != nil {
			t.Error(err)
		}
		// The first use prepares nothing, the second one both.
		n := scan[int](t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_prepared_statements`))
		if n != min(use, 1)*2 {
			t.Errorf("%d statements are prepared after use %d", n, use+1)
		}
	}
}
