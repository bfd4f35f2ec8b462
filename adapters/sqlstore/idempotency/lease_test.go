package idempotency_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/idempotency"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestARunningRequestKeepsItsIdempotencyKey lets a request run until its reservation was renewed.
func TestARunningRequestKeepsItsIdempotencyKey(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, _ := databases.Watched(t, url)
		rows := databases.Raw(t, url)
		repeatUntil := func() (ownCount int64) {
			t.Helper()
			require.NoError(t, rows.QueryRowContext(t.Context(), `SELECT until FROM idempotency_keys`).Scan(&ownCount))
			return ownCount
		}
		key := ports.IdempotencyKey{Org: "org_1", Scope: sha256.Sum256([]byte("scope")), At: fixture.At}
		requests := idempotency.RenewingEvery(sqlstore.NewIdempotency(db), 20*time.Millisecond)
		previousOf := func(ctx context.Context) error {
			first := repeatUntil()
			if want := fixture.At.Add(8 * time.Second).UnixMicro(); first < want {
				t.Errorf("it is reserved until %d, want at least %d", first, want)
			}
			proof.Eventually(t, "the reservation is renewed", func() bool { return repeatUntil() != first })
			return nil
		}
		if _, _, err := requests.Once(t.Context(), key, previousOf, func(ports.Stores) (ports.Answer, error) {
			return ports.Answer{Status: 204}, nil
		}, nil); err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, "the request has ended, and its key is reserved until", repeatUntil(), 0)
	})
}
